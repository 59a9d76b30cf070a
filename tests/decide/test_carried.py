"""What comes over the wire in vain: measured only once it is certain, priced, and bounded."""

from __future__ import annotations

import math

import pytest

from penstock.decide.guard.carried import Carried, InVain
from penstock.decide.guard.limits import CARRIED_WINDOWS, MOST_IN_VAIN, WASTEFUL_S
from penstock.decide.work import dominant
from penstock.knobs import Setting
from penstock.snapshot import Target
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
