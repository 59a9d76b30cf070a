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
round trips because the server waits for an acknowledgement; receivers that copy while the wire brings more; messages
of parallel RPCs that take turns; pages that a call itself asks for, which cost more than pages read ahead; a slot
that stays taken while a reply's pages are dealt with.
"""

WRONG = """### Where it is wrong

- **Real cells are single runs of 5 s** and good to some 10 %. Settings that cannot differ do: of the seven that all
  send one 1 MiB RPC a call for `rr_1m_4` the best is 1.19 times the worst. In the simulator they tie; "real at our
  best" is then the mean over all that tie, and no simulator could be sure of more.
- **Reads saturate too sharply.** With about 5 MB in flight real sequential reads reach 40-41 MB/s, simulated ones
  45-48, and from there on hardly more; the real ones gain until 15 MB are in flight. What makes the real way softer
  is not known. It is why the best simulated setting of `sr_64k_1` is 256 x 4.
- **Small RPCs at 16 in flight** are up to 30 % too fast where they read: latency grows from 28 ms (2 in flight) to 44
  (17) in reality, to 35 here.
- **`rr_64k_16`** (16 threads) is up to a half too fast; its own repeats differ by as much.
- On the second link a write RPC's latency is a quarter too high in the median, though throughput is right.
"""


def section(document: dict[str, Any]) -> str:
    """The whole section."""
    found: Sequence[Figures] = document["workloads"]
    parts = [INTRODUCTION.format(seeds=document["seeds"]), _goals(found), _table(found), WRONG]
    return "\n".join(parts)


def _goals(found: Sequence[Figures]) -> str:
    judged = [f for f in found if f["counts"]]
    ranks = [f["spearman"] for f in judged]
    below = [f"{f['link']} {f['workload']} ({f['at_best']:.2f})" for f in judged if f["at_best"] < 0.93]
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
            f"| {f['link']} | {f['workload']} | {f['spearman']:.3f} | {f['level']:.2f} | {best} | {f['at_best']:.2f} "
            f"| {f['rpc_ms_ratio']:.2f} | {f['rpc_ms_within_25']:.0%} | {f['pages_ratio']:.2f} |"
        )
    note = "RPC latency and pages per RPC: the median over the 17 settings, and the share of settings within 25 %."
    return "\n".join([*lines, "", note]) + "\n"
