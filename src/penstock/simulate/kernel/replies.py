"""A client's daemon that deals with the pages of replies, one reply after the other (Lustre's ptlrpcd).

It has its turns between all other threads: what the network brings meanwhile is received and acknowledged, and does
not wait until every page is dealt with.
"""

from __future__ import annotations

from penstock.simulate.kernel.calendar import DAEMON_HAS_TURN, REPLY_ARRIVES, schedule
from penstock.simulate.kernel.compiler import kernel
from penstock.simulate.kernel.cores import by_daemon, on_client
from penstock.simulate.kernel.records import NONE, World


@kernel
def _take_up(w: World, c: int, r: int, now_us: float) -> None:
    # The daemon looks whose reply is in when it is done with the one before: that is when the clock stops.
    w.rpc.replied_us[r] = now_us
    w.client.reply_head[c] = r
    w.client.reply_owed_us[c] = w.rpc.pages[r] * w.client.reply_us_page[c]
    schedule(w, now_us, DAEMON_HAS_TURN, c)


@kernel
def deal_with_reply(w: World, r: int, now_us: float) -> None:
    """A reply was taken note of; it is done with when the daemon, after all earlier ones, has seen to its pages."""
    c = w.osc.client[w.rpc.osc[r]]
    client = w.client
    if client.replies_in_turn[c] == 0:
        schedule(w, on_client(w, c, w.rpc.pages[r] * client.reply_us_page[c], now_us), REPLY_ARRIVES, r)
        return
    w.rpc.next[r] = NONE
    if client.reply_head[c] == NONE:
        client.reply_tail[c] = r
        _take_up(w, c, r, now_us)
    else:
        w.rpc.next[client.reply_tail[c]] = r
        client.reply_tail[c] = r


@kernel
def daemon_has_turn(w: World, c: int, now_us: float) -> None:
    """The daemon works for one time slice on the reply whose turn it is."""
    client = w.client
    r = client.reply_head[c]
    slice_us = min(client.reply_owed_us[c], client.slice_us[c])
    done_us = by_daemon(w, c, slice_us, now_us)
    client.reply_owed_us[c] -= slice_us
    if client.reply_owed_us[c] > 0.0:
        schedule(w, done_us, DAEMON_HAS_TURN, c)
        return
    following = w.rpc.next[r]
    schedule(w, done_us, REPLY_ARRIVES, r)
    client.reply_head[c] = NONE
    if following != NONE:
        _take_up(w, c, following, done_us)
