"""What a run tried, from runs written down by hand: trials, the best setting held, and the work that was lost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.decide.holding_back import rules_of
from penstock.decision import Decision
from penstock.decision_reasons import Reason
from penstock.evaluate.drivers import Decided
from penstock.evaluate.simulated import Share
from penstock.evaluate.trial import Measured
from penstock.evaluate.tried import Tried, reached_best, tried
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE

HOME = LUSTRE.default
A, B, C = (Setting(pages=64, flight=flight) for flight in (1, 2, 4))
SHARE = Share(1.0, 0.0, 1000, 0)


def run(*stays: tuple[Setting, int, float], ost: int = 0) -> Measured:
    """One client whose target had these settings for so many intervals at such a rate."""
    decided: list[Decided] = []
    work: list[float] = []
    before = HOME
    for setting, intervals, rate in stays:
        after = before.replace(setting)
        if after != before:
            moved = setting.only(*(knob for knob in setting if setting[knob] != before[knob]))
            decided.append(Decided(len(work) * 0.5, 0, ost, before, moved, "test", "a test", {}, None))
        work += [rate] * intervals
        before = after
    return measured(work, decided)


def measured(work: Sequence[float], decided: Sequence[Decided] = ()) -> Measured:
    rates = tuple(work)
    return Measured(
        0.0, 0.0, 0, 0, (), rates, (0.0,) * len(rates), (), targets={(0, 0): SHARE}, decided=tuple(decided),
        work=(rates,),
    )  # fmt: skip


def test_default_tried_nothing_and_lost_nothing() -> None:
    assert tried(measured([10.0] * 40), measured([10.0] * 40)) == Tried(0.0, 0.0, None)


def test_trials_are_counted_up_to_the_first_held_setting_near_the_best() -> None:
    # A look at the original in between and coming back are no trials; 9 s of C are not held.
    mine = run(
        (HOME, 10, 10.0), (A, 3, 4.0), (B, 30, 12.0), (HOME, 2, 10.0), (B, 10, 12.0), (C, 18, 90.0), (A, 30, 12.4)
    )  # fmt: skip
    found = tried(mine, measured([10.0] * 103))
    assert (found.trials, found.to_best) == (3.0, 1.0)
    slower_first = run((HOME, 10, 10.0), (A, 30, 10.0), (B, 30, 12.0))
    assert tried(slower_first, measured([10.0] * 70)).to_best == 2.0
    assert tried(run((HOME, 10, 10.0), (A, 3, 4.0), (HOME, 30, 10.0)), measured([10.0] * 43)).to_best is None


def test_settings_are_judged_by_the_default_at_the_same_time() -> None:
    # The work doubles while B is held: B is no better for that.
    mine = run((HOME, 10, 10.0), (A, 30, 12.0), (B, 30, 24.0))
    assert tried(mine, measured([10.0] * 40 + [20.0] * 30)).to_best == 1.0


@pytest.mark.parametrize(
    ("stays", "lost"),
    [
        # A trial that loses 6 in each of 3 intervals; the original after it does not.
        (((HOME, 10, 10.0), (A, 3, 4.0), (HOME, 30, 10.0)), 18.0),
        # A trial that gains makes up for nothing.
        (((HOME, 10, 10.0), (A, 3, 4.0), (B, 3, 90.0), (HOME, 30, 10.0)), 18.0),
        # A look at the original loses what the held setting would have brought.
        (((HOME, 10, 10.0), (B, 20, 15.0), (HOME, 2, 10.0), (B, 20, 15.0)), 10.0),
        # So does a trial that is better than the original and worse than what was held.
        (((HOME, 10, 10.0), (B, 20, 15.0), (A, 4, 12.0), (B, 20, 15.0)), 12.0),
        # What is held for long and worse than the original is the dearest trial.
        (((HOME, 10, 10.0), (A, 40, 8.0)), 80.0),
        # At the original itself nothing is lost, whatever it brings.
        (((HOME, 10, 10.0), (A, 2, 10.0), (HOME, 30, 9.0)), 0.0),
    ],
)
def test_lost_work_is_a_share_of_the_run(stays: tuple[tuple[Setting, int, float], ...], lost: float) -> None:
    mine = run(*stays)
    done = sum(mine.work[0])
    found = tried(mine, measured([10.0] * len(mine.work[0])))
    assert found.cost == pytest.approx(lost / (done + lost))


def test_best_static_setting_is_reached_within_five_trials_or_not() -> None:
    default, best = measured([10.0] * 60), measured([20.0] * 60)
    assert reached_best(run((HOME, 10, 10.0), (A, 50, 18.5)), default, best) == 1.0
    assert reached_best(run((HOME, 10, 10.0), (A, 50, 17.0)), default, best) == 0.0
    others = [(Setting(pages=128, flight=2**number), 1, 10.0) for number in range(5)]
    assert reached_best(run((HOME, 10, 10.0), *others, (A, 45, 18.5)), default, best) == 0.0
    assert reached_best(run((HOME, 10, 10.0), *others[1:], (A, 46, 18.5)), default, best) == 1.0
    assert reached_best(run((HOME, 60, 10.0)), default, measured([11.0] * 60)) is None


def test_windows_are_held_back_once_a_group_and_only_where_nothing_changes() -> None:
    def decision(unit: str, reason: str, wanted: Setting = HOME) -> Decision:
        target = Target(f"{unit}-{reason}", "fs", "OST0000")
        return Decision("id", 1.0, target, HOME, wanted, reason, "a test", unit=unit)

    made = [
        decision("one", Reason.GUARD_BUDGET),
        decision("one", Reason.GUARD_BUDGET),
        decision("two", Reason.SPARSE),
        decision("three", Reason.GUARD_SWITCHBACK),
        decision("four", Reason.MEASURING),
        decision("five", Reason.CACHED, HOME.replace(flight=1)),
    ]
    assert sorted(rules_of(made)) == ["guard.budget", "sparse"]


def test_a_look_loses_no_more_than_the_held_setting_ever_brought() -> None:
    # While B was held the default happened to do next to nothing; in the look it does a lot.
    mine = run((HOME, 10, 10.0), (B, 20, 15.0), (HOME, 2, 10.0), (B, 20, 15.0))
    default = measured([10.0] * 10 + [0.1] * 20 + [100.0] * 2 + [10.0] * 20)
    assert tried(mine, default).cost == pytest.approx(10.0 / (sum(mine.work[0]) + 10.0))
