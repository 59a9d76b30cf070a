"""Turns the results of experiments into sections of the report, beside the published figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.evaluate import paper
from penstock.evaluate.request import BEST_STATIC
from penstock.evaluate.rows import (
    ApplicationsDocument,
    BudgetRow,
    CacheDocument,
    Head,
    IndependentDocument,
    StaticDocument,
    WorkTime,
)
from penstock.evaluate.simulated import grid
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.report import bars, walk
from penstock.report.page import Figure, Section, Table
from penstock.report.timeline import KNOB_COLOURS, Band, Drawing, Mark, Series, draw

DEFAULT = (1024, 8)
TIMELINES, MAPS = 3, 6
MOST_POINTS = 600  # a drawing has no more pixels
MOST_MARKS = 120


def title(words: str, document: Head) -> str:
    return f"{words} ({document['cluster']})"


def typed(command: str) -> str:
    return f"`{command}`"


def ratio_text(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else "—"


def _setting(setting: Mapping[str, int]) -> str:
    return " × ".join(str(setting[knob]) for knob in ("pages", "flight"))


def line(name: str, colour: str, rates: Sequence[float]) -> Series:
    points = [((i + 1) * INTERVAL_S, rate) for i, rate in enumerate(rates)]
    return Series(name, f"var(--{colour})", points[:: 1 + len(points) // MOST_POINTS])


def policy_table(policies: Mapping[str, Mapping[str, object]], columns: Sequence[str]) -> Table:
    """Every policy in its summary figures."""
    rows = [
        [name, *(ratio_text(figures.get(column)) for column in columns)] for name, figures in policies.items()
    ]
    return Table(["policy", *(column.replace("_", " ") for column in columns)], rows)


def rivals_table(
    rows: Sequence[tuple[str, float]], rates: Mapping[str, Mapping[str, float]], what: str
) -> list[Table]:
    """Where several policies ran, each row's rate by policy and against the default; `rows` are names and rates."""
    if len(rates) < 2:
        return []
    cells = [
        [
            name,
            f"{default:.1f}",
            *(f"{own[name]:.1f} ({own[name] / max(default, 1e-9):.2f})" for own in rates.values()),
        ]
        for name, default in rows
    ]
    return [Table([what, "default (MB/s)", *(f"{policy} (ratio)" for policy in rates)], cells)]


_STATIC = ("geomean_vs_default", "geomean_vs_best_static", "worst_vs_default", "headroom_captured")


def static(document: StaticDocument) -> Section:
    """Ratios, timelines and maps; of many policies on few workloads, a table of all of them."""
    if document.get("role") == "baselines":
        return _baselines(document)
    rows, policy = document["rows"], document["policy"]
    heading = ["workload", "seen", "default (MB/s)", "best static", "its MB/s", f"{policy} (MB/s)"]
    table = Table(
        [*heading, "vs default", "vs best", "wire vs default", "rewritten in memory", "command"],
        [
            [
                row["workload"],
                "yes" if row["seen"] else "no",
                _mbps(row["default_mbps"], row.get("default_ci95")),
                _setting(row["best_static"]),
                _mbps(row["best_static_mbps"], row.get("best_static_ci95")),
                _mbps(row["policy_mbps"], row.get("policy_ci95")),
                f"{row['policy_mbps'] / row['default_mbps']:.2f}",
                f"{row['policy_mbps'] / row['best_static_mbps']:.2f}",
                f"{row['policy_wire_mbps'] / max(row['default_wire_mbps'], 1e-9):.2f}",
                "yes" if row["rewriting"] else "",
                typed(row["command"]),
            ]
            for row in rows
        ],
    )
    drawn = [
        bars.Bar(
            r["workload"], r["policy_mbps"] / r["default_mbps"], r["best_static_mbps"] / r["default_mbps"]
        )
        for r in rows
    ]
    most = max(bar.value for bar in drawn)
    text = [
        f"Each workload for {document['seconds']:g} s after a warm-up of 5 s, from the default on; the search "
        f"counts. Best static: of the 99 settings of pages per RPC × RPCs in flight, chosen on another seed.",
        f"**{policy}**: geometric mean {document['geomean_vs_default']:.2f} of the default and "
        f"{document['geomean_vs_best_static']:.2f} of the best static setting; worst "
        f"{document['worst_vs_default']:.2f} of the default; head-room captured "
        f"{ratio_text(document['headroom_captured'])}. CARAT's Fig. 6 shows never less than a tenth below the "
        f"default and up to {paper.STATIC_BEST:g} times it; here the most is {most:.2f} "
        f"({_match(document['worst_vs_default'] >= paper.STATIC_WORST, 'never below .9')}).",
        *_without_rewriting(document),
    ]
    figures = [
        Figure("Throughput against the default", bars.draw("static workloads", drawn, policy)),
        *_ways(document),
    ]
    return Section(
        title("Static workloads", document),
        text,
        figures,
        [policy_table(document["policies"], _STATIC), table, *_static_rivals(document)],
    )


