"""The papers' claims that need no tuned client: write time, collective writes, kinds of models, overhead.

Each reads the figures that a benchmark left beside its page, so a claim and its page cannot differ. The method judged
was named beforehand: the paper's own (`--as-printed`, published coefficients, one noisy time an element).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.collective_bgq import PAPER as BUCKETS
from benchmarks.evidence.claims import MISSED, REPRODUCED, UNMEASURED
from benchmarks.write_time_study.report import PAPER_SHARE, PUBLISHED, TITLES

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
SOURCES = {
    "write-time": DOCS / "write-time" / "study.json",
    "collective": DOCS / "collective" / "bgq.json",
    "models": DOCS / "learning" / "table-iv.jsonl",
    "overhead": DOCS / "cost" / "overhead.json",
}
COMMANDS = {
    "write-time": "`./run bench write_time_synthetic --write`",
    "collective": "`./run bench collective_bgq --write`",
    "models": "`penstock train compare --data lustre-traces --out docs/explanation/learning/table-iv.jsonl`",
    "overhead": "`./run bench overhead --write`",
}
CALIBRATED = "calibrated"
NEAR = 0.9
UNPUBLISHED = (
    "the paper's measurements of elements and runs, which were not published, or such a machine: "
    "`./run bench collective` there"
)
#: What a section's figures are measured on, where that is not the papers' own kind of data.
MEASURED_ON = {
    "Write time": "Measured on synthetic campaigns: a simulated write path, not the paper's machines.",
    "Collective writes": "Measured on a Blue Gene/Q that was made and calibrated to the paper's counts.",
    "Kinds of models": "Measured on the authors' public traces.",
    "Overhead": "CPU time on this machine.",
}
HEADING = ("id", "claim", "paper", "judged", "ours", "verdict", "what would settle it")


@dataclass(frozen=True, slots=True)
class Figure:
    """What was found, with the extremes over seeds or draws where there are any."""

    value: float
    low: float | None = None
    high: float | None = None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.value:.3f}" if self.value < 0.1 else f"{self.value:.2f}"
        return f"{self.value:.2f} [{self.low:.2f}, {self.high:.2f}]"


@dataclass(frozen=True, slots=True)
class OfflineClaim:
    """One claim: `holds` decides from the figure. `given` says that the paper's figure was calibrated to."""

    id: str
    words: str
    said: str
    judged: str
    figure: Figure | None
    holds: Callable[[Figure], bool]
    source: str
    settle: str
    given: bool = False


def verdict(claim: OfflineClaim) -> tuple[str, str]:
    """What follows from the figure; what would settle it if it stays open."""
    if claim.figure is None:
        return UNMEASURED, COMMANDS[claim.source]
    if claim.given:
        return CALIBRATED, claim.settle
    return (REPRODUCED, "") if claim.holds(claim.figure) else (MISSED, claim.settle)


def row(claim: OfflineClaim) -> list[str]:
    """The claim as a line of the page."""
    ours = "-" if claim.figure is None else str(claim.figure)
    return [claim.id, claim.words, claim.said, claim.judged, ours, *verdict(claim)]


def offline_claims(sources: Mapping[str, Any]) -> dict[str, list[OfflineClaim]]:
    """All of them by the title of their section."""
    return {
        "Write time": list(_write_time(sources.get("write-time"))),
        "Collective writes": list(_collective(sources.get("collective"))),
        "Kinds of models": list(_models(sources.get("models"))),
        "Overhead": list(_overhead(sources.get("overhead"))),
    }


def read_sources() -> dict[str, Any]:
    """The figures that benchmarks left; what is not there was not measured."""
    found: dict[str, Any] = {}
    for name, path in SOURCES.items():
        if path.exists():
            text = path.read_text("utf-8")
            found[name] = (
                [json.loads(line) for line in text.splitlines()]
                if path.suffix == ".jsonl"
                else json.loads(text)
            )
    return found


def _over(values: Sequence[float]) -> Figure:
    return Figure(float(np.mean(values)), min(values), max(values))


