"""Bytes that many ask for: made rarely, and never older than the last change."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from penstock.serve.rendered import Rendered


def test_bytes_are_made_once_a_period() -> None:
    now, made = [0.0], [0]

    def make() -> bytes:
        made[0] += 1
        return b"%d" % made[0]

    rendered = Rendered(make, 1.0, clock=lambda: now[0])
    assert [rendered(), rendered()] == [b"1", b"1"]
    now[0] = 1.0
    assert rendered() == b"2"
    rendered.outdated()
    assert [rendered(), rendered()] == [b"3", b"3"]


def test_change_while_bytes_are_made_is_in_what_the_next_caller_gets() -> None:
    mode = ["observe"]
    looked, go_on = threading.Event(), threading.Event()

    def make() -> bytes:
        seen = mode[0].encode()
        looked.set()
        assert go_on.wait(300)
        return seen

    rendered = Rendered(make, 3600.0)
    with ThreadPoolExecutor(2) as many:
        early = many.submit(rendered)
        assert looked.wait(300)
        mode[0] = "tune"
        rendered.outdated()
        late = many.submit(rendered)
        go_on.set()
        assert early.result(300) == b"observe", "it asked before the change"
        assert late.result(300) == b"tune"
    assert rendered() == b"tune"


def test_bytes_that_cost_much_are_made_more_rarely_but_never_grow_old() -> None:
    now, worked, made = [0.0], [0.0], [0]

    def make() -> bytes:
        made[0] += 1
        now[0] += 60.0
        worked[0] += cost[0]
        return b"%d" % made[0]

    cost = [0.2]
    rendered = Rendered(make, 1.0, clock=lambda: now[0], work=lambda: worked[0])
    # A minute of waiting is nobody's work.
    assert [rendered(), rendered()] == [b"1", b"2"]
    for cost_s, oldest_s in ((0.2, 2.0), (60.0, 5.0)):
        cost[0] = cost_s
        last, began_s = rendered(), now[0] - 60.0
        now[0] = began_s + oldest_s - 0.1
        assert rendered() == last
        now[0] = began_s + oldest_s
        assert rendered() != last
