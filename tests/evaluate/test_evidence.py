"""Rows of the results, and what may be claimed of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import results
from benchmarks.evidence import asked, chapters, claims, measuring, replays
from benchmarks.evidence.asks import Ask, Found
from benchmarks.evidence.claim_rows import AUTHORS
from benchmarks.evidence.paired_ratios import RatioBook, app

from penstock.evaluate import budgets
from penstock.evaluate.lab import Lab
from penstock.evaluate.seed_ratios import over_seeds
from penstock.evaluate.seen import seen
from penstock.evaluate.store import Store
from penstock.report.page import markdown
from penstock.train.intervals import read_workloads

ASK = Ask("static", "c220g5", "s_rd_rn_1m", "default", 2.0, 0)
FOUND = Found(100.0, 90.0, 100.0, 0.0)


def carat(ask: Ask, model: str = "own") -> Ask:
    return replace(ask, label="carat", model=model, guard="off")


def test_measuring_asks_the_simulator_once(tmp_path: Path) -> None:
    asks = [ASK, replace(ASK, label="climb", guard="off")]
    first = measuring.Evidence(Lab(Store(tmp_path), workers=1), tmp_path, print).measure(asks)
    assert first[ASK].app > 100
    assert 0 < first[ASK].wire < 1.1 * first[ASK].app
    stages: list[str] = []
    lab = Lab(Store(tmp_path), 1, lambda stage, done, total: stages.append(stage))
    assert measuring.Evidence(lab, tmp_path, print).measure(asks) == first
    assert not stages


def test_shipped_model_is_asked_though_an_own_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "own.json"
    monkeypatch.setattr(
        measuring, "own_models", lambda world, policies, *_: dict.fromkeys(policies, str(own))
    )
    asks = [carat(ASK), carat(ASK, model="shipped")]
    evidence = measuring.Evidence(Lab(Store(None), workers=1), tmp_path, print)
    assert [trial.course.model for trial in evidence.trials(asks).values()] == [str(own), None]


def test_sequence_keeps_the_rate_of_every_phase(tmp_path: Path) -> None:
    ask = Ask("dynamic", "c220g5", "read", "default", 1.0, 0)
    found = measuring.Evidence(Lab(Store(None), workers=1), tmp_path, print).measure([ask])
    assert len(found[ask].phases) == 4
    assert min(found[ask].phases) > 0


def test_no_gain_is_claimed_whose_interval_contains_one() -> None:
    clear, unclear = over_seeds([1.2, 1.21, 1.19]), over_seeds([1.5, 0.9, 1.4])
    assert clear.gains
    assert not unclear.gains
    assert unclear.value > 1.2
    assert not over_seeds([2.0]).gains
    assert chapters.shown(clear).startswith("**")
    assert not chapters.shown(unclear).startswith("**")


def rows(cases: dict[str, list[tuple[float, float]]], *, write: float = 0.0) -> dict[Ask, Found]:
    """Default and carat, by case: pairs of ratios, of applications and of the wire, one a seed."""
    found = {}
    for case, pairs in cases.items():
        for seed, (mine, carried) in enumerate(pairs):
            ask = replace(ASK, case=case, seed=seed)
            found[ask] = Found(100.0, 100.0, 0.0, write)
            found[carat(ask)] = Found(100.0 * mine, 100.0 * carried, 0.0, write)
    return found


def test_rewriting_in_memory_is_a_group_of_its_own() -> None:
    found = rows({"f_wr_rn_1m": [(5.0, 0.99)] * 2, "s_wr_rn_8k": [(1.4, 1.4)] * 2}, write=100.0)
    book = RatioBook(found)
    counted, apart = chapters.groups(book, "c220g5")
    assert (counted, apart) == (["s_wr_rn_8k"], ["f_wr_rn_1m"])
    whole = book.overall("static", "c220g5", counted, asked.PRINTED)
    assert whole is not None
    assert whole.value == pytest.approx(1.4)
    (section,) = results.sections(
        rows({"f_wr_rn_1m": [(5.0, 0.99)] * 2, "s_wr_rn_8k": [(1.4, 1.4)] * 2}, write=100.0)
    )
    (line,) = section.tables[0].rows
    cells = dict(zip(section.tables[0].heading, line, strict=True))
    assert (cells["geometric mean"], cells["rewriting in memory"]) == (
        "**1.40 [1.40, 1.40]**",
        "**5.00 [5.00, 5.00]**",
    )


def claim_of(said: float, values: list[float] | None, ceiling: float | None = 2.0) -> claims.Claim:
    """A claim that is near from 90 % on, of which the policy named for it got these ratios, one a seed."""
    figures = {} if values is None else {AUTHORS: over_seeds(values)}
    return claims.Claim("an-id", "a claim", "c220g5", said, 0.9, AUTHORS, figures.get, ceiling)


def test_cause_names_the_ceiling_before_anything_else() -> None:
    assert claims.cause(claim_of(2.0, [1.0] * 3, 1.1)).startswith("ceiling")
    assert claims.cause(claim_of(1.1, [1.0] * 3, 1.1)).startswith("label: only 1.15")
    taught = replace(claim_of(2.0, [1.0] * 3, 2.2), carried=0.99)
    assert "the wire carries 0.99" in claims.cause(taught)
    assert claims.cause(claim_of(2.0, [1.0] * 3, 2.2)).startswith("the algorithm")
    assert claims.cause(claim_of(2.0, [1.0] * 3, None)) == "no ceiling measured"


def test_verdict_is_that_of_the_policy_named_for_the_claim() -> None:
    assert claims.verdict(claim_of(2.0, [1.9] * 3)) == (claims.REPRODUCED, "")
    assert claims.verdict(claim_of(2.0, [1.0] * 3))[0] == claims.MISSED
    assert claims.verdict(claim_of(2.0, None)) == (claims.UNMEASURED, claims.MEASURE)
    both = {AUTHORS: over_seeds([1.0] * 3), asked.PRINTED: over_seeds([1.9] * 3)}
    assert claims.verdict(replace(claim_of(2.0, [1.0]), figure=both.get))[0] == claims.MISSED


def test_claimed_gain_is_not_reproduced_by_an_interval_that_contains_one() -> None:
    def reached(said: float, values: list[float]) -> bool:
        return claim_of(said, values).reached_by(AUTHORS)

    assert reached(1.05, [1.04, 1.05, 1.04])
    assert not reached(1.05, [1.0, 1.2, 0.9])
    assert not reached(1.05, [1.04])
    assert reached(0.9, [0.95, 0.96])


def test_seen_differs_from_policy_to_policy() -> None:
    assert seen(("carat", "own", "off"), "c6525-25g", "s_rd_rn_1m") == "yes"
    assert seen(("carat", "own", "off"), "c6525-25g", "f_rd_rn_1m") == "no"
    assert seen(("carat", "shipped", "off"), "c6525-25g", "s_rd_rn_1m") == "elsewhere"
    assert seen(("weir", "shipped", "on"), "c220g5", "f_rd_rn_1m") == "like it"
    assert seen(("climb", "", "off"), "c220g5", "s_rd_rn_1m") == "no"


def test_every_row_is_asked_for_once_and_can_be_made() -> None:
    found = asked.asked(asked.Extent())
    assert len(found) == len(set(found))
    printed = [ask for ask in found if ask.runs == asked.PRINTED and ask.case == "s_rd_rn_1m"]
    assert [ask.seed for ask in printed] == [0, 1]
    assert {ask.experiment for ask in found} == {"static", "budgets"}


def test_split_uses_the_budget_and_keeps_its_bounds() -> None:
    limits = budgets.split([1.0, 1.0, 0.0, 4.0], 3000)
    assert sum(limits) in range(2996, 3001)
    assert limits[2] == budgets.LEAST_MIB
    assert max(budgets.split([1.0, 1000.0], 9000)) == budgets.MOST_MIB


def test_stage_two_inside_the_budget_serves_uneven_demand_better_than_equal_shares(tmp_path: Path) -> None:
    ask = Ask("budgets", "c220g5", "one-heavy-1%", "equal", 18.0, 0)
    fitted = replace(ask, label="cache-fitted", guard="off")
    found = measuring.Evidence(Lab(Store(None), workers=1), tmp_path, print).measure([ask, fitted])
    assert app(found[fitted]) > 1.2 * app(found[ask])


def test_replayed_row_says_what_steps_were_worth_and_where_it_stayed() -> None:
    traces = Path(__file__).parents[1] / "fixtures" / "lustre-latency"
    (case, *_) = [each.name for each in read_workloads(traces)]
    ask = Ask("replay", "lustre-traces", case, "climb", 20, 1, guard="off")
    usual, best, mine = (
        replays.replayed(replace(ask, label=label), traces, None)
        for label in ("default", "best-static", "climb")
    )
    assert usual.setting == (1024, 8)
    assert usual.app <= best.app
    assert mine.app <= best.app
    assert mine.setting is not None


def test_page_leaves_budgets_case_by_case_to_the_table() -> None:
    found = {}
    for case in (name.removeprefix("budget-") for name in budgets.NAMES):
        for label, rate in (
            ("default", 100.0),
            ("equal", 50.0),
            ("best-split", 97.0),
            ("cache-fitted", 96.0),
        ):
            for seed in range(2):
                ask = Ask("budgets", "c220g5", case, label, 60.0, seed, "", "off" if "cache" in label else "")
                found[ask] = Found(rate, rate, 0.0, rate)
                found[replace(ask, label="cache-printed", guard="off")] = Found(98.0, 98.0, 0.0, 98.0)
    (section,) = results.sections(found)
    assert len(section.tables[0].rows) == len(budgets.NAMES)
    shown = results.on_page(section)
    assert shown is not None
    page = markdown(results.TITLE, results.LEAD, [shown])
    assert (
        "stage 2 gets 1.92 times equal shares over all cases; the best split found by search gets 1.94"
        in page
    )
    assert "the worst is 0.96 of it" in page
    assert "|" not in page
