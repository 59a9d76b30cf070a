"""The papers' claims: all are listed by fixed ids, verdicts follow from figures, and sentences from tables."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import claims as page
from benchmarks.evidence import claims, offline_claims
from benchmarks.evidence.asked import Extent
from benchmarks.evidence.asks import Ask, Found
from benchmarks.evidence.claim_rows import AUTHORS, CLUSTERS, DIAL, claim_asks
from benchmarks.evidence.offline_claims import Figure, OfflineClaim
from benchmarks.evidence.page_table import PageTable, read_table, tables_of
from benchmarks.evidence.paired_ratios import RatioBook

from penstock.evaluate.seed_ratios import Ratio

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "claims.md"


def test_every_claim_about_tuning_is_listed_though_nothing_was_measured() -> None:
    known = claims.claims(RatioBook({}))
    assert Counter(one.cluster for one in known) == {"c220g5": 18, "c6525-25g": 8}
    assert len({one.id for one in known}) == 26
    assert {claims.verdict(one)[0] for one in known} == {claims.UNMEASURED}


def test_carat_is_judged_by_its_authors_code_and_dial_by_dial() -> None:
    for one in claims.claims(RatioBook({})):
        assert one.policy == (DIAL if one.id.startswith("dial") else AUTHORS)


def test_rows_that_are_asked_for_make_a_verdict() -> None:
    asks = [ask for ask in claim_asks(Extent(60.0, 2, 2), quick=True) if ask.case == "vpic-3d"]
    rates = {"default": 100.0, "carat-authors": 120.0}
    rows = {ask: Found(rates.get(ask.label, 110.0), 100.0, 0.0, 100.0) for ask in asks}
    found = {one.id: claims.verdict(one)[0] for one in claims.claims(RatioBook(rows))}
    assert found["carat-table7-vpic-3d@c220g5"] == claims.REPRODUCED
    assert found["dial-table2-vpic-3d@c220g5"] == claims.REPRODUCED
    assert found["carat-fig7@c220g5"] == claims.UNMEASURED


def test_a_gain_of_one_seed_is_counted_as_undecided() -> None:
    asks = [ask for ask in claim_asks(Extent(20.0, 1, 1), quick=True) if ask.case == "vpic-3d"]
    rows = {ask: Found(120.0 if ask.label == "carat-authors" else 100.0, 100.0, 0.0, 100.0) for ask in asks}
    summary = page.sections(page.tuning_sections(rows), {})[0].tables[0]
    line = dict(zip(summary.heading, summary.rows[0], strict=True))
    assert (line["undecided"], line["reproduced"], line["not measured since"]) == ("1", "1", "16")


def test_claims_about_tuning_stay_when_the_others_are_written_anew() -> None:
    asks = [ask for ask in claim_asks(Extent(60.0, 2, 2), quick=True) if ask.case == "vpic-3d"]
    rows = {ask: Found(120.0 if ask.label == "carat-authors" else 100.0, 100.0, 0.0, 100.0) for ask in asks}
    first = page.sections(page.tuning_sections(rows), {})
    table = PageTable("0123456", {"weir": "m"}, tables_of(first))
    again = page.sections(page.kept_sections(table), {"models": table_iv(0.04, 0.06)})
    assert tables_of(again)["Tuning (c220g5)"] == tables_of(first)["Tuning (c220g5)"]
    assert list(again[0].tables[0].rows[0][1:3]) == ["18", "2"]


def test_page_says_of_every_open_claim_what_would_settle_it() -> None:
    asks = [ask for ask in claim_asks(Extent(60.0, 2, 2), quick=True) if ask.case == "vpic-3d"]
    rows = {ask: Found(100.0, 100.0, 0.0, 100.0) for ask in asks}
    for part in page.sections(page.tuning_sections(rows), offline_claims.read_sources()):
        shown = page.on_page(part)
        for line in shown.tables[0].rows if shown is not None and "verdict" in part.tables[0].heading else ():
            way = next(row[-1] for row in part.tables[0].rows if row[0] == line[0])
            assert shown is not None
            assert way in " ".join([*shown.text, *line])


def test_quick_leaves_out_what_is_slow_to_simulate() -> None:
    def cases(*, quick: bool) -> set[str]:
        return {ask.case for ask in claim_asks(Extent(), quick=quick)}

    assert cases(quick=False) - cases(quick=True) == {"rw_sequence_1", "rw_sequence_2", "rw_sequence_3"}


def test_calibrated_figure_proves_nothing() -> None:
    claim = OfflineClaim("an-id", "", "12", "", Figure(12.0), lambda _: True, "collective", "its runs")
    assert offline_claims.verdict(claim) == (claims.REPRODUCED, "")
    assert offline_claims.verdict(replace(claim, given=True)) == (offline_claims.CALIBRATED, "its runs")
    unknown = replace(claim, figure=None)
    assert offline_claims.verdict(unknown) == (claims.UNMEASURED, offline_claims.COMMANDS["collective"])


def test_offline_claims_are_listed_without_figures() -> None:
    empty: dict[str, Any] = {}
    ids = [one.id for some in offline_claims.offline_claims(empty).values() for one in some]
    assert len(set(ids)) == len(ids) == 34


def table_iv(gbdt: float, next_best: float) -> list[dict[str, Any]]:
    errors = {"gbdt": gbdt, "svm": next_best, "rnn": next_best + 0.1}
    return [
        {
            "kind": kind,
            "direction": "read",
            "paper_error": 0.04,
            "judgement": {"error": error, "samples": 10_000},
        }
        for kind, error in errors.items()
    ]


@pytest.mark.parametrize(("next_best", "verdict"), [(0.06, claims.REPRODUCED), (0.041, claims.MISSED)])
def test_better_by_chance_is_not_better(next_best: float, verdict: str) -> None:
    found = offline_claims.offline_claims({"models": table_iv(0.04, next_best)})["Kinds of models"]
    order = next(one for one in found if one.id == "carat-table4-read-order")
    assert offline_claims.verdict(order)[0] == verdict


def write_time(base: float, share: float) -> dict[str, Any]:
    """A study in which all scales have `base` times the error of the chosen ones, and Fig. 7's share is this."""
    sets = {label: [90.0, 95.0, 10] for label in ("small", "medium", "large", "unconverged")}
    row = {
        "table_7": {"printed: lasso": sets},
        "figure_4": {"printed": {"lasso": {"test_mse": {"converged": [2.0, 2.0 * base]}}}},
    }
    names = ("cetus", "titan")
    seventh = [{"seed": 1, "samples": 100, "as_printed": share, "with_moves": 0.0}]
    return {"systems": {name: [row] for name in names}, "figure_7": dict.fromkeys(names, seventh)}


