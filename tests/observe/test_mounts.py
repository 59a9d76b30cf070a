"""Mount tables that a hostile user wrote into: FUSE lets anybody choose paths and names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.observe.kernelfs import KernelFs
from penstock.observe.mounts import parse_mounts, read_mounts, unescape
from penstock.observe.nfs.mountstats import NfsMount, parse_mountstats
from penstock.observe.nfs.observer import NfsObserver

# Everything that str.splitlines() or str.split() takes for a separator and the kernel does not escape, and more.
HOSTILE = [
    *(bytes([code]) for code in (*range(1, 9), *range(0x0B, 0x20), 0x7F)),
    *(chr(code).encode() for code in (0x85, 0xA0, 0x2028, 0x2029, 0x202E, 0x3000, 0xFEFF)),
    b"\x1b[2J\x1b]0;x\x07",
    b"\xff",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\\134n",
]
HONEST = b"48 29 0:50 / /mnt/n rw,relatime - nfs4 10.98.0.1:/x rw,vers=4.1\n"
SERIES = Path(__file__).parent.parent / "fixtures/nfs-4.1/series"


def planted(path: bytes, source: bytes = b"x") -> bytes:
    return b"60 29 0:60 / /home/u/%b rw,nosuid - fuse.sshfs %b rw,user_id=1001,group_id=1001\n" % (
        path,
        source,
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_of_a_users_mount_splits_a_line(text: bytes) -> None:
    table = parse_mounts(planted(b"a" + text + b"b", b"s" + text) + HONEST)
    assert table.problems == ()
    first, second = table.mounts
    assert (first.device, first.user, first.kind) == ("0:60", 1001, "fuse.sshfs")
    assert second.path == "/mnt/n"
    first.path.encode()


@pytest.mark.parametrize("text", HOSTILE)
def test_no_character_of_a_users_mount_splits_a_block_of_statistics(text: bytes) -> None:
    honest = (SERIES / "seqwrite1m.mountstats").read_bytes()
    theirs = b"device s%b mounted on /home/u/%b with fstype fuse.sshfs\n" % (text, text)
    faked = b"device x mounted on /a%bdevice y mounted on /evil with fstype nfs4\n" % text
    (found,) = parse_mountstats(theirs + faked + honest)
    assert isinstance(found, NfsMount)
    assert (found,) == parse_mountstats(honest)


def test_line_that_is_not_understood_is_one_problem_and_costs_no_other() -> None:
    table = parse_mounts(b"\n".join([b"garbage \x1b[2J", b"1 2 x:y", b"7 7 7:7 / /a rw -", HONEST]))
    assert [mount.path for mount in table.mounts] == ["/mnt/n"]
    (problem,) = table.problems
    assert problem.source == "/proc/self/mountinfo"
    assert problem.message == "3 lines are not understood: b'garbage \\x1b[2J'"


def test_long_table_of_a_users_mounts_is_read_whole(tmp_path: Path) -> None:
    lines = b"".join(
        planted(b"d" * 3000 + b"%d" % at).replace(b"0:60", b"0:%d" % (100 + at)) for at in range(1000)
    )
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_bytes(lines + HONEST)
    found = read_mounts(KernelFs(tmp_path))
    assert len(found.mounts) == 1001
    assert [mount.path for mount in found.in_sight()][-1] == "/mnt/n"


def test_observer_says_what_it_did_not_understand_and_goes_on(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_bytes(b"nonsense\n")
    seen = NfsObserver(tmp_path).observe()
    assert [problem.message for problem in seen.problems] == ["a line is not understood: b'nonsense'"]


@given(st.binary(max_size=400))
def test_any_bytes_are_a_table(raw: bytes) -> None:
    found = parse_mounts(raw + b"\n" + HONEST)
    assert found.mounts[-1].path == "/mnt/n"
    assert len(found.problems) <= 1
    parse_mountstats(raw)


@given(st.lists(st.binary(max_size=30).filter(lambda raw: b"\n" not in raw and b" " not in raw), max_size=12))
def test_any_words_are_a_line(words: list[bytes]) -> None:
    found = parse_mounts(b" ".join(words) + b"\n" + HONEST)
    assert found.mounts[-1].path == "/mnt/n"
    for mount in found.mounts:
        assert mount.minor >= 0
        f"{mount}".encode()


@given(st.binary(max_size=60))
def test_what_the_kernel_escapes_comes_back(raw: bytes) -> None:
    escaped = b"".join(b"\\%03o" % code if code in b" \t\n\\" else bytes([code]) for code in raw)
    kept = raw.replace(b"\t", b"\\011").replace(b"\n", b"\\012")
    assert unescape(escaped) == kept.decode("utf-8", "backslashreplace")
