"""The section of docs/explanation/fidelity.md about the second real system, from the figures of a run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

Figures = dict[str, Any]

INTRODUCTION = """## A second real system: one slow core a node, a slow link, settings held

Our own recordings of a real Lustre 2.15.8 client and a 2.17.57 server on software-emulated machines with one slow
core each, targets in the server's memory, and a link shaped by netem to 10 ms and 400 Mbit/s (`rtt10`, cluster
`emulated-10ms`) or to 2 ms and 1 Gbit/s (`rtt2`, `emulated-2ms`). 17 settings, each held for 5 s from a cold cache;
MB/s include the flush at the end, for the mixed workload both programs together. The simulator runs every cell in
the same way (`benchmarks/held.py`); {seeds} seeds are averaged.

Parameters come from the set-up and from the client's counters on the first link: RPC latency, RPCs in flight, RPCs
and pages a second while the client's core was the limit (a regression over 306 half seconds of writing, the rate
at which a flush drains). Throughput tables were not fitted, but they were looked at while mechanisms were added. The
second link differs from the first by its two physical facts only; nothing was fitted on it.

Mechanisms that this system needed: processors shared by application, RPC and network work; a read that costs two
round trips because the server waits for an acknowledgement; receivers that copy while the wire brings more; data
that leaves RPC by RPC, because one TCP connection carries all of it; replies that wait behind a TCP window of data;
pages that a call itself asks for, which cost more than pages read ahead; one daemon that deals with replies one
after the other, while the network goes on.

The last four together put reads into step: the replies of all RPCs in flight come behind the last one's data, so new
requests leave together and the wire rests for a round trip. The counters show it: five reads of 1 MiB take 120 ms
each, 125 ms from round to round, of which the wire needs 105; two of 4 MiB take 184 ms, four 337.

"Our best" are the settings with the best mean over the seeds: the first, and all whose distance from it is less than
its standard error or .1 %. Their real values count alike.
"""

WRONG = """### Where it is wrong

- **Real cells are single runs of 5 s.** In the two workloads that were taken twice and agree, one good cell differs
  from its repeat by 4 % (standard deviation, of one cell). So a simulator that were right in everything would find,
  at one of seven equal settings, .95 of the best of them in the mean, and .93 in two of three workloads.
- **`rr_1m_4`, first link: the real best is luck.** Seven settings (256 and 1,024 pages, 4 and more in flight) send
  the same RPCs, one of 1 MiB a call and at most four in flight. Six have 33.1-35.8 MB/s, 1024 x 16 has 39.4: until
  its half RPCs take 103 ms as in the other six, then 82 ms: the four readers fell out of step. The mean
  of the seven is .893 of the luckiest. The simulated client ties them, and has 1024 x 1 2 % above them; it is in
  step for a part of the time only (76-93 ms), and as fast because a page that a call asks for costs it more than
  the real client's counters allow.
- **`sw_1m_1`, second link: the real best is luck.** With 1,024 pages the client's core is the limit and 1.0-1.5 RPCs
  are in flight on average, however many are allowed. The five settings have 55.7-67.6 MB/s, and within one cell half
  seconds differ by a factor of two (33-84 MB/s). The simulated client ties all five.
- **`sr_1m_1`, second link**: four settings of 1,024 pages tie; their real values are 78.0-88.5 MB/s. The real best is
  1024 x 1 (92.9), which the simulated client has 1 % below them: why two reads of 4 MiB suffice is not known.
- **`mix_rr_sw_1m`**: 256 x 16 and 1,024 pages with 4 and more in flight lie within 2 % in the simulation; in reality
  within 20 %, in no order (1024 x 4, 8, 16, 64: 53.3, 47.1, 53.9, 49.7 MB/s).
- **Small reads in step.** With 17 reads of 64 or 256 KiB in flight the real client is in step for a part of the time
  (44 ms; 101 ms, 112 in the first and 94 in the second half), the simulated one is less so (35 and 93 ms): at
  64 x 16 and 16 x 16 it is a tenth to a third too fast. Not tried: requests that the daemon builds while it
  deals with replies may leave only when it has dealt with all of them.
- **`rr_64k_16`** (16 threads) is up to a half too fast; its own repeats differ by as much.
- **Reads beside writes** (`mix_rr_sw_1m`): the latency of an RPC, both directions together, is within 25 % at little
  more than half of the settings.
"""


def section(document: dict[str, Any]) -> str:
    """The whole section."""
    found: Sequence[Figures] = document["workloads"]
    parts = [INTRODUCTION.format(seeds=document["seeds"]), _goals(found), _table(found), WRONG]
    return "\n".join(parts)


def _goals(found: Sequence[Figures]) -> str:
    judged = [f for f in found if f["counts"]]
    ranks = [f["spearman"] for f in judged]
    below = [f"{f['link']} {f['workload']} ({f['at_best']:.3f})" for f in judged if f["at_best"] < 0.93]
    itself = [value for f in judged for value in f["at_best_of_a_repeat"]]
    rows = [
        ("rank correlation, median >= .80", f"{median(ranks):.3f}", median(ranks) >= 0.80),
        ("rank correlation, each >= .60", f"least {min(ranks):.3f}", min(ranks) >= 0.60),
        (
            "real value at our best setting >= .93",
            f"all but {', '.join(below)}" if below else "all",
            not below,
        ),
    ]
    lines = ["| goal (without `rr_64k_16`, whose repeats disagree) | seen | |", "|---|---|---|"]
    lines += [f"| {goal} | {seen} | {'met' if met else '**not met**'} |" for goal, seen, met in rows]
    lines += [
        "",
        f"Reality against itself: at the setting that was best in one repeat, the other repeat has "
        f"{', '.join(f'{value:.2f}' for value in sorted(itself))} of its own best.",
    ]
    return "\n".join(lines) + "\n"


def _table(found: Sequence[Figures]) -> str:
    heads = (
        "link | workload | Spearman | sim/real, mean | our best | real value there, of real best | "
        "RPC latency, sim/real | within 25 % | pages per RPC, sim/real"
    )
    lines = [f"| {heads} |", "|---" * 9 + "|"]
    for f in found:
        best = ", ".join(f"{pages} x {flight}" for pages, flight in f["best"])
        lines.append(
            f"| {f['link']} | {f['workload']} | {f['spearman']:.3f} | {f['level']:.2f} | {best} | {f['at_best']:.3f} "
            f"| {f['rpc_ms_ratio']:.2f} | {f['rpc_ms_within_25']:.0%} | {f['pages_ratio']:.2f} |"
        )
    note = "RPC latency and pages per RPC: the median over the 17 settings, and the share of settings within 25 %."
    return "\n".join([*lines, "", note]) + "\n"
