"""The report: the answer and its picture first, then every experiment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from penstock.evaluate.experiments import EXPERIMENTS
from penstock.report.page import Figure, Section, markdown, render

TITLE = "Results: tuning Lustre clients"
LEAD = (
    "Everything here is **simulation**: the simulated cluster `c220g5` is validated against the public traces of "
    "real Lustre clients (docs/explanation/fidelity.md); `c6525-25g`, the papers' hardware, is described but not "
    "validated. The shipped model was trained on those real traces and on simulated runs "
    "(docs/explanation/learning.md).",
    "Figures called the paper's were measured by the CARAT and DIAL authors on real machines; absolute figures of "
    "the two do not compare, ratios do, with care. Verdicts on the papers' claims are in docs/explanation/claims.md, "
    "those on the shipped policy's goals in docs/explanation/goals.md. MB/s is 10^6 bytes per second as applications "
    "see them. Every row names the command that measures it again.",
)
Document = Mapping[str, Any]


def build(documents: Sequence[Document]) -> tuple[str, str]:
    """The report as HTML and as Markdown."""
    answer, (picture, shown) = _answer(documents[0]), _first_picture(sections(documents))
    return render(TITLE, LEAD, shown, answer, picture), markdown(TITLE, LEAD, shown, answer)


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


def write(documents: Sequence[Document], out: Path) -> None:
    """report.html, report.md and results.json in a directory, made where it is missing."""
    out.mkdir(parents=True, exist_ok=True)
    page, text = build(documents)
    (out / "report.html").write_text(page, encoding="utf-8")
    (out / "report.md").write_text(text, encoding="utf-8")
    (out / "results.json").write_text(json.dumps(list(documents), allow_nan=False) + "\n", encoding="utf-8")
