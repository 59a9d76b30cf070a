"""Sentences of the pages on write time, collective writes and learning give the figures that lie beside the pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.evidence import claims, offline_claims
from benchmarks.write_time_study.report import PAPER_SHARE

DOCS = Path(__file__).parents[2] / "docs" / "explanation"
MARKS = {"cetus": 1.1, "titan": 1.15}


def prose(page: str) -> str:
    """A page as one line."""
    return " ".join((DOCS / page).read_text("utf-8").split())


@pytest.fixture(scope="module")
def study() -> Any:
    return json.loads((DOCS / "write-time" / "study.json").read_text("utf-8"))


@pytest.mark.parametrize("system", PAPER_SHARE)
def test_write_time_says_how_many_samples_gain_as_in_the_paper(study: Any, system: str) -> None:
    shares = [one["as_printed"] for one in study["figure_7"][system]]
    assert f"{np.mean(shares):.1f} % [{min(shares):.1f}, {max(shares):.1f}]" in prose("write-time.md")
    assert f"({PAPER_SHARE[system]:g}" in prose("write-time.md")


def test_write_time_says_how_accurate_the_papers_lassos_are(study: Any) -> None:
    shares = [
        one["table_7"]["printed: lasso"][label][0]
        for system in study["systems"].values()
        for one in system
        for label in ("small", "medium", "large")
    ]
    said = f"{min(shares):.0f} to {max(shares):.0f} % within 20 % on the converged sets"
    assert said in prose("write-time.md")


def test_write_time_says_where_choosing_scales_does_not_help(study: Any) -> None:
    ratios = [
        each["test_mse"]["converged"][1] / each["test_mse"]["converged"][0]
        for system in study["systems"].values()
        for each in system[0]["figure_4"]["printed"].values()
    ]
    assert f"(least ratio {min(ratios):.2f} as printed".replace("0.", ".", 1) in prose("write-time.md")


def test_write_time_says_what_advice_truly_gains(study: Any) -> None:
    shares, slower = [], []
    for name, system in study["systems"].items():
        true = np.concatenate([one["adaptation"]["published coefficients"]["true"] for one in system])
        shares.append(f"{100 * np.mean(true >= MARKS[name]):.0f} % ({name.capitalize()})")
        slower.append(100 * np.mean(true < 0.98))
    assert " and ".join(shares) in prose("write-time.md")
    assert f"{min(slower):.0f} to {max(slower):.0f} % become slower" in prose("write-time.md")


def test_collective_says_what_the_claims_say() -> None:
    found = offline_claims.offline_claims(offline_claims.read_sources())["Collective writes"]
    verdicts = {one.id.removeprefix("collective-"): offline_claims.verdict(one)[0] for one in found}
    text = prose("collective.md")
    assert "Hybrid's large gains agree with the paper, and so do ml's and its losses." in text
    assert {verdicts[f"fig8-{each}"] for each in ("hybrid-1.5", "ml-1.5", "ml-worse")} == {claims.REPRODUCED}
    assert "That hybrid beats ml does not" in text
    assert verdicts["hybrid-over-ml"] == claims.MISSED


def test_learning_says_the_errors_of_table_iv() -> None:
    lines = (DOCS / "learning" / "table-iv.jsonl").read_text("utf-8").splitlines()
    errors = {(row["kind"], row["direction"]): row["judgement"]["error"] for row in map(json.loads, lines)}
    names = {"svm": "SVM", "fc-nn": "FC-NN", "rnn": "RNN", "tcn": "TCN", "gbdt": "GBDT"}
    reads = [f"{errors[kind, 'read']:.3f} ({name}".replace("0.", ".", 1) for kind, name in names.items()]
    text = prose("learning.md")
    assert f"The errors for reads are {'), '.join(reads[:-1])}) and {reads[-1]};" in text
    writes = [errors[kind, "write"] for kind in names]
    assert f"For writes they are {min(writes):.3f} to {max(writes):.3f} (paper".replace("0.", ".") in text
