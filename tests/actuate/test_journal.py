"""Originals survive power loss, reboots, full disks and damage, or nothing is changed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.actuate.journal import FILE, PREVIOUS, Entry, Journal, JournalOwner
from penstock.actuate.knob_errors import JournalCorruptError, JournalUnwritableError
from penstock.actuate.lock import BusyError, StateLock, holder
from penstock.actuate.system import System
from penstock.errors import AccessError, InvalidError
from penstock.knobs import Setting

OWNER = JournalOwner("/", "boot-1")
NAME = "lustre-OST0000-osc-ff1100010179b000"
ENTRY = Entry(
    Setting(pages=1024, flight=8, dirty=490),
    {"pages": frozenset({256, 1024})},
    Setting(pages=256, flight=8, dirty=490),
    frozenset({"dirty"}),
    "data-path",
    {"generation": 3, "brw_pages": 1024},
)


def test_journal_returns_what_was_recorded(tmp_path: Path) -> None:
    Journal(tmp_path / "a/b", OWNER).record(NAME, ENTRY)
    assert Journal(tmp_path / "a/b", OWNER).entries == {NAME: ENTRY}
    assert (tmp_path / "a/b" / FILE).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700


# Byte for byte what the first version wrote: every later one must understand it.
FIRST_FORMAT = (
    '{"format":1,"checksum":"c030cd896a150c96f5c09627b3a8387ec948e4f667df3977a04dc0df7e38a271","body":{"boot_id":"boot",'
    '"root":"/client","targets":{"scratch-OST0000-osc-ff01":{"actual":{"dirty":490,"flight":64,"pages":256},'
    '"brw_pages":1024,"generation":3,"manual":["dirty"],"original":{"dirty":490,"flight":8,"pages":1024},'
    '"possible":{"flight":[64],"pages":[256]}}}}}'
)


def test_journal_of_the_first_version_keeps_its_originals_after_an_upgrade(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(FIRST_FORMAT)
    (tmp_path / FILE).chmod(0o600)
    entry = Journal(tmp_path, JournalOwner("/client", "boot")).entries["scratch-OST0000-osc-ff01"]
    assert entry.original == Setting(pages=1024, flight=8, dirty=490)
    assert entry.manual == {"dirty"}
    assert dict(entry.baseline) == {"generation": 3, "brw_pages": 1024}


@pytest.mark.parametrize("file", [FILE, PREVIOUS])
def test_journal_of_a_newer_version_is_never_guessed_at(tmp_path: Path, file: str) -> None:
    for name in (FILE, PREVIOUS):
        newer = FIRST_FORMAT.replace('"format":1', '"format":3') if name == file else FIRST_FORMAT
        (tmp_path / name).write_text(newer)
        (tmp_path / name).chmod(0o600)
    with pytest.raises(InvalidError, match="format 3 of a newer Penstock"):
        Journal(tmp_path, JournalOwner("/client", "boot"))
    assert '"format":3' in (tmp_path / file).read_text()


def test_journal_drops_targets(tmp_path: Path) -> None:
    journal = Journal(tmp_path, OWNER)
    journal.record(NAME, ENTRY)
    journal.drop(NAME)
    assert Journal(tmp_path, OWNER).entries == {}


def test_journal_of_another_boot_is_discarded(tmp_path: Path) -> None:
    Journal(tmp_path, OWNER).record(NAME, ENTRY)
    later = Journal(tmp_path, JournalOwner("/", "boot-2"))
    assert (later.entries, later.trusted) == ({}, True)
    assert "rebooted" in (later.note or "")


def test_journal_of_another_root_is_not_touched(tmp_path: Path) -> None:
    Journal(tmp_path, OWNER).record(NAME, ENTRY)
    with pytest.raises(InvalidError, match="belongs to --root /"):
        Journal(tmp_path, JournalOwner("/elsewhere", "boot-1"))


def test_journal_cut_at_any_byte_falls_back_on_the_previous_copy(tmp_path: Path) -> None:
    journal = Journal(tmp_path, OWNER)
    journal.record(NAME, ENTRY)
    journal.record("other", ENTRY)
    whole = (tmp_path / FILE).read_bytes()
    for length in range(len(whole)):
        (tmp_path / FILE).write_bytes(whole[:length])
        found = Journal(tmp_path, OWNER)
        assert not found.trusted
        assert found.entries == {NAME: ENTRY}
        assert "previous copy" in (found.note or "")


@given(st.data())
def test_journal_with_any_byte_changed_is_never_believed(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    directory = tmp_path_factory.mktemp("state")
    Journal(directory, OWNER).record(NAME, ENTRY)
    raw = bytearray((directory / FILE).read_bytes())
    position = data.draw(st.integers(0, len(raw) - 1))
    raw[position] ^= data.draw(st.integers(1, 255))
    (directory / FILE).write_bytes(bytes(raw))
    try:
        found = Journal(directory, OWNER)
    except InvalidError:
        return
    assert found.entries == {NAME: ENTRY} or json.loads(raw)["body"]["boot_id"] != "boot-1"


def test_journal_with_both_copies_broken_is_refused(tmp_path: Path) -> None:
    for file in (FILE, PREVIOUS):
        (tmp_path / file).write_text("{}")
    with pytest.raises(JournalCorruptError, match="not a journal"):
        Journal(tmp_path, OWNER)


def test_journal_that_others_may_write_is_refused(tmp_path: Path) -> None:
    Journal(tmp_path, OWNER).record(NAME, ENTRY)
    (tmp_path / FILE).chmod(0o666)
    with pytest.raises(AccessError, match="others may write"):
        Journal(tmp_path, OWNER)


class FullDisk(System):
    def write(self, fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")


def test_journal_on_a_full_disk_refuses_and_keeps_the_old_copy(tmp_path: Path) -> None:
    Journal(tmp_path, OWNER).record(NAME, ENTRY)
    journal = Journal(tmp_path, OWNER, FullDisk())
    with pytest.raises(JournalUnwritableError, match="No space left"):
        journal.record("other", ENTRY)
    assert Journal(tmp_path, OWNER).entries == {NAME: ENTRY}


class Watched(System):
    """Writes down the order of what matters for power loss."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def write(self, fd: int, data: bytes) -> int:
        self.calls.append("write")
        return super().write(fd, data)

    def fsync(self, fd: int) -> None:
        self.calls.append("fsync")
        super().fsync(fd)

    def rename(self, old: str, new: str) -> None:
        self.calls.append(f"rename {Path(new).name}")
        super().rename(old, new)