def _static_rivals(document: StaticDocument) -> list[Table]:
    rows = [(row["workload"], row["default_mbps"]) for row in document["rows"]]
    rates = {policy: figures["mbps"] for policy, figures in document["policies"].items()}
    return rivals_table(rows, rates, "workload")


def _without_rewriting(document: StaticDocument) -> list[str]:
    """The same without the workloads in which memory does the work."""
    headline = document["headline"] or {}
    figures = headline.get(document["policy"])
    if not figures or headline["workloads"] == len(document["rows"]):
        return []
    return [
        f"Without the workloads that are rewritten in memory ({headline['workloads']} are left): geometric mean "
        f"{figures['geomean_vs_default']:.2f} of the default, worst {figures['worst_vs_default']:.2f}."
    ]


def _mbps(value: float, ci95: float | None) -> str:
    return f"{value:.1f}" + (f" ± {ci95:.1f}" if ci95 is not None else "")


def _match(holds: bool, words: str) -> str:
    return f"{words} holds" if holds else f"{words} does **not** hold"


def _ways(document: StaticDocument) -> list[Figure]:
    """Timelines and maps of the workloads with most to gain."""
    room = sorted(document["rows"], key=lambda row: row["default_mbps"] / row["best_static_mbps"])
    found = []
    for row in room[:TIMELINES]:
        trail = document["trails"][row["workload"]]
        lines = [
            line(document["policy"], "policy", trail["policy"]),
            line("default", "default", trail["default"]),
        ]
        found.append(course(row["workload"], lines, trail["path"]))
    for row in room[:MAPS]:
        places = [(setting["pages"], setting["flight"]) for setting in grid()]
        surface = dict(zip(places, document["surfaces"][row["workload"]], strict=True))
        path = [(int(pages), int(flight)) for _, pages, flight in document["trails"][row["workload"]]["path"]]
        best = (row["best_static"]["pages"], row["best_static"]["flight"])
        svg = walk.draw(walk.Landscape(row["workload"], surface, path, DEFAULT, best))
        found.append(Figure(f"{row['workload']}: MB/s of every setting. {walk.SIGNS}", svg, small=True))
    return found


def course(
    name: str, lines: Sequence[Series], path: Sequence[Sequence[float]], bands: Sequence[Band] = ()
) -> Figure:
    """Throughput, and below it how the two knobs of the first target moved, on one time axis."""
    steps = [
        Series(knob, KNOB_COLOURS[column - 1], [(step[0], step[column]) for step in path])
        for column, knob in ((1, "pages per RPC"), (2, "RPCs in flight"))
    ]
    marks = [Mark(t_s, f"{pages:g} pages x {flight:g} in flight") for t_s, pages, flight in path[1:]]
    drawing = Drawing(name, "MB/s", lines, bands, marks[:MOST_MARKS], steps)
    return Figure(f"{name}: what the application got, and the setting of its first target", draw(drawing))


