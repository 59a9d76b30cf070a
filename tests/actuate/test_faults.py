"""The rows of the fault table that concern setting and undoing, each with real files and real errno."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.rigs.served import Served, served, why_not

from penstock.actuate.journal import FILE, PREVIOUS, Journal, JournalOwner, owner_of
from penstock.actuate.knob_errors import JournalCorruptError, TargetGoneError
from penstock.actuate.lustre import LustreActuator
from penstock.actuate.recovery import restore_all, verify_all
from penstock.actuate.system import System
from penstock.emulate.mount import unmount
from penstock.errors import AccessError, KnobError, UsageError
from penstock.knobs import Setting
from penstock.snapshot import Target

ORIGINAL = Setting(pages=1024, flight=8, dirty=490)
TUNED = Setting(pages=256, flight=16, dirty=64)
Make = Callable[..., LustreActuator]


def write(client: Served, file: str, text: str) -> None:
    for place in ("sys", "proc"):
        path = client.root / place / "fs/lustre/osc" / client.osc() / file
        if path.exists():
            path.write_text(text)


def test_row_02_restart_after_a_kill_keeps_the_originals(client: Served, make: Make) -> None:
    killed = make(client.root)
    target = killed.targets()[0]
    assert killed.set(target, TUNED).exact
    restarted = make(client.root)
    assert restarted.set(target, Setting(flight=32)).exact
    assert restarted.restore(target).actual == ORIGINAL
    assert restarted.restore(target).actual == ORIGINAL


def test_row_03_reboot_discards_the_journal(client: Served, make: Make, tmp_path: Path) -> None:
    actuator = make(client.root)
    actuator.set(actuator.targets()[0], TUNED)
    rebooted = Journal(tmp_path / "state", JournalOwner(owner_of(client.root).root, "another boot"))
    assert rebooted.entries == {}
    assert "rebooted" in (rebooted.note or "")


def test_row_04_a_torn_journal_is_replaced_by_its_previous_copy(
    client: Served, make: Make, tmp_path: Path
) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, TUNED)
    journal = tmp_path / "state" / FILE
    journal.write_bytes(journal.read_bytes()[:-40])
    outcome = restore_all(client.root, tmp_path / "state")
    assert "previous copy" in outcome.notes[0]
    assert actuator.get(target) == ORIGINAL


def test_row_05_a_corrupt_journal_stops_everything_and_says_so(
    client: Served, make: Make, tmp_path: Path
) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, TUNED)
    (tmp_path / "state" / FILE).write_text("garbage")
    assert make(client.root).set(target, Setting(flight=99)).error == (
        f"observing only: {tmp_path / 'state' / FILE}: not a journal; the previous copy is used"
    )
    (tmp_path / "state" / PREVIOUS).write_text("garbage")
    with pytest.raises(JournalCorruptError):
        make(client.root)
    with pytest.raises(JournalCorruptError, match="nothing is set until it is examined"):
        restore_all(client.root, tmp_path / "state")
    assert actuator.get(target) == TUNED


@pytest.mark.parametrize("reason", ["full", "read-only"])
def test_row_06_without_a_journal_no_knob_moves(client: Served, tmp_path: Path, reason: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root to mount a small file system")
    state = tmp_path / "small"
    state.mkdir()
    option = "size=4k" if reason == "full" else "ro"
    subprocess.run(["mount", "-t", "tmpfs", "-o", option, "none", str(state)], check=True)
    try:
        if reason == "full":
            (state / "filler").write_bytes(b"x" * 4096)
        actuator = LustreActuator(client.root, Journal(state, owner_of(client.root)))
        receipt = actuator.set(actuator.targets()[0], TUNED)
        assert "without a journal no knob is changed" in (receipt.error or "")
        assert receipt.actual == actuator.get(actuator.targets()[0]) == ORIGINAL
    finally:
        subprocess.run(["umount", str(state)], check=True)


@pytest.mark.parametrize("name", ["EACCES", "EPERM"])
def test_row_10_a_refused_knob_is_only_observed_with_one_log_line(
    client: Served, make: Make, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    client.control(f"fail OST0000 max_dirty_mb write {name}")
    with caplog.at_level(logging.WARNING):
        for flight in (16, 32, 64):
            receipt = actuator.set(target, Setting(flight=flight, dirty=64))
    assert len(caplog.records) == 1
    assert "max_dirty_mb" in caplog.text
    assert "only root sets knobs" in (receipt.error or "")
    assert receipt.actual["flight"] == 64
    assert actuator.space(target)["dirty"].values == (490,)


def test_row_11_a_sandboxed_unit_is_diagnosed(client: Served, make: Make) -> None:
    actuator = make(client.root)
    client.control("fail OST0000 max_rpcs_in_flight write EROFS")
    receipt = actuator.set(actuator.targets()[0], Setting(flight=16))
    assert "ProtectKernelTunables=yes" in (receipt.error or "")


def test_row_12_erange_teaches_the_bound_and_is_not_retried(
    client: Served, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    system = CountingWrites()
    actuator = make(client.root, system)
    target = actuator.targets()[0]
    client.control("fail OST0000 max_rpcs_in_flight write ERANGE")
    receipt = actuator.set(target, Setting(flight=128))
    assert "Numerical result out of range" in (receipt.error or "")
    assert actuator.space(target)["flight"].ceiling == 127
    assert "learned a bound" in caplog.text
    system.knob_writes = 0
    assert "outside what this target accepts" in (actuator.set(target, Setting(flight=256)).error or "")
    assert system.knob_writes == 0
    client.control("clear")
    assert actuator.set(target, Setting(flight=64)).exact


class CountingWrites(System):
    knob_writes = 0

    def write(self, fd: int, data: bytes) -> int:
        self.knob_writes += data[:-1].isdigit()
        return super().write(fd, data)


def test_row_12_bounds_come_from_the_target(modern: Served, make: Make) -> None:
    actuator = make(modern.root)
    target = actuator.targets()[0]
    space = actuator.space(target)
    assert (space["pages"].floor, space["pages"].ceiling) == (16, 1024)
    assert space["dirty"].ceiling == 4007120 // 4 // 1024
    modern.control("reconnect OST0000 1048576")
    assert actuator.space(target)["pages"].values == (16, 32, 64, 128, 256)


def test_row_13_an_unmounted_target_is_dropped_with_its_entry(
    client: Served, make: Make, tmp_path: Path
) -> None:
    actuator = make(client.root)
    one, two = actuator.targets()
    for target in (one, two):
        actuator.set(target, TUNED)
    client.control("vanish OST0000")
    assert "gone" in (actuator.set(one, Setting(flight=2)).error or "")
    with pytest.raises(TargetGoneError):
        actuator.get(one)
    assert set(Journal(tmp_path / "state", owner_of(client.root)).entries) == {two.name}
    client.control("unmount")
    assert restore_all(client.root, tmp_path / "state").gone == (two.name,)
    assert Journal(tmp_path / "state", owner_of(client.root)).entries == {}


def test_row_13_a_target_that_goes_between_two_writes_is_dropped(client: Served, make: Make) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    client.control("fail OST0000 max_rpcs_in_flight write ENODEV")
    assert "gone" in (actuator.set(target, TUNED).error or "")


def test_row_14_a_remount_is_a_new_target_with_a_new_baseline(
    client: Served, make: Make, tmp_path: Path
) -> None:
    actuator = make(client.root)
    old = actuator.targets()[0]
    actuator.set(old, TUNED)
    client.control("remount")
    write(client, "max_rpcs_in_flight", "24")
    new = actuator.targets()[0]
    assert new != old
    assert actuator.set(new, TUNED).exact
    outcome = restore_all(client.root, tmp_path / "state")
    assert outcome.gone == (old.name,)
    assert actuator.get(new) == ORIGINAL.replace(flight=24)


def test_row_17_a_reconnects_cut_is_a_new_baseline(client: Served, make: Make, tmp_path: Path) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, Setting(pages=512, flight=16))
    client.control("reconnect OST0000 1048576")
    assert actuator.get(target)["pages"] == 256
    assert actuator.set(target, Setting(flight=32)).error is None
    assert actuator.yielded(target) == frozenset()
    outcome = restore_all(client.root, tmp_path / "state")
    assert outcome.left == ()
    assert actuator.get(target) == ORIGINAL.replace(pages=256)


def test_row_17_an_original_the_server_no_longer_allows_is_cut(
    client: Served, make: Make, tmp_path: Path
) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, Setting(pages=64))
    client.control("reconnect OST0000 1048576")
    outcome = restore_all(client.root, tmp_path / "state")
    assert (outcome.failed, actuator.get(target)["pages"]) == ((), 256)


@pytest.mark.parametrize("row", [18, 19])
def test_rows_18_19_a_value_somebody_else_set_is_yielded_to(
    client: Served, make: Make, tmp_path: Path, row: int
) -> None:
    # An administrator and the management server look the same from here, and are treated the same.
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, TUNED)
    write(client, "max_rpcs_in_flight", "99")
    receipt = actuator.set(target, Setting(pages=128, flight=32, dirty=96))
    assert receipt.actual == Setting(pages=128, flight=99, dirty=96)
    assert "administrator" in (receipt.error or "")
    assert actuator.yielded(target) == {"flight"}
    assert actuator.space(target)["flight"].values == (99,)
    restarted = make(client.root)
    assert restarted.yielded(target) == {"flight"}
    outcome = restore_all(client.root, tmp_path / "state")
    assert [(left.knob_id, left.value) for left in outcome.left] == [("flight", 99)]
    assert actuator.get(target) == ORIGINAL.replace(flight=99)


def test_row_18_a_yielded_dirty_limit_is_kept_through_couplings(client: Served, make: Make) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, TUNED)
    write(client, "max_dirty_mb", "48")
    receipt = actuator.set(target, Setting(pages=1024, flight=128))
    assert receipt.actual == Setting(pages=1024, flight=128, dirty=48)
    assert actuator.restore(target).actual == ORIGINAL.replace(dirty=48)


def test_row_18_a_knob_is_managed_again_when_told_so(client: Served, make: Make) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, TUNED)
    write(client, "max_rpcs_in_flight", "99")
    actuator.set(target, Setting(pages=128))
    actuator.take_back(target)
    assert actuator.set(target, Setting(flight=32)).exact
    assert actuator.restore(target).actual == ORIGINAL.replace(flight=99)


def test_row_20_coupling_is_recorded_as_what_is_in_force(client: Served, make: Make) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, Setting(dirty=16))
    receipt = actuator.set(target, Setting(pages=256, flight=64))
    assert receipt.actual == Setting(pages=256, flight=64, dirty=64)
    assert make(client.root).restore(target).actual == ORIGINAL


def test_row_20_rounding_is_recorded_and_does_not_oscillate(client: Served, make: Make) -> None:
    system = CountingWrites()
    actuator = make(client.root, system)
    target = actuator.targets()[0]
    client.control("chunk OST0000 65536")
    assert actuator.set(target, Setting(pages=100)).actual["pages"] == 112
    system.knob_writes = 0
    assert actuator.set(target, Setting(pages=100)).actual["pages"] == 112
    assert system.knob_writes == 0
    assert make(client.root).restore(target).actual == ORIGINAL


@pytest.mark.parametrize(
    ("file", "name"), [("max_rpcs_in_flight", "EIO"), ("max_dirty_mb", "ERANGE"), ("max_dirty_mb", "EINVAL")]
)
def test_row_21_a_group_of_which_one_fails_is_reverted(
    client: Served, make: Make, file: str, name: str
) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, Setting(pages=512, flight=4, dirty=100))
    client.control(f"fail OST0000 {file} write {name}")
    receipt = actuator.set(target, TUNED)
    assert "the group was reverted" in (receipt.error or "") or file == "max_dirty_mb"
    client.control("clear")
    assert actuator.get(target).only("pages", "flight") == Setting(pages=512, flight=4)
    assert actuator.restore(target).actual == ORIGINAL


@pytest.mark.parametrize(
    "name", ["../../etc", "x/y", "*", "a\nb", "lustre-OST0000-osc-MDT0000", "lustre-OST0000-osc-*", ""]
)
def test_names_outside_the_allow_list_never_meet_a_path(tree: Path, make: Make, name: str) -> None:
    with pytest.raises(UsageError, match="not the name of a Lustre client data path"):
        make(tree).set(Target(name, "lustre"), TUNED)


def test_unknown_knobs_are_refused(tree: Path, make: Make) -> None:
    actuator = make(tree)
    with pytest.raises(KnobError, match="no knob"):
        actuator.set(actuator.targets()[0], Setting(checksums=0))


@pytest.mark.parametrize("what", ["file", "directory"])
def test_symbolic_links_are_never_followed(tree: Path, make: Make, tmp_path: Path, what: str) -> None:
    actuator = make(tree)
    target = actuator.targets()[0]
    victim = tree / "sys/fs/lustre/osc" / target.name
    elsewhere = tmp_path / "elsewhere"
    if what == "file":
        victim /= "max_rpcs_in_flight"
        elsewhere.write_text("8\n")
    else:
        elsewhere.mkdir()
        for file in ("max_rpcs_in_flight", "max_dirty_mb"):
            (elsewhere / file).write_text("8\n")
        for path in victim.iterdir():
            path.unlink()
    victim.rmdir() if victim.is_dir() else victim.unlink()
    victim.symlink_to(elsewhere)
    receipt = actuator.set(target, Setting(flight=16))
    assert receipt.error
    files = [elsewhere] if what == "file" else list(elsewhere.iterdir())
    assert all(path.read_text() == "8\n" for path in files)


def test_servers_own_paths_are_no_targets(tree: Path, make: Make) -> None:
    (tree / "sys/fs/lustre/osc/lustre-OST0000-osc-MDT0000").mkdir()
    assert len(make(tree).targets()) == 2


def test_verify_says_what_differs_and_how_to_undo_it(client: Served, make: Make, tmp_path: Path) -> None:
    actuator = make(client.root)
    target = actuator.targets()[0]
    actuator.set(target, Setting(flight=16, dirty=64))
    write(client, "max_dirty_mb", "96")
    found = verify_all(client.root, tmp_path / "state")
    assert [(d.knob_id, d.expected, d.actual, d.why) for d in found.differences] == [
        ("flight", 8, 16, "still holds a tuned value"),
        ("dirty", 490, 96, "changed by somebody else"),
    ]
    assert found.rollback[1] == f"lctl set_param osc.{target.name}.max_rpcs_in_flight=8"
    assert actuator.verify(target)[0].knob_id == "dirty"
    restore_all(client.root, tmp_path / "state")
    assert verify_all(client.root, tmp_path / "state").differences == ()


def test_restore_from_a_dead_mount_keeps_the_journal(tmp_path: Path) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    root, state = tmp_path / "client", tmp_path / "state"
    with served(root) as client:
        actuator = LustreActuator(root, Journal(state, owner_of(root)))
        actuator.set(actuator.targets()[0], TUNED)
        client.process.kill()
        client.process.wait()
        kept = (state / FILE).read_bytes()
        with pytest.raises(AccessError, match="not connected"):
            restore_all(root, state)
        assert (state / FILE).read_bytes() == kept
        unmount(root)
