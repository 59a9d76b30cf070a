"""A second, slow implementation of the scheduling contract, in exact fractions and plain dictionaries.

It shares no code with the product: it reads the same JSON documents and follows the written definitions.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any

F = Fraction
Document = dict[str, Any]


def bandwidth(app: Document, count: int) -> F:
    points = sorted((int(key), F(value)) for key, value in app["bandwidth"].items() if int(key) > 0)
    if count <= points[0][0]:
        return points[0][1]
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= count <= x1:
            return y0 + (y1 - y0) * F(count - x0, x1 - x0)
    return points[-1][1]


def volume(app: Document) -> F:
    return sum((F(phase["io_bytes"]) for phase in app["phases"]), F(0))


def compute(app: Document) -> F:
    return sum((F(phase["compute_s"]) for phase in app["phases"]), F(0))


def limit(app: Document, doc: Document) -> int:
    return min(max(map(int, app["bandwidth"])), doc["resources"]) if volume(app) else 1


def stress(app: Document, count: int) -> F:
    io_s = volume(app) / bandwidth(app, count)
    return count * io_s / (compute(app) + io_s) if io_s else F(0)


def cpu_load(app: Document, count: int) -> F:
    cpu = compute(app)
    return app["compute_nodes"] * cpu / (cpu + volume(app) / bandwidth(app, count)) if cpu else F(0)


def n_perf(app: Document, doc: Document) -> int:
    counts = range(1, limit(app, doc) + 1)
    return max(counts, key=lambda n: (bandwidth(app, n), -n))


def n_sys(app: Document, doc: Document) -> int:
    return min(range(1, limit(app, doc) + 1), key=lambda n: (stress(app, n), n))


def io_load(doc: Document, counts: list[int]) -> F:
    pairs = zip(doc["applications"], counts, strict=True)
    return sum((stress(app, n) for app, n in pairs), F(0)) * F(1, doc["resources"])


def static(doc: Document) -> list[int]:
    counts = []
    for app in doc["applications"]:
        exact = F(app["compute_nodes"] * doc["resources"], doc["compute_nodes"])
        counts.append(min(max(int(exact + F(1, 2)), 1), limit(app, doc)))
    return counts


def tcpu(doc: Document) -> list[int]:
    apps = doc["applications"]
    counts = [n_sys(app, doc) for app in apps]
    while True:
        steps = []
        for i, app in enumerate(apps):
            for n in range(counts[i] + 1, n_perf(app, doc) + 1):
                trial = [*counts[:i], n, *counts[i + 1 :]]
                gain = cpu_load(app, n) - cpu_load(app, counts[i])
                if io_load(doc, trial) <= 1 and gain >= 0:
                    steps.append((-gain, n, i))
                    break
        if not steps:
            return counts
        _, n, i = min(steps)
        counts[i] = n


def tcpu_as_printed(doc: Document) -> list[int]:
    apps = doc["applications"]
    pi = [n_sys(app, doc) for app in apps]
    while True:
        tilde, diff = list(pi), [F(-1)] * len(apps)
        for i, app in enumerate(apps):
            n = pi[i]
            while n != n_perf(app, doc) and diff[i] < 0:
                n += 1
                if io_load(doc, pi) + (stress(app, n) - stress(app, pi[i])) / doc["resources"] <= 1:
                    diff[i] = cpu_load(app, n) - cpu_load(app, tilde[i])
                    tilde[i] = n
        best = diff.index(max(diff))
        if diff[best] < 0:
            return pi
        pi[best] = tilde[best]


def knapsack_value(doc: Document) -> F:
    """The largest sum of exclusive bandwidths, by trying every combination."""
    apps, best = doc["applications"], F(-1)
    for counts in product(*(range(limit(app, doc) + 1) for app in apps)):
        if sum(counts) <= doc["resources"] - (0 in counts):
            best = max(best, sum((bandwidth(a, n) for a, n in zip(apps, counts, strict=True) if n), F(0)))
    return best


def round_robin(doc: Document, counts: list[int]) -> list[list[int]]:
    placed: list[list[int]] = [[] for _ in counts]
    position = 0
    for i in sorted(range(len(counts)), key=lambda i: -counts[i]):
        for _ in range(counts[i]):
            placed[i].append(position % doc["resources"])
            position += 1
    return [sorted(ids) for ids in placed]


def least_load(doc: Document, counts: list[int]) -> list[list[int]]:
    apps = doc["applications"]
    ratio = [stress(a, n) / n for a, n in zip(apps, counts, strict=True)]
    placed: list[list[int]] = [[] for _ in counts]
    occupancy = [F(0)] * doc["resources"]
    for i in sorted(range(len(counts)), key=lambda i: (-ratio[i], counts[i])):
        placed[i] = sorted(sorted(range(doc["resources"]), key=lambda r: (occupancy[r], r))[: counts[i]])
        for r in placed[i]:
            occupancy[r] += ratio[i]
    return placed


def simulate(doc: Document, placed: list[list[int]], until: str = "all") -> Document:
    """Fluid simulation: at every instant all rates are constant; jump to the next completion."""
    apps = doc["applications"]
    state: list[Document] = [
        {"phase": 0, "kind": "start", "io_s": F(0), "moved": F(0), "end": None} for _ in apps
    ]
    busy = [F(0)] * doc["resources"]
    now = F(0)

    def settle(i: int) -> None:
        app, s = apps[i], state[i]
        while True:
            if s["kind"] == "compute" and s["left"] == 0:
                s["kind"] = "io"
                amount = F(app["phases"][s["phase"]]["io_bytes"]) / len(placed[i])
                s["transfers"] = {r: amount for r in placed[i] if amount}
            elif s["kind"] == "io" and not s["transfers"]:
                s["kind"], s["phase"] = "start", s["phase"] + 1
            elif s["kind"] == "start" and s["phase"] == len(app["phases"]):
                s["kind"], s["end"] = "done", now
            elif s["kind"] == "start":
                s["kind"], s["left"] = "compute", F(app["phases"][s["phase"]]["compute_s"])
            else:
                return

    for i in range(len(apps)):
        settle(i)
    while any(s["kind"] != "done" for s in state):
        if until == "first" and any(s["end"] is not None for s in state) and all(s["phase"] for s in state):
            break
        users = [
            sum(s["kind"] == "io" and r in s["transfers"] for s in state) for r in range(doc["resources"])
        ]
        rates: dict[tuple[int, int], F] = {}
        spans = [s["left"] for s in state if s["kind"] == "compute"]
        for i, s in enumerate(state):
            for r, left in s["transfers"].items() if s["kind"] == "io" else ():
                rates[i, r] = bandwidth(apps[i], len(placed[i])) / len(placed[i]) / users[r]
                spans.append(left / rates[i, r])
        span = min(spans)
        now += span
        for r, count in enumerate(users):
            busy[r] += span if count else 0
        for i, s in enumerate(state):
            if s["kind"] == "compute":
                s["left"] -= span
            elif s["kind"] == "io":
                s["io_s"] += span
                for r in list(s["transfers"]):
                    s["moved"] += rates[i, r] * span
                    s["transfers"][r] -= rates[i, r] * span
                    if s["transfers"][r] == 0:
                        del s["transfers"][r]
            settle(i)
    return _metrics(doc, placed, state, busy, now)


def _metrics(
    doc: Document, placed: list[list[int]], state: list[Document], busy: list[F], now: F
) -> Document:
    slow, allocation = [], []
    for app, ids, s in zip(doc["applications"], placed, state, strict=True):
        best = bandwidth(app, n_perf(app, doc))
        slow.append(s["io_s"] / (s["moved"] / best) if s["moved"] else F(1))
        allocation.append(best / bandwidth(app, len(ids)) if s["moved"] else F(1))
    nodes = [app["compute_nodes"] for app in doc["applications"]]
    idle = sum((s["io_s"] * q for s, q in zip(state, nodes, strict=True)), F(0))
    return {
        "horizon_s": now,
        "io_s": [s["io_s"] for s in state],
        "moved": [s["moved"] for s in state],
        "io_slowdown": slow,
        "io_slowdown_allocation": allocation,
        "io_spread": (max(busy) - min(busy)) / now if now else F(0),
        "machine_idle_time": idle / (now * doc["compute_nodes"]) if now else F(0),
    }
