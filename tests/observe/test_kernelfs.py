"""Kernel files: read again through a kept descriptor, whole, and never left behind."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest
from tests.rigs.served import wait_for

from penstock.observe.deadline import Deadline
from penstock.observe.kernelfs import DescriptorBudget, KernelFile, KernelFs, read_once


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_table_is_read_whole_where_its_first_piece_is_short() -> None:
    """The kernel hands a table out in whole entries: a long one that does not fit comes with the next read."""
    # Each read of such a pipe returns one write.
    reading, writing = os.pipe2(os.O_DIRECT)
    try:
        for entry in (b"device short\n", b"device " + b"l" * 3500 + b"\n", b"device last\n"):
            os.write(writing, entry)
        os.close(writing)
        assert read_once(f"/proc/self/fd/{reading}").count(b"\n") == 3
    finally:
        os.close(reading)


def test_kernel_file_reads_the_text_of_now_through_one_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1\n")
    file = KernelFile(str(path), DescriptorBudget(10))
    assert file.read() == b"1\n"
    kept = file.fd
    path.write_text("22\n")
    assert file.read() == b"22\n"
    assert file.fd == kept >= 0
    file.close()


@pytest.mark.parametrize("size", [0, 3071, 3072, 4096, 4097, 200_000])
def test_kernel_file_reads_long_texts_to_their_end(tmp_path: Path, size: int) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * size + b"\n")
    file = KernelFile(str(path), DescriptorBudget(10))
    assert file.read() == file.read() == path.read_bytes()
    file.close()


def test_kernel_file_without_budget_leaves_no_descriptor_behind(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1\n")
    before = open_descriptors()
    file = KernelFile(str(path), DescriptorBudget(0))
    assert file.read() == file.read() == b"1\n"
    assert open_descriptors() == before


@pytest.mark.parametrize("gone", [True, False])
def test_kernel_file_opens_again_when_its_descriptor_died(tmp_path: Path, gone: bool) -> None:
    path = tmp_path / "value"
    path.write_text("1\n")
    budget = DescriptorBudget(10)
    file = KernelFile(str(path), budget)
    file.read()
    # Reading the unmapped page 0 of one's own memory answers EIO, as debugfs does after an unmount.
    memory = os.open("/proc/self/mem", os.O_RDONLY)
    os.dup2(memory, file.fd)
    os.close(memory)
    if gone:
        path.unlink()
        with pytest.raises(FileNotFoundError):
            file.read()
        assert (file.fd, budget.left) == (-1, 10)
    else:
        assert file.read() == b"1\n"
    file.close()


def test_kernel_fs_looks_in_every_place_and_says_why_not(tmp_path: Path) -> None:
    fs = KernelFs(tmp_path)
    (tmp_path / "b").write_text("here\n")
    found = fs.find(("a", "b"))
    assert isinstance(found, KernelFile)
    assert fs.unrooted(found.path) == "/b"
    found.close()
    missing = fs.find(("x", "y"))
    assert isinstance(missing, OSError)
    assert missing.errno == errno.ENOENT
    (tmp_path / "dir").mkdir()
    odd = fs.find(("x", "dir", "y"))
    assert isinstance(odd, OSError)
    assert odd.errno == errno.EISDIR


def test_deadline_leaves_a_blocked_item_behind_and_goes_on() -> None:
    release = threading.Event()
    deadline: Deadline[int, int] = Deadline(2.0)

    def work(item: int) -> int:
        if item == 2:
            release.wait(300)
        return item * 10

    first = deadline.run([1, 2, 3], work)
    assert (first.done, first.results) == ((1, 3), (10, 30))
    assert first.blocked == (2,)
    threads = threading.active_count()
    for _ in range(5):
        again = deadline.run([1, 2, 3], work)
        assert (again.done, again.results, again.blocked) == ((1, 3), (10, 30), (2,))
    assert threading.active_count() == threads, "threads pile up"
    release.set()
    wait_for(lambda: not deadline.blocked())
    assert deadline.run([1, 2, 3], work).results == (10, 20, 30)
    deadline.close()


def test_deadline_bounds_its_threads() -> None:
    release = threading.Event()
    deadline: Deadline[int, bool] = Deadline(0.02, most_blocked=2)
    outcome = deadline.run([1, 2, 3, 4], lambda _: release.wait(300))
    assert outcome.blocked == (1, 2)
    assert outcome.untouched == (3, 4)
    release.set()
    deadline.close()


def test_deadline_raises_what_the_work_raises() -> None:
    deadline: Deadline[int, int] = Deadline(60.0)
    with pytest.raises(ZeroDivisionError):
        deadline.run([0], lambda item: 1 // item)
    assert deadline.run([1], lambda item: item).results == (1,)
    deadline.close()