def _write_time(study: Any) -> Iterator[OfflineClaim]:
    settle = (
        "measured runs of that machine, which were not published: `penstock plan fit --as-printed` on them"
    )
    for name, title in TITLES.items():
        seeds = None if study is None else study["systems"][name]
        converged = [label for label in PUBLISHED[name] if label != "unconverged"]
        for at, (width, said) in enumerate(
            (("20 %", min(PUBLISHED[name][each][0] for each in converged)),
             ("30 %", min(PUBLISHED[name][each][1] for each in converged)))
        ):  # fmt: skip
            shares = seeds and [
                min(one["table_7"]["printed: lasso"][each][at] for each in converged) for one in seeds
            ]
            yield OfflineClaim(
                f"write-table7-{width[:2]}@{name}",
                f"Table VII, {title}: the worst of three converged sets within {width}, %",
                f"{said:g}",
                "lasso, `--as-printed`",
                _over(shares) if shares else None,
                lambda figure, said=said: figure.value >= NEAR * said,  # type: ignore[misc]
                "write-time",
                settle,
            )
        ratios = seeds and [
            all_scales / chosen
            for each in seeds[0]["figure_4"]["printed"].values()
            for chosen, all_scales in [each["test_mse"]["converged"]]
        ]
        helped = {"cetus": 1.34, "titan": 1.21}[name]
        yield OfflineClaim(
            f"write-fig4@{name}",
            f"Fig. 4, {title}: choosing scales helps all five techniques; the least of base / chosen MSE",
            f">= {helped:g}",
            "`--as-printed`",
            Figure(min(ratios)) if ratios else None,
            lambda figure, helped=helped: figure.value >= NEAR * helped,  # type: ignore[misc]
            "write-time",
            settle,
        )
        sevenths = (study or {}).get("figure_7", {}).get(name)
        gains = sevenths and [one["as_printed"] for one in sevenths]
        yield OfflineClaim(
            f"write-fig7@{name}",
            f"Fig. 7, {title}: samples that adaptation makes faster by the paper's mark, data moved for free, %",
            f"{PAPER_SHARE[name]:g}",
            "published coefficients",
            _over(gains) if gains else None,
            lambda figure, said=PAPER_SHARE[name]: figure.value >= NEAR * said,  # type: ignore[misc]
            "write-time",
            settle,
        )


def _collective(study: Any) -> Iterator[OfflineClaim]:
    settle = UNPUBLISHED
    made = "the machine that was made"
    for at, words in (
        (0, "the default is near-optimal"),
        (2, "1.5x to 2.5x is to be had"),
        (4, "more than 3x is"),
    ):
        found = study and study["fig_7"]["other_draws"][at]
        said = {0: 12, 2: 6, 4: 2}[at]
        yield OfflineClaim(
            f"collective-fig7-{at}", f"Fig. 7: instances of 33 on which {words}", str(said), made,
            Figure(found) if study else None, lambda _: True, "collective", settle, given=True,
        )  # fmt: skip
    columns = (
        ("above_1.5", "more than 1.5x"),
        ("above_1.1", "1.1x to 1.5x"),
        ("worse", "worse than the default"),
    )
    for method in ("hybrid", "ml", "random"):
        for (key, words), said_count in zip(columns, BUCKETS[method], strict=True):
            if said_count is None:
                continue
            three = study and study["fig_8"][method][key]
            yield OfflineClaim(
                f"collective-fig8-{method}-{key.replace('above_', '')}", f"Fig. 8, {method}: instances with {words}",
                str(said_count), f"{method}, on draws it was not calibrated on", Figure(*three) if study else None,
                lambda figure, said=said_count: (figure.low or 0) <= said <= (figure.high or 0),  # type: ignore[misc]
                "collective", settle, given=method == "random" and key == "worse",
            )  # fmt: skip
    yield _ratio_claim(
        study, ("collective-hybrid-over-ml", "Fig. 8: hybrid is better than ml, geometric means", "> 1"),
        lambda s: s["fig_8"]["hybrid"]["geomean"] / s["fig_8"]["ml"]["geomean"], lambda f: f.value > 1.01,
    )  # fmt: skip
    yield _ratio_claim(
        study, ("collective-fig10", "Fig. 10: learning from 33 runs instead of 99, geometric means", "< 1"),
        lambda s: s["fig_10"]["33"]["geomean"] / s["fig_10"]["99"]["geomean"], lambda f: f.value < 0.99,
    )  # fmt: skip
    yield _ratio_claim(
        study, ("collective-fig11-hybrid", "Fig. 11: hybrid with noise of 0.5 over none, geometric means", "1"),
        lambda s: s["fig_11"]["0.5"]["hybrid"]["geomean"] / s["fig_11"]["0"]["hybrid"]["geomean"],
        lambda f: f.value >= 0.98,
    )  # fmt: skip
    yield _ratio_claim(
        study, ("collective-fig11-ml", "Fig. 11: ml with noise of 0.001 over none, geometric means", "< 1"),
        lambda s: s["fig_11"]["0.001"]["ml"]["geomean"] / s["fig_11"]["0"]["ml"]["geomean"], lambda f: f.value < 0.99,
    )  # fmt: skip
    yield _ratio_claim(
        study, ("collective-fig11-robust", "Fig. 11: hybrid over ml with noise of 0.5, geometric means", "> 1"),
        lambda s: s["fig_11"]["0.5"]["hybrid"]["geomean"] / s["fig_11"]["0.5"]["ml"]["geomean"],
        lambda f: f.value > 1.01,
    )  # fmt: skip


