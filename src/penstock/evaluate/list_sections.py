"""Sequences and interference lists as sections of the report: the lists as wholes, then every phase and client."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.evaluate import paper
from penstock.evaluate.dynamic import FAST
from penstock.evaluate.rows import (
    DynamicDocument,
    InterferenceDocument,
    SequenceTotal,
    Values,
)
from penstock.evaluate.sections import course, line, policy_table, ratio_text, title, typed
from penstock.report.page import Figure, Section, Table
from penstock.report.timeline import Band


def _setting(setting: Values | None) -> str:
    return "—" if setting is None else " × ".join(str(setting[knob]) for knob in ("pages", "flight", "dirty"))


def _named(name: str, also: Sequence[str]) -> str:
    return f"{name} (also {', '.join(also)})" if also else name


def dynamic(document: DynamicDocument) -> Section:
    """Throughput of whole sequences, of every phase, and how soon each phase was adapted to."""
    policy = document["policy"]
    columns = (
        "geomean_vs_default", "phases_geomean_vs_default", "phases_geomean_vs_ceiling", "worst_vs_default",
        "geomean_vs_best_single", "worst_vs_best_single",
    )  # fmt: skip
    text = [
        "Workloads follow each other on the same OSTs; throughput of the whole sequence, switches included. Best "
        "single setting: one for the whole sequence. Ceiling: each phase at what a search found for it, dirty limit "
        "included (pages × flight × dirty MiB), in its sequence or alone on an idle client, "
        "whichever is more. Adapted: two seconds in a row at 90 % of the phase's ceiling.",
        f"**{policy}** reaches {document['phases_geomean_vs_ceiling']:.2f} of the ceilings and "
        f"{document['phases_geomean_vs_default']:.2f} of the default by the geometric mean over phases, in which one "
        "fast phase does not outweigh the others; of whole sequences "
        f"{document['geomean_vs_best_single']:.2f} of the best single setting (worst "
        f"{document['worst_vs_best_single']:.2f}) and "
        f"{document['geomean_vs_default']:.2f} of the default. CARAT's Fig. 7 shows up to {paper.DYNAMIC_BEST:g} "
        "times the default.",
    ]
    tables = [policy_table(document["policies"], columns), _sequences(document), _phases(document)]
    figures = [_timeline(one) for one in document["lists"] if one["list"] not in FAST]
    return Section(title("Dynamic workloads", document), text, figures, tables)


def _sequences(document: DynamicDocument) -> Table:
    heading = [
        "sequence", "phase s", "default", "best single setting", "at", "ceiling", document["policy"], "vs default",
        "vs single", "vs ceiling", "adapted after s (median)", "phases adapted", "command",
    ]  # fmt: skip
    rows = [
        [
            _named(one["list"], one["also"]), f"{one['phase_s']:g}", f"{one['default_mbps']:.0f}",
            f"{one['best_single_mbps']:.0f}", _setting(one["best_single"]), f"{one['ceiling_mbps']:.0f}",
            f"{one['policy_mbps']:.0f}", f"{one['vs_default']:.2f}", f"{one['vs_best_single']:.2f}",
            f"{one['vs_ceiling']:.2f}", _adapted(one["adapt_s"]),
            f"{sum(t is not None for t in one['adapt_s'])} of {len(one['adapt_s'])}", typed(one["command"]),
        ]
        for one in document["lists"]
    ]  # fmt: skip
    return Table(heading, rows)


def _phases(document: DynamicDocument) -> Table:
    policies = list(document["policies"])
    rows = [
        [
            row["list"], str(row["phase"]), row["workload"], f"{row['default_mbps']:.0f}",
            ratio_text(row["ceiling_mbps"] / max(row["default_mbps"], 1e-9)), _setting(row["ceiling"]),
            *(ratio_text(row["policies"][each] / max(row["default_mbps"], 1e-9)) for each in policies),
        ]
        for row in document["rows"]
    ]  # fmt: skip
    return Table(["sequence", "phase", "workload", "default MB/s", "ceiling", "at", *policies], rows)


def _timeline(one: SequenceTotal) -> Figure:
    colours = ("default", "best", "policy")
    lines = [
        line(name, colour, _thinned(rates))
        for (name, rates), colour in zip(one["trail"].items(), colours, strict=False)
    ]
    bands = [
        Band(number * one["phase_s"], (number + 1) * one["phase_s"], phase)
        for number, phase in enumerate(one["phases"])
    ]
    return course(one["list"], lines, one["path"], bands)


def _thinned(rates: Sequence[float]) -> list[float]:
    """The same length, smoothed over four seconds: a pixel is wider than an interval."""
    return [sum(rates[max(0, i - 7) : i + 1]) / len(rates[max(0, i - 7) : i + 1]) for i in range(len(rates))]


def _adapted(times: Sequence[float | None]) -> str:
    reached = sorted(t for t in times if t is not None)
    return f"{reached[len(reached) // 2]:g}" if reached else "never"


def interference(document: InterferenceDocument) -> Section:
    """Aggregates, fairness and oscillation, and what every client got."""
    text = [
        "Different workloads on overlapping OSTs; every client sees its own counters only. Best single setting: one "
        "for all clients. Ceiling: each client at what a search for the highest total found, dirty limit included. "
        "Fairness is Jain's index of each client's throughput over what it gets alone at the default. Late changes "
        "tell oscillation: settings changed per client and minute in the second half. Under-used: the share of that "
        "half in which all together got less than four fifths of the default's mean.",
        f"**{document['policy']}**: {document['geomean_vs_default']:.2f} of the default over all lists, worst "
        f"{document['worst_vs_default']:.2f}. CARAT's Table VI (real machines): 1.15 all-read, 1.47 all-write, 2.97 "
        "mixed; it does not say which of the authors' lists it is about.",
    ]
    columns = ("geomean_vs_default", "worst_vs_default", "geomean_vs_ceiling")
    tables = [policy_table(document["policies"], columns), _lists(document), _clients(document)]
    return Section(title("Interference", document), text, (), tables)


def _lists(document: InterferenceDocument) -> Table:
    rows = []
    for one in document["lists"]:
        base, tuned = paper.TABLE_VI[one["kind"]]
        default = one["default_mbps"]
        for policy, figures in one["policies"].items():
            if policy == "default":
                continue
            rows.append(
                [
                    _named(one["list"], one["also"]), str(one["clients"]), str(one["tuned_clients"]), policy,
                    f"{default:.0f}", f"{figures['mbps']:.0f}", f"{figures['mbps'] / default:.2f}",
                    _of(one["best_single_mbps"], default), _of(one["ceiling_mbps"], default), f"{tuned / base:.2f}",
                    f"{one['default_fairness']:.2f} / {figures['fairness']:.2f}",
                    f"{figures['moves_per_client_minute']:.1f}", f"{figures['under_used']:.0%}",
                    ratio_text(figures["tuned_vs_default"]), ratio_text(figures["untuned_vs_default"]),
                    typed(one["command"]),
                ]
            )  # fmt: skip
    heading = [
        "list", "clients", "tuned", "policy", "default MB/s", "MB/s", "ratio", "best single setting", "ceiling",
        "paper's ratio", "fairness default / policy", "late changes / client min", "under-used", "tuned clients",
        "untuned clients", "command",
    ]  # fmt: skip
    return Table(heading, rows)


def _clients(document: InterferenceDocument) -> Table:
    policies = list(document["policies"])
    rows = [
        [
            row["list"], str(row["client"]), row["workload"], f"{row['alone_mbps']:.0f}",
            f"{row['default_mbps']:.0f}",
            _of(row["ceiling_mbps"], row["default_mbps"]), _setting(row["ceiling"]),
            *(_of(row["policies"][each], row["default_mbps"]) for each in policies),
        ]
        for row in document["rows"]
    ]  # fmt: skip
    return Table(
        ["list", "client", "workload", "alone MB/s", "default MB/s", "ceiling", "at", *policies], rows
    )


def _of(value: float | None, default: float) -> str:
    return ratio_text(None if value is None or default <= 0 else value / default)