def _baselines(document: StaticDocument) -> Section:
    """Every policy on six workloads."""
    text = [
        f"Every policy on six single-stream workloads for {document['seconds']:g} s. `oracle` tries all settings in "
        "a copy of the simulated world before every half second and looks 3 s ahead: greedy, so no proof of a bound, "
        "but it knows what no client can. `bayes` is optuna's sampler, online. The papers' algorithms run without "
        "the agent's guard, as published.",
    ]
    return Section(
        title("Baselines", document),
        text,
        (),
        [policy_table(document["policies"], _STATIC), _every(document)],
    )


def _every(document: StaticDocument) -> Table:
    names = [row["workload"] for row in document["rows"]]
    rows = [[policy, *(f"{f['mbps'][n]:.0f}" for n in names)] for policy, f in document["policies"].items()]
    rows.append(["default", *(f"{row['default_mbps']:.0f}" for row in document["rows"])])
    rows.append(["best static", *(f"{row['best_static_mbps']:.0f}" for row in document["rows"])])
    return Table(["MB/s", *names, "command"], [[*row, typed(document["command"])] for row in rows])


def independent(document: IndependentDocument) -> Section:
    """Two processes of one client: ratios, writer and reader apart."""
    rows = []
    base = paper.TABLE_V["default"]
    for row in document["rows"]:
        for label, ratios in row["vs_default"].items():
            said = paper.TABLE_V.get(label) if row["workload"].startswith("table-v") else None
            rates = row["mbps"][label]
            rows.append(
                [
                    row["workload"], label, f"{ratios['write']:.2f} / {ratios['read']:.2f}",
                    f"{said[0] / base[0]:.2f} / {said[1] / base[1]:.2f}" if said else "—",
                    f"{rates['write_mbps']:.1f} / {rates['read_mbps']:.1f}", typed(row["command"]),
                ]
            )  # fmt: skip
    heading = ["pair", "policy", "writer / reader vs default", "paper", "MB/s", "command"]
    text = [
        "Two processes of one client on OSTs of their own, on two servers or both on one: Table V's 8 KB sequential "
        "writer and reader, and a pair whose optima lie far apart. The paper's absolute figures come from other "
        "hardware and a slower benchmark: ratios are compared. Ceiling: each process at what a search found for it.",
        f"**{document['policy']}** gets {document['geomean_vs_default']:.2f} of the default and "
        f"{document['geomean_vs_best_static']:.2f} of the best setting held on both, by the geometric mean of writer "
        "and reader.",
    ]
    return Section(title("Independent tuning", document), text, (), [Table(heading, rows)])


def applications(document: ApplicationsDocument) -> Section:
    """The time every application takes, reading and writing apart, beside the papers' figures."""
    rows, policy = [], document["policy"]
    for row in document["rows"]:
        name, times = row["workload"], row["times"]
        seven, two = paper.TABLE_VII.get(name), paper.DIAL_II.get(name)
        rows.append(
            [
                name, f"{row['read_gb']:.1f} / {row['write_gb']:.1f}",
                *(_spent(times[each]) for each in ("default", BEST_STATIC, policy)), _setting(row["best_static"]),
                f"{row['speedup']:.2f}", f"{seven[1] / seven[0]:.2f}" if seven else "—",
                f"{row['policy_mbps'] / row['best_static_mbps']:.2f}", f"{two[1] / two[0]:.2f}" if two else "—",
                typed(row["command"]),
            ]
        )  # fmt: skip
    heading = [
        "application", "GB read / written", "default s (read + write)", "best single setting s", f"{policy} s",
        "single", "speed-up", "CARAT Table VII", "vs best single", "DIAL Table II vs optimal", "command",
    ]  # fmt: skip
    learning = [
        r["policy_mbps"] / r["default_mbps"] for r in document["rows"] if r["workload"].startswith("dlio")
    ]
    text = [
        "DLIO's BERT and Megatron kernels over OSTs and threads (Fig. 8), VPIC-IO and BDCATS-IO of H5bench (Table "
        "VII, DIAL's Table II). The applications are programs in the simulator made from the benchmarks' public "
        "parameters, not the benchmarks themselves. Each does a fixed amount of work from its start, and speed-up is "
        "the ratio of times. Best single setting: one for the whole run, dirty limit included; a policy that changes "
        "settings between reading and writing may pass it.",
    ]
    if learning:
        text.append(
            f"Fig. 8 reports up to {paper.LEARNING_BEST} times the default; here the most is {max(learning):.2f}, "
            f"the least {min(learning):.2f}."
        )
    drawn = [
        bars.Bar(
            r["workload"], r["policy_mbps"] / r["default_mbps"], r["best_static_mbps"] / r["default_mbps"]
        )
        for r in document["rows"]
    ]
    policies = document["policies"]
    rates = {each: {row["workload"]: row["policies"][each] for row in document["rows"]} for each in policies}
    default = [(row["workload"], row["default_mbps"]) for row in document["rows"]]
    tables = [
        policy_table(policies, _STATIC),
        Table(heading, rows),
        *rivals_table(default, rates, "application"),
    ]
    figures = [Figure("Throughput against the default", bars.draw("applications", drawn, document["policy"]))]
    return Section(title("Applications", document), text, figures, tables)


