"""Cases of what tuning brought are data that is checked, and like work finds like cases."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from penstock.errors import DataError
from penstock.predict.like_cases import like_cases
from penstock.predict.tuned_cases import TunedCase, dump_cases, parse_cases, shipped_cases

LOOK = (0.0, 20.0, -7.0)
ONE = TunedCase("w/0", "read", LOOK, 0.5)
FAR = replace(ONE, look=(6.0, 26.0, 1.0), gain_log2=-0.5)


def test_shipped_cases_are_of_every_direction_and_recordings_count_more() -> None:
    cases = shipped_cases()
    assert {case.work for case in cases} == {"read", "write", "both"}
    assert len(cases) > 300
    assert {case.weight for case in cases if case.origin.startswith("world-")} == {1.0}
    assert max(case.weight for case in cases) > 1.0


def test_cases_read_back_as_they_were_written() -> None:
    cases = (ONE, replace(FAR, look=()))
    assert parse_cases(dump_cases(cases, "test"), "cases") == cases


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2}, {"schema": "other"}, {"cases": []}, {"cases": [{"origin": "x"}]}, {"extra": 1},
        {"cases": [{"origin": "x", "work": "read", "look": [1e9], "gain_log2": 0, "weight": 1}]},
    ],
)  # fmt: skip
def test_other_files_are_refused(wrong: dict[str, object]) -> None:
    right = json.loads(dump_cases([ONE], "test"))
    for raw in (json.dumps(right | wrong).encode(), b"\x00", b"[" * 100_000, b" " * (5 << 20)):
        with pytest.raises(DataError, match=r"^cases: "):
            parse_cases(raw, "cases")


def test_like_cases_count_and_others_hardly_do() -> None:
    found = like_cases("read", LOOK, [ONE, FAR])
    assert found is not None
    assert found.weights[0] > 0.95
    assert found.mean_log2 == pytest.approx(0.5, abs=0.05)
    assert like_cases("write", LOOK, [ONE, FAR]) is None


def test_what_is_not_known_makes_cases_less_alike_but_no_case_unusable() -> None:
    found = like_cases("read", LOOK, [ONE, replace(ONE, look=())])
    assert found is not None
    assert found.weights[0] > found.weights[1] > 0.0
    assert found.weights.sum() == pytest.approx(1.0)
    blind = like_cases("read", (), [ONE, FAR])
    assert blind is not None
    assert blind.weights[0] == pytest.approx(blind.weights[1])


def test_quantiles_and_draws_are_those_of_the_weighted_gains() -> None:
    many = [replace(ONE, gain_log2=at / 100) for at in range(101)]
    found = like_cases("read", LOOK, many)
    assert found is not None
    assert (found.quantile_log2(0.025), found.quantile_log2(0.975)) == pytest.approx((0.02, 0.98), abs=0.011)
    assert found.count == pytest.approx(101.0)
    assert found.chance(0.5) == pytest.approx(51 / 101)
    assert found.draw(2000, np.random.default_rng(1)).mean() == pytest.approx(found.mean_log2, abs=0.03)
