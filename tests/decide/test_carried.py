"""What comes over the wire in vain: measured only once it is certain, priced, and bounded."""

from __future__ import annotations

import math

import pytest

from penstock.decide.guard import Guard, GuardLimits, NodeView
from penstock.decide.guard.carried import Carried, InVain
from penstock.decide.guard.limits import CARRIED_WINDOWS, MOST_IN_VAIN, WASTEFUL_S
from penstock.decide.work import dominant
from penstock.decision import Decision
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import readahead
from penstock.target_kinds import LUSTRE_READAHEAD, NFS
from penstock.window import Window

TARGET = Target("m-readahead", "fs", "readahead", "m", LUSTRE_READAHEAD)
HOME, WIDE = Setting(ahead_total=122, ahead_file=30), Setting(ahead_total=256, ahead_file=64)


def window(read: float, carried: float, target: Target = TARGET) -> Window:
    return Window(target, 0.0, 0.5, WIDE, {"read.bytes": read, "read.carried_bytes": carried})


def test_ratio_is_one_until_enough_windows_were_seen() -> None:
    carried = Carried()
    for count in range(1, 3 * CARRIED_WINDOWS):
        carried.take(window(1e6, 3e6))
        assert carried.ratio == (pytest.approx(3.0) if count >= 2 * CARRIED_WINDOWS else 1.0)


def test_what_a_window_asks_for_once_is_not_in_vain() -> None:
    """A larger window carries more until it is full: that is over when it is judged."""
    in_vain = InVain()
    for count in range(100):
        in_vain.original.take(window(25e6, 25e6))
        in_vain.take(WIDE, window(25e6, 70e6 if count < 5 else 25e6))
        assert not in_vain.is_too_much
    assert in_vain.price(WIDE) < 0.02


def test_other_targets_carry_nothing_in_vain() -> None:
    carried = Carried()
    carried.take(window(1e6, 3e6, Target("osc", "fs")))
    assert carried.windows == 0


def test_nfs_mount_is_measured_by_the_same_declaration() -> None:
    mount, carried = Target("server:/export", "nfs", kind=NFS), Carried()
    for _ in range(2 * CARRIED_WINDOWS):
        metrics = {"app.read_bytes": 1e6, "read.bytes": 2e6}
        carried.take(Window(mount, 0.0, 0.5, Setting(ahead=4096), metrics))
    assert carried.ratio == pytest.approx(2.0)


def test_setting_pays_for_what_it_carries_beyond_the_original() -> None:
    in_vain = InVain()
    for _ in range(100):
        in_vain.original.take(window(1e6, 1.5e6))
        in_vain.take(WIDE, window(1e6, 1.65e6))
    assert in_vain.price(WIDE) == pytest.approx(math.log2(1.1), abs=0.01)
    assert in_vain.price(HOME) == 0.0
    assert not in_vain.is_too_much


def test_what_asks_for_as_much_as_a_wasteful_setting_is_not_tried() -> None:
    in_vain = InVain()
    for _ in range(100):
        in_vain.original.take(window(1e6, 1e6))
        in_vain.take(WIDE, window(1e6, 1.1 * MOST_IN_VAIN * 1e6))
    assert in_vain.is_too_much
    in_vain.leave(WIDE, 10.0)
    assert in_vain.left_s(WIDE, 20.0) == WASTEFUL_S - 10.0
    assert in_vain.left_s(WIDE.replace(ahead_total=1024), 20.0) > 0
    assert in_vain.left_s(WIDE.replace(ahead_file=32), 20.0) == 0.0
    assert in_vain.left_s(WIDE, 20.0 + WASTEFUL_S) == 0.0


def test_mount_whose_wire_is_busy_is_busy() -> None:
    """A reader that waits behind what nobody wants reads nothing: that must be seen."""
    stalled = window(0.0, 4e6)
    assert stalled.moved_per_s == 8e6
    assert dominant(window(1.0, 4e6)) == "read"


def test_row_51_readahead_goes_back_to_what_is_proven_not_to_a_worse_original() -> None:
    space = readahead(4 << 30)
    home = space.default
    good, bad = home.replace(ahead_file=64, ahead_total=256), home.replace(ahead_file=128, ahead_total=256)
    mb_per_s = {home: 40.0, good: 160.0, bad: 165.0}
    guard = Guard(GuardLimits(jitter_s=0.0, dwell_s=0.0))
    in_force, number = home, 0

    def step(wish: Setting) -> Decision:
        nonlocal in_force, number
        number += 1
        t_s, moved = number * 0.5, mb_per_s[in_force] * 0.5e6
        metrics = {
            "read.bytes": moved,
            "read.carried_bytes": moved,
            "read.rpcs": moved / 1e6,
            "read.usec": 0.5e6,
            "write.bytes": 0.0,
            "write.rpcs": 0.0,
            "write.usec": 0.0,
        }
        seen = Window(TARGET, t_s - 0.5, t_s, in_force, metrics, home)
        decision = Decision(
            f"d{number}", t_s, TARGET, in_force, wish, "test", "test", {}, 0.9, work="sequential reads"
        )
        (verdict,) = guard.review([seen], [decision], lambda _: space, NodeView())
        in_force = verdict.wanted
        return verdict

    for _ in range(6):
        step(home)
    for _ in range(45):
        step(good)
    assert in_force == good
    mb_per_s[bad] = 30.0
    assert step(bad).changes
    after = [step(in_force) for _ in range(60)]
    (revert,) = (one for one in after if one.reason == "guard.revert")
    assert "which brought 4.0" in revert.sentence
    assert in_force == good