def _spent(time: WorkTime) -> str:
    more = "" if time["done"] else ">"
    return f"{more}{time['seconds']:.1f} ({time['read_s']:.1f} + {time['write_s']:.1f})"


def _bound(row: BudgetRow) -> list[str]:
    rates = [row["equal_mbps"], row["best_split_mbps"], *row["policies"].values()]
    default = row["default_mbps"]
    # A run cut too short may have moved nothing at all.
    ratios = (ratio_text(rate / default if default > 0 else None) for rate in rates)
    return [row["workload"], f"{default:.0f}", *ratios, typed(row["command"])]


def cache(document: CacheDocument) -> Section:
    stage, extra, bound = [], [], []
    text = [
        "Stage 2 shares the dirty cache when an active stage begins. `dial` and `carat` differ by nothing else, so "
        "their ratio is what stage 2 adds; the node has 16 GB, with more there is nothing to share out.",
    ]
    for row in document["rows"]:
        if "stage2_gain" in row:
            rates = row["policies"]
            stage.append(
                [
                    row["workload"],
                    *(f"{v:.0f}" for v in rates.values()),
                    f"{row['stage2_gain']:.2f}",
                    typed(row["command"]),
                ]
            )
            heading = ["case", *rates, "stage 2 gain", "command"]
        elif "budget_mib" in row:
            bound.append(_bound(row))
            compared = list(row["policies"])
        elif "draws" in row:
            text.append(
                f"**Algorithm 2's overshoot**: as printed it passes the node's budget in {row['over_budget']:.0%} of "
                f"{row['draws']} drawn demands, by {row['worst_ratio']:.1f} times at worst ({row['mean_ratio']:.2f} "
                f"on average), because every factor is rounded up; under the node's limit "
                f"{row['worst_ratio_capped']:.2f} at most. `{row['command']}`"
            )
        else:
            extra = [
                [
                    label,
                    f"{f['app_mbps']:.0f}",
                    f"{f['wire_mbps']:.0f}",
                    f"{f['absorbed']:.0%}",
                    _setting(f["setting"]),
                    typed(row["command"]),
                ]
                for label, f in row["policies"].items()
            ]
            text.append(
                "**In-place updates (Fig. 6(d))**: 1 MB random writes over files that fit into the cache. Sending "
                f"less keeps pages dirty for longer, and rewriting them costs no RPC: the best static setting is "
                f"{_setting(row['best_static'])} with {row['best_static_mbps'] / row['default_mbps']:.1f} times the "
                f"default, and {document['policy']} gets {row['policy_mbps'] / row['default_mbps']:.2f} times."
            )
    tables = [Table(heading, stage)] if stage else []
    if bound:
        text.append(
            "**Budgets that bind**: 16 targets share a part of memory; ratios to the default, 2000 MB each, which "
            "keeps no budget. The others start from equal shares."
        )
        tables.append(Table(["budget", "default", "equal", "best split", *compared, "command"], bound))
    if extra:
        tables.append(
            Table(
                ["in-place updates", "application MB/s", "wire MB/s", "absorbed", "setting", "command"], extra
            )
        )
    return Section(title("Cache", document), text, (), tables)