@pytest.mark.parametrize(
    ("base", "share", "fourth", "seventh"),
    [
        (1.35, 83.0, claims.REPRODUCED, claims.REPRODUCED),
        (1.15, 70.0, claims.MISSED, claims.MISSED),
        (1.22, 75.0, claims.REPRODUCED, claims.REPRODUCED),
    ],
)
def test_write_time_is_judged_by_nine_tenths_of_what_the_paper_counts(
    base: float, share: float, fourth: str, seventh: str
) -> None:
    found = offline_claims.offline_claims({"write-time": write_time(base, share)})["Write time"]
    verdicts = {one.id: offline_claims.verdict(one)[0] for one in found}
    assert verdicts["write-fig4@cetus"] == fourth
    assert verdicts["write-fig7@cetus"] == seventh


def test_figure_seven_is_not_measured_where_the_study_lacks_it() -> None:
    study = write_time(1.0, 80.0)
    del study["figure_7"]
    found = offline_claims.offline_claims({"write-time": study})["Write time"]
    assert {one.id for one in found if one.figure is None} == {"write-fig7@cetus", "write-fig7@titan"}


def test_sentences_of_the_page_agree_with_its_tables() -> None:
    text = PAGE.read_text("utf-8")
    shown = read_table(page.TABLE).tables
    (counts,) = shown["In five minutes"]
    for title, total, *numbers in counts[1:]:
        ((heading, *rows),) = shown[title]
        at = heading.index("verdict")
        assert int(total) == len(rows)
        found = Counter(row[at].strip("*") for row in rows)
        assert dict(zip(counts[0][2:], map(int, numbers), strict=True)) == {
            name: found[name] for name in counts[0][2:]
        }
        said = re.search(rf"^{re.escape(title)}: (\d+) of (\d+) not reproduced: (.*)$", text, re.MULTILINE)
        missed = [row[0] for row in rows if row[at] == claims.MISSED]
        assert (said is not None) == bool(missed)
        if said is not None:
            assert (int(said[1]), int(said[2])) == (len(missed), len(rows))
            ours = heading.index("ours")
            told = [f"`{row[0]}` ({row[ours]}, paper {row[2]})" for row in rows if row[0] in missed]
            assert said[3] == "; ".join(told) + "."


