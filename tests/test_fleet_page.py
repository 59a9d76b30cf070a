"""The tables about a fleet say what the runs say, and a goal that is missed is called missed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from benchmarks import fleet_worth_page
from benchmarks.fleet import FleetCase, drive, lost_s
from benchmarks.fleet_cost import measure
from benchmarks.fleet_page import arms, goals_table, runs_table, write
from benchmarks.fleet_worth_page import chances_table, compared, scale_of, summary

from penstock.knobs import Setting
from penstock.predict.tuned_cases import TunedCase, parse_cases

HOME, OTHER = Setting(pages=1024, flight=8), Setting(pages=64, flight=8)


def row(arm: str, **changed: Any) -> dict[str, Any]:
    said = {
        "clients": 100, "seed": 1, "seconds": 60.0, "workloads": "s_rd_rn_1m", "arm": arm, "price_s": 1.0,
        "worst_price_s": 0.5, "near_s": 30.0, "near_since_proof_s": 10.0, "near_at_end": 1.0, "throughput": 1.3,
        "at_end": 1.5, "worst_client": 1.2, "fairness": 1.0, "oracle": 1.57,
    }  # fmt: skip
    return said | changed


def test_goals_are_means_over_seeds_and_missed_ones_are_called_so() -> None:
    rows = [row("alone", price_s=50.0), row("shared"), row("shared", seed=2, price_s=5.0), row("lying")]
    table = goals_table(list(arms(rows)))
    assert "3.00 s of 50.00 s: 0.060 | **no**" in table
    assert table.count("| yes |") == 4
    late = goals_table(list(arms([*rows, row("shared", seed=3, near_s=None, near_since_proof_s=None)])))
    assert "not within the run | **no**" in late
    lied = goals_table(list(arms([*rows, row("lying", seed=2, worst_price_s=12.5)])))
    assert "12.50 s: 2.08% | **no**" in lied
    assert goals_table(list(arms([row("shared", clients=8)]))).count("\n") == 1


def test_every_case_and_arm_is_one_row() -> None:
    rows = [row("alone"), row("shared"), row("shared", seed=2, near_s=40.0), row("shared", clients=8)]
    table = runs_table(list(arms(rows))).splitlines()
    assert len(table) == 2 + 3
    assert "| 100 | 60 | 2 | shared | 1.00 | 0.50 (0.8%) | 35.0 |" in table[4]


def test_the_page_keeps_what_is_written_by_hand(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "before\n<!-- made: goals -->\nold\n<!-- /made -->\n<!-- made: runs -->\n<!-- /made -->\nafter\n"
    )
    write([row("shared")], page)
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "old" not in text


def test_each_stay_that_cost_something_counts_by_itself() -> None:
    settings = [HOME, HOME, OTHER, OTHER, HOME, OTHER]
    # Half a second each: at the original nothing counts, the first stay lost, the second gained.
    assert lost_s([0.0, 100.0, 50.0, 70.0, 0.0, 200.0], settings, 100.0, HOME) == pytest.approx(0.4)


@pytest.mark.slow
def test_a_run_keeps_rates_and_settings_of_every_client() -> None:
    found = drive(FleetCase(2, 1, 2.0, ("s_rd_rn_1m",)), "shared")
    assert [len(one) for one in found.rates] == [4, 4]
    assert {setting for one in found.settings for setting in one} == {HOME}
    assert found.proved_s is None


def test_a_follower_reads_one_file_and_the_cost_is_that_of_its_turns() -> None:
    found = measure(20, "follower", 90.0)
    assert 0.0 < found.core < 0.5
    assert found.read_per_s < found.digest_bytes
    assert found.operations_per_s < 1.0
    maker = measure(20, "puts the digest together", 90.0)
    assert maker.operations_per_s > found.operations_per_s


def case(at: int, gain_log2: float, flight: float = 0.0) -> TunedCase:
    return TunedCase(f"world-1-{at}/0", "read", (flight, 20.0, -7.0), gain_log2)


def test_what_was_said_is_compared_with_what_came(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = [
        *(case(at, 0.5 + at % 3 / 100) for at in range(20)),
        *(case(at, 0.0, 4.0) for at in range(20, 40)),
    ]
    kept = [*(case(at, 0.51) for at in range(8)), *(case(at, 0.3, 4.0) for at in range(8, 16))]
    said = list(compared(played, kept))
    assert [one.is_within for one in said] == [True] * 8 + [False] * 8
    assert [one.chance > 0.9 for one in said] == [True] * 8 + [False] * 8
    assert all(one.gained for one in said)
    text = summary(said)
    assert "- 50% of the clients gained what 95 % of like cases gained." in text
    assert "Of 2 sites of 8 worlds each, all equally busy, 1 got" in text
    low, high = chances_table(said).splitlines()[2:]
    assert low.startswith("| 0% to 20% | 8 |")
    assert "| 100% |" in high
    page = tmp_path / "page.md"
    page.write_text("<!-- made: worth -->\n<!-- /made -->\n")
    for name in ("SHIPPED", "PLOT"):
        monkeypatch.setattr(fleet_worth_page, name, tmp_path / name)
    fleet_worth_page.write(played, [case(at, 0.25) for at in range(50, 60)], kept, page)
    assert "scaled by 0.50 [0.50, 0.50], which 10 clients of 10 simulated worlds set" in page.read_text()
    shipped = parse_cases((tmp_path / "SHIPPED").read_bytes(), "shipped")
    assert [one.gain_log2 for one in shipped] == pytest.approx(
        [0.49 * one.gain_log2 for one in played], rel=0.02
    )
    assert (tmp_path / "PLOT").read_bytes().startswith(b"\x89PNG")


def test_the_scale_makes_no_gain_larger_and_is_as_sure_as_worlds_agree() -> None:
    played = [case(at, 0.1) for at in range(10)]
    assert scale_of(played, [case(at, 0.4) for at in range(10)]).ratio == 1.0
    assert scale_of(played, [case(at, -0.4) for at in range(10)]).ratio == 0.0
    said = [case(at, 1.0) for at in range(10)]
    found = scale_of(said, [case(at, at / 10.0) for at in range(10)])
    assert found.low is not None and found.high is not None
    assert found.ratio == pytest.approx(0.45)
    assert found.low < found.ratio < found.high
    # One client in which chance made the most of it counts as one that doubled.
    assert scale_of(said, [case(0, 9.0), *(case(at, 0.0) for at in range(1, 10))]).ratio == pytest.approx(0.1)