def _ratio_claim(
    study: Any,
    names: tuple[str, str, str],
    find: Callable[[Any], float],
    holds: Callable[[Figure], bool],
) -> OfflineClaim:
    id_, words, said = names
    figure = Figure(find(study)) if study else None
    return OfflineClaim(
        id_, words, said, "one noisy time an element", figure, holds, "collective", UNPUBLISHED
    )


def _models(rows: Any) -> Iterator[OfflineClaim]:
    settle = "the authors' own split and parameters, which were not published, in `penstock train compare`"
    for direction in ("read", "write"):
        mine = {row["kind"]: row for row in rows or () if row["direction"] == direction}
        best = mine.get("gbdt")
        said = best["paper_error"] if best else {"read": 0.04, "write": 0.12}[direction]
        yield OfflineClaim(
            f"carat-table4-{direction}", f"Table IV, {direction}: the error of GBDT", f"{said:g}",
            "GBDT, CARAT's features", Figure(best["judgement"]["error"]) if best else None,
            lambda figure, said=said: figure.value <= said / NEAR,  # type: ignore[misc]
            "models", settle,
        )  # fmt: skip
        yield OfflineClaim(
            f"carat-table4-{direction}-order", f"Table IV, {direction}: GBDT's error over the next best kind's",
            "< 1", "every kind, the same budget", _next_best(mine),
            lambda figure: (figure.high or figure.value) < 1, "models", settle,
        )  # fmt: skip


def _next_best(mine: Mapping[str, Any]) -> Figure | None:
    """GBDT's error over the least of the others; the interval is two standard errors of a share on either side."""
    others = [row["judgement"]["error"] for kind, row in mine.items() if kind != "gbdt"]
    if "gbdt" not in mine or not others:
        return None
    found, least = mine["gbdt"]["judgement"], min(others)
    error, off = found["error"], 2 * float(np.sqrt(found["error"] * (1 - found["error"]) / found["samples"]))
    return Figure(error / least, (error - off) / least, (error + off) / least)


def _overhead(found: Any) -> Iterator[OfflineClaim]:
    from benchmarks.overhead import COLUMNS, PAPER_MS

    for direction, said in PAPER_MS.items():
        for column, limit in zip(COLUMNS, said, strict=True):
            value = found and found["rows"]["carat"][direction][column]
            yield OfflineClaim(
                f"carat-table8-{column.replace('_', '-')}-{direction}",
                f"Table VIII, {direction}: {column.replace('_', ' ')}, ms an OSC",
                f"<= {limit:g}", "`carat`, printed model", Figure(value) if found else None,
                lambda figure, limit=limit: figure.value <= limit,  # type: ignore[misc]
                "overhead", "their hardware: `./run bench overhead` there",
            )  # fmt: skip