def test_journal_is_synced_before_and_after_it_takes_its_name(tmp_path: Path) -> None:
    system = Watched()
    journal = Journal(tmp_path, OWNER, system)
    journal.record(NAME, ENTRY)
    journal.record("other", ENTRY)
    assert system.calls == [
        *("write", "fsync", f"rename {FILE}", "fsync"),
        *("write", "fsync", f"rename {PREVIOUS}", f"rename {FILE}", "fsync"),
    ]


def test_lock_names_its_holder_and_ends_with_it(tmp_path: Path) -> None:
    code = (
        "import sys, os, signal\nfrom penstock.actuate.lock import StateLock\n"
        "lock = StateLock(sys.argv[1]); print(os.getpid(), flush=True); signal.pause()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        pid = int(other.stdout.readline())
        assert holder(tmp_path) == pid
        with pytest.raises(BusyError, match=f"process {pid}"):
            StateLock(tmp_path)
        other.kill()
        other.wait()
    assert holder(tmp_path) is None
    StateLock(tmp_path).release()


def test_journal_that_may_not_be_read_is_a_matter_of_permission(tmp_path: Path) -> None:
    Journal(tmp_path, OWNER).record(NAME, ENTRY)

    class Forbidden(System):
        def open(self, path: str, flags: int, mode: int = 0o600, dir_fd: int | None = None) -> int:
            raise PermissionError(13, "Permission denied")

    with pytest.raises(AccessError, match="kept for root"):
        Journal(tmp_path, OWNER, Forbidden())
