"""The page docs/explanation/fidelity.md, from the figures of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean, median
from typing import Any

Figures = dict[str, Any]
#: What was aimed at, what was seen, and whether that is enough.
Goal = tuple[str, str, bool]
SMALL_RANDOM = ("rnd_r_1_io_8k", "rnd_w_1_io_8k")

INTRODUCTION = """# How faithful is the simulator?

Three comparisons with real Lustre clients: the public traces, our own recordings over a slow link, and rewriting in
the page cache. Each says what was aimed at, what was found, and where the simulator is wrong.

Written by `./run bench fidelity --render`; do not edit. `./run bench fidelity --tables` prints what is left out here:
counters, the settings furthest off, each workload of the second system, every cell of the recordings.

## The public traces

The traces of the CARAT and DIAL authors (DIR-LAB/VertoIO, MIT) are of real clients with one stream and 99 settings of
pages per RPC x RPCs in flight. They were recorded as a random walk: the setting changes after every probe of half a
second, while dirty pages and RPCs in flight carry over. The simulated cluster `c220g5` is walked in the same way
(`src/penstock/simulate/protocol.py`).

No throughput is an input; `src/penstock/simulate/clusters/c220g5.toml` names the source of each parameter. Hardware
parameters were set on eight workloads. Four, marked *v*, are validation: nothing was fitted to them and no mechanism
chosen by them. They were looked at after each change, though, so they are known, not fresh.
"""

WRONG = """### Where it is wrong

- **The simulated device is always the same.** Real write rates differ by a factor of up to 1.9 between iterations and
  fall by a tenth within a run. Settings that differ by less are ranked by luck.
- **Both sides are samples.** A measured setting is known to 5 to 8 %, a simulated one to 4 to 9 %. One half of the
  real iterations, asked for the five best settings, reaches .89 to .90 on the other half.
- **Random writes are 5 to 11 % too fast on the wire.** The real loss is the devices': it moves levels, not ranks.
- **`rnd_w_1_io_8k`**: the surface is nearly flat and the measured one noisy, so ranks in its middle mean little.
- **Large sequential reads with many RPCs in flight** fall in reality by 5 to 15 %. Why is not understood.
- **Few RPCs in flight**: sequential reads with one or two are a fifth too slow, random reads of few pages a third or
  more too fast.
