"""The baseline's table: every section, every policy, against the default; sections not measured are named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks import baseline
from benchmarks.evidence.asked import Extent
from benchmarks.evidence.asks import DEFAULT, Ask, Found
from benchmarks.evidence.baseline_rows import POLICIES, SECTIONS, WORLDS, asks, ratios, section_of, summary
from benchmarks.evidence.claim_rows import claim_asks
from benchmarks.evidence.measuring import Evidence
from benchmarks.evidence.page_table import read_table

from penstock.evaluate.lab import Lab
from penstock.evaluate.store import Store

MARKS = {"weir": "m"}


def found_of(ask: Ask) -> Found:
    """Every policy brings 3 times the writes, half the reads, and phases of its own."""
    if ask.label == DEFAULT:
        return Found(10.0, 10.0, 10.0, 10.0, (10.0, 10.0, 10.0, 10.0))
    return Found(20.0, 20.0, 5.0, 30.0, (10.0, 20.0, 30.0, 40.0))


def test_rows_are_those_of_the_claims() -> None:
    whole = set(claim_asks(Extent(baseline.SECONDS), quick=False))
    judged = ("default", "weir", "carat", "carat-authors")
    for section in ("static@c220g5", "static@c6525-25g", "lists@c6525-25g", "sequences@c220g5"):
        mine = {ask for ask in asks(section, baseline.SECONDS, quick=False) if ask.label in judged}
        assert mine
        assert mine <= whole


def test_sequences_count_by_phase_and_table_v_by_process() -> None:
    phases = ratios({ask: found_of(ask) for ask in asks("sequences@c220g5", 60.0, quick=False)})
    assert len(phases) == 48
    assert phases["read_sequence_0, 2: s_rd_sq_8k"] == dict.fromkeys(POLICIES, 2.0)
    pair = ratios({ask: found_of(ask) for ask in asks("table-v@c220g5", 60.0, quick=False)})
    assert pair["table-v-one-server, writer"] == dict.fromkeys(POLICIES, 3.0)
    assert pair["table-v-one-server, reader"] == dict.fromkeys(POLICIES, 0.5)


def test_summary_has_means_and_worst_cases_and_names_what_was_not_measured() -> None:
    lines = {"a": dict.fromkeys(POLICIES, 2.0), "b": dict.fromkeys(POLICIES, 0.5)}
    part = summary({WORLDS: section_of(WORLDS, lines)})
    rows = {row[0]: list(row[1:]) for row in part.tables[0].rows}
    assert tuple(rows) == SECTIONS
    assert rows[WORLDS] == ["2", *["1.00 (0.50)"] * 5]
    assert rows["static@c220g5"] == ["not measured", *"-----"]
    assert f"1 of {len(SECTIONS)}" in part.text[0]
    assert WORLDS not in re.findall(r"`([^`]+)`", part.text[0])


def test_table_keeps_other_sections_while_policies_behave_as_before_and_the_page_shows_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baseline, "TABLE", tmp_path / "baseline" / "figures.json")

    def write(name: str, value: float, marks: dict[str, str]) -> set[str]:
        found = {name: section_of(name, {"a": dict.fromkeys(POLICIES, value)})}
        baseline.write(found, marks, "0123456")
        return set(read_table(baseline.TABLE).tables)

    assert write(WORLDS, 0.5, MARKS) == {"Summary", WORLDS}
    assert write("static@c220g5", 3.0, MARKS) == {"Summary", WORLDS, "static@c220g5"}
    page = (tmp_path / "baseline.md").read_text()
    assert "| a | 0.50 |" in page
    assert "| a | 3.00 |" not in page
    assert "| static@c220g5 | 1 | 3.00 (3.00) |" in page
    assert write(WORLDS, 4.0, {"weir": "another"}) == {"Summary", WORLDS}


def test_worlds_are_measured_without_a_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "POLICIES", {"climb": ("climb", "", "")})
    monkeypatch.setattr(baseline, "QUICK_DRAWS", 1)
    monkeypatch.setattr(baseline, "QUICK_S", 2.0)
    lab = Lab(Store(tmp_path), 1)
    (row,) = baseline.measured(lab, Evidence(lab, tmp_path, print), WORLDS, quick=True).values()
    assert set(row) == {"climb"}
    assert row["climb"] > 0


def test_committed_page_says_which_sections_are_measured() -> None:
    table = read_table(baseline.TABLE)
    text = baseline.TABLE.parent.with_suffix(".md").read_text("utf-8")
    missing = [name for name in SECTIONS if name not in table.tables]
    (said,) = re.findall(r"^Measured: .*$", text, re.MULTILINE)
    assert re.findall(r"`([^`]+)`", said) == missing
    assert baseline.page_of(baseline.kept(table.marks))[0].text == (said,)
