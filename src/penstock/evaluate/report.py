"""The report: goals and results first, then every experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.evaluate import claims
from penstock.evaluate.experiments import EXPERIMENTS
from penstock.report.page import Figure, Section, Table, markdown, render

TITLE = "Results: tuning Lustre clients"
LEAD = (
    "Everything here is **simulation**: the simulated cluster `c220g5` is validated against the public traces of "
    "real Lustre clients (docs/explanation/fidelity.md); `c6525-25g`, the papers' hardware, is described but not "
    "validated. The shipped model was trained on those real traces and on simulated runs "
    "(docs/explanation/learning.md).",
    "Figures called the paper's were measured by the CARAT and DIAL authors on real machines; absolute figures of "
    "the two do not compare, ratios do, with care. MB/s is 10^6 bytes per second as applications see them. Every "
    "row names the command that measures it again.",
)
Document = Mapping[str, Any]


def build(documents: Sequence[Document]) -> tuple[str, str]:
    """The report as HTML and as Markdown. With only some rows of an experiment it gives no verdict on the goals."""
    first: dict[str, Document] = {}
    for document in documents:
        if document.get("only"):
            continue
        first.setdefault(document.get("role", document["set"]), document)
    answer, (picture, shown) = _answer(documents[0]), _first_picture(sections(documents))
    parts = [*_goals(first), *_claims(first), *shown]
    page = render(TITLE, LEAD, parts, answer, picture)
    return page, markdown(TITLE, LEAD, parts, answer)


def _answer(document: Document) -> str:
    """The result of the first experiment in one sentence. Without a summary it is only a description."""
    mean, worst = document.get("geomean_vs_default"), document.get("worst_vs_default")
    if mean is None:
        return f"{document.get('policy', 'Policies')} on the simulated cluster {document.get('cluster', '')}"
    low = f"; the worst gets {worst:.2f}" if worst is not None else ""
    rows = len(document.get("lists", document["rows"]))
    count = f"{rows} simulated cases" if rows != 1 else "one simulated case"
    return f"**{document['policy']}** gets {mean:.2f} times what the default gets, over {count}{low}."


def _first_picture(parts: Sequence[Section]) -> tuple[Figure | None, list[Section]]:
    """The first large drawing, for the top of the page, and the sections without it."""
    for number, part in enumerate(parts):
        large = next((figure for figure in part.figures if not figure.small), None)
        if large is not None:
            rest = [figure for figure in part.figures if figure is not large]
            return large, [*parts[:number], replace(part, figures=rest), *parts[number + 1 :]]
    return None, list(parts)


def sections(documents: Sequence[Document]) -> list[Section]:
    """One section per document, in order."""
    return [EXPERIMENTS[document["set"]].section(document) for document in documents]


def _claims(first: Mapping[str, Document]) -> list[Section]:
    """Every claim that the given experiments can check. `carat` must be among the policies."""
    rows = [
        row
        for name, experiment in EXPERIMENTS.items()
        if name in first and claims.CARAT in first[name].get("policies", {})
        for row in experiment.claims(first[name])
    ]
    return [claims.section(next(iter(first.values()))["policy"], rows)] if rows else []


def write(documents: Sequence[Document], out: Path) -> None:
    """report.html, report.md and results.json in a directory, made where it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    page, text = build(documents)
    (out / "report.html").write_text(page, encoding="utf-8")
    (out / "report.md").write_text(text, encoding="utf-8")
    (out / "results.json").write_text(json.dumps(list(documents), allow_nan=False) + "\n", encoding="utf-8")


def _goals(first: Mapping[str, Document]) -> list[Section]:
    rows: list[list[str]] = []
    if "static" in first:
        doc = first["static"]
        rows += [
            _goal("static: head-room captured", doc["headroom_captured"], 0.7),
            _goal("static: geometric mean vs best static", doc["geomean_vs_best_static"], 0.95),
            _goal("static: worst workload vs default", doc["worst_vs_default"], 0.9),
        ]
    if "dynamic" in first:
        rows.append(
            _goal("dynamic: vs best single static setting", first["dynamic"]["geomean_vs_best_single"], 1.0)
        )
    if "interference" in first:
        rows += [
            _goal(f"interference, {one['list']}: vs default", one["vs_default"], 1.0)
            for one in first["interference"]["lists"]
        ]
    rows += [
        _goal(f"{name}: geometric mean vs default over carat's", _against_carat(doc), 1.0)
        for name, doc in first.items()
        if name != "baselines" and _against_carat(doc) is not None
    ]
    if not rows:
        return []
    return [Section("Goals", (), (), [Table(["goal", "aimed at", "measured", "met"], rows)])]


def _against_carat(document: Document) -> float | None:
    policies = document.get("policies", {})
    if "carat" not in policies or document["policy"] == "carat":
        return None
    mine, theirs = (policies[name]["geomean_vs_default"] for name in (document["policy"], "carat"))
    return float(mine / theirs)


def _goal(name: str, value: float | None, least: float) -> list[str]:
    if value is None:
        return [name, f">= {least:g}", "—", "nothing to capture"]
    return [name, f">= {least:g}", f"{value:.3f}", "yes" if value >= least else "**no**"]