- **`seq_w_1_io_8k`** holds a fifth too much dirty data and is a third too slow at one page per RPC.
- **`rnd_r_1_io_8k`** is flat in both; a rank correlation of a flat surface says nothing.
- **Not modelled**: fragmentation of the OST's files, read-ahead in the drive.
"""


def render(figures: Sequence[Figures], second: str, worth: Sequence[Goal] = ()) -> str:
    """The whole page; `second` is the section about the other real system, `worth` are the goals of a tuner."""
    ten = [f for f in figures if f["workload"] not in SMALL_RANDOM]
    parts = [
        INTRODUCTION,
        _goals(figures, ten, worth),
        _main_table(figures),
        WRONG,
        second,
    ]
    return "\n".join(parts)


def tables(figures: Sequence[Figures]) -> str:
    """What the page leaves out."""
    return "\n".join([_levels(figures), _counters(figures)])


def _verdict(met: bool) -> str:
    return "met" if met else "**not met**"


def _goals(figures: Sequence[Figures], ten: Sequence[Figures], worth: Sequence[Goal]) -> str:
    by_name = {f["workload"]: f for f in figures}
    rho = [f["spearman"] for f in ten]
    in_range = sum(0.75 <= f["default_ratio"] <= 1.33 for f in figures)
    rows = [
        ("Spearman, median of ten >= .90", f"{median(rho):.3f}", median(rho) >= 0.90),
        ("Spearman, each of ten >= .85", f"least {min(rho):.3f}", min(rho) >= 0.85),
        (
            "top five >= .85, each of ten",
            f"least {min(f['top_five'] for f in ten):.3f}",
            min(f["top_five"] for f in ten) >= 0.85,
        ),
        ("default within .75-1.33, at least 10 of 12", f"{in_range} of {len(figures)}", in_range >= 10),
    ]
    if set(SMALL_RANDOM) <= set(by_name):
        read, write = by_name["rnd_r_1_io_8k"], by_name["rnd_w_1_io_8k"]
        level = read["simulated"]["app_mbps"] / read["real"]["app_mbps"]
        rows.append(("rnd_w 8k: Spearman >= .60", f"{write['spearman']:.3f}", write["spearman"] >= 0.60))
        flat = read["spread"] <= 1.25 and 0.75 <= level <= 1.33
        rows.append(
            ("rnd_r 8k flat (<= 1.25), right level", f"spread {read['spread']:.2f}, level {level:.2f}", flat)
        )
    for key, what in (("in_flight", "in flight"), ("dirty_mb", "dirty"), ("pages_per_rpc", "pages per RPC")):
        off = _off(figures, key)
        seen = "all" if not off else f"all but {', '.join(off)}"
        rows.append((f"mean {what} within 20 %", seen, not off))
    rows += worth
    lines = ["| goal | seen | |", "|---|---|---|"]
    lines += [f"| {goal} | {seen} | {_verdict(met)} |" for goal, seen, met in rows]
    return "\n".join(lines) + "\n"


def _off(figures: Sequence[Figures], key: str) -> list[str]:
    compared = [f for f in figures if f["real"][key] > 0]
    return [f["workload"] for f in compared if abs(f["simulated"][key] / f["real"][key] - 1) > 0.20]


def _table(
    title: str, heads: Sequence[str], figures: Sequence[Figures], row: Callable[[Figures], list[str]]
) -> str:
    lines = [f"### {title}", "", "| workload | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for f in figures:
        mark = " *v*" if f["validation"] else ""
        lines.append(f"| {f['workload']}{mark} | " + " | ".join(row(f)) + " |")
    return "\n".join(lines) + "\n"


def _main_table(figures: Sequence[Figures]) -> str:
    heads = ("Spearman", "sim/real at default", "top five")

    def row(f: Figures) -> list[str]:
        return [f"{f[k]:.3f}" for k in ("spearman", "default_ratio", "top_five")]

    ten = [f["spearman"] for f in figures if f["workload"] not in SMALL_RANDOM]
    seconds = mean(f["seconds"] for f in figures)
    note = (
        f"\n{seconds:.0f} s per setting. Ten workloads, without the two of 8 KiB at random: mean {mean(ten):.3f}. "
        "Each workload has a picture of both surfaces, such as this:\n\n"
        "![rnd_r_1_io_1m](fidelity/rnd_r_1_io_1m.png)\n"
    )
    return _table("Application throughput over 99 settings", heads, figures, row) + note


def _levels(figures: Sequence[Figures]) -> str:
    def row(f: Figures) -> list[str]:
        level = f["simulated"]["app_mbps"] / f["real"]["app_mbps"]
        return [f"{f['optimum_ratio']:.3f}", f"{level:.3f}"]

    return _table("Application throughput, sim/real", ("at the real optimum", "mean"), figures, row)


def _counters(figures: Sequence[Figures]) -> str:
    keys = ("in_flight", "dirty_mb", "pages_per_rpc", "latency_us", "wire_mbps")
    heads = ("in flight", "dirty MB", "pages/RPC", "RPC latency us", "wire MB/s")

    def row(f: Figures) -> list[str]:
        return [f"{f['simulated'][k]:.1f} / {f['real'][k]:.1f}" for k in keys]

    title = "Counters, simulated / real, over the whole walk"
    return _table(title, heads, figures, row) + "\n" + _worst(figures)


def _worst(figures: Sequence[Figures]) -> str:
    def row(f: Figures) -> list[str]:
        return [", ".join(f"({p}, {n}): {r:.2f}" for p, n, r in f["worst"])]

    return _table("The four settings furthest off", ("(pages, flight): sim/real",), figures, row)
