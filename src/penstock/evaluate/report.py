"""The whole report: what was aimed at and what came out, then every experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.evaluate import claims
from penstock.evaluate.exhibits import sections
from penstock.report.page import Section, Table, markdown, render

TITLE = "Results: tuning Lustre clients"
LEAD = (
    "Everything here is **simulation**: the simulated cluster `c220g5` is validated against the public traces of "
    "real Lustre clients (docs/fidelity.md); `c6525-25g`, the papers' hardware, is described but not validated. "
    "The shipped model was trained on those real traces and on simulated runs (docs/learning.md).",
    "Figures called the paper's were measured by the CARAT and DIAL authors on real machines; absolute figures of "
    "the two do not compare, ratios do, with care. MB/s is 10^6 bytes per second as applications see them. Every "
    "row names the command that measures it again.",
)
Document = Mapping[str, Any]


def build(documents: Sequence[Document]) -> tuple[str, str]:
    """The page and the same in Markdown."""
    first: dict[str, Document] = {}
    for document in documents:
        first.setdefault(document.get("role", document["set"]), document)
    verdicts = claims.section(first)
    parts = [*_goals(first), *([verdicts] if verdicts is not None else []), *sections(documents)]
    return render(TITLE, LEAD, parts), markdown(TITLE, LEAD, parts)


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
        mixes = [
            row for row in first["interference"]["rows"] if row["workload"] in ("read", "write", "mixed")
        ]
        rows += [
            _goal(f"interference, all-{row['workload']}: vs default", row["vs_default"], 1.0) for row in mixes
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