def test_verdicts_about_tuning_follow_from_the_figures_beside_them() -> None:
    """Figures are rounded to a hundredth: within that of its limit a verdict may be either."""
    shown = read_table(page.TABLE).tables
    known = {one.id: one for one in claims.claims(RatioBook({}))}
    for cluster in CLUSTERS:
        ((heading, *rows),) = shown[f"Tuning ({cluster})"]
        for row in rows:
            cells = dict(zip(heading, row, strict=True))
            claim = known[cells["id"]]
            assert (cells["paper"], cells["judged by"]) == (f"{claim.said:.2f}", f"`{claim.policy[0]}`")
            assert cells["verdict"] in possible(claim, cells["ours"])


def possible(claim: claims.Claim, ours: str) -> set[str]:
    """The verdicts that a rounded figure allows."""
    numbers = [float(each) for each in re.findall(r"\d+\.\d\d", ours)]
    if not numbers:
        return {claims.UNMEASURED}
    shifted = [[number + off for number in numbers] for off in (-0.005, 0.0, 0.005)]
    ratios = [
        Ratio(each[0], each[1], each[2], 3) if len(each) == 3 else Ratio(each[0], None, None, 1)
        for each in shifted
    ]
    return {
        claims.verdict(replace(claim, figure=dict.fromkeys((claim.policy,), one).get))[0] for one in ratios
    }


@pytest.mark.parametrize(
    ("ours", "verdicts"),
    [
        ("-", {claims.UNMEASURED}),
        ("**1.30 [1.20, 1.40]**", {claims.REPRODUCED}),
        ("1.30 [0.90, 1.70]", {claims.MISSED}),
        ("1.20 [1.10, 1.30]", {claims.MISSED}),
        ("1.30 (1 seed)", {claims.UNDECIDED}),
        ("0.90 (1 seed)", {claims.MISSED}),
        ("1.30 [1.00, 1.40]", {claims.REPRODUCED, claims.MISSED}),
    ],
)
def test_a_gain_needs_an_interval_above_one(ours: str, verdicts: set[str]) -> None:
    claim = claims.Claim("an-id", "", "c220g5", 1.4, 0.9, AUTHORS, lambda _: None)
    assert possible(claim, ours) == verdicts


def test_page_is_what_its_sources_say() -> None:
    """The offline tables, made again."""
    shown = read_table(page.TABLE).tables
    for title, some in offline_claims.offline_claims(offline_claims.read_sources()).items():
        assert shown[title] == [[list(offline_claims.HEADING), *(offline_claims.row(one) for one in some)]]


def test_summary_counts_what_the_tables_hold() -> None:
    rows: dict[Ask, Found] = {}
    summary, *parts = page.sections(page.tuning_sections(rows), {"models": table_iv(0.04, 0.06)})
    line = next(row for row in summary.tables[0].rows if row[0] == "Kinds of models")
    assert list(line[1:]) == ["4", "2", "0", "0", "2"]
    assert [part.title for part in parts][:2] == ["Tuning (c220g5)", "Tuning (c6525-25g)"]
