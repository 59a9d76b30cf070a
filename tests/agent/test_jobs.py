"""Marks of jobs: taken once, in order, whatever lies in their directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from tests.logged_events import as_logged

from penstock.agent.jobs import MOST_MARKS, MOST_RUNNING, JobBook
from penstock.agent.summary import summarise
from penstock.events import JobEvent


@pytest.fixture
def book(tmp_path: Path) -> JobBook:
    opened = JobBook(tmp_path / "jobs")
    opened.open(boot_s=0.0)
    return opened


def leave(book: JobBook, name: str, time_s: float, text: str = "alice\n") -> Path:
    path = book.directory / name
    path.write_text(text)
    os.utime(path, (time_s, time_s))
    return path


def names(book: JobBook) -> list[str]:
    return sorted(path.name for path in book.directory.iterdir())


def test_jobs_directory_is_private(book: JobBook) -> None:
    assert stat.S_IMODE(book.directory.stat().st_mode) == 0o700


def test_jobs_begin_run_and_end(book: JobBook) -> None:
    leave(book, "4711.begin", 100.0)
    (begin,) = book.take()
    assert begin.event() == JobEvent(time_s=100.0, job="4711", what="begin", user="alice")
    assert list(book.running) == ["4711"]
    assert names(book) == ["4711.running"]
    assert book.take() == ()
    leave(book, "4711.end", 160.0)
    (end,) = book.take()
    assert (end.what, end.time_s) == ("end", 160.0)
    assert book.running == ()
    assert names(book) == []


def test_jobs_taken_together_come_in_the_order_of_their_times(book: JobBook) -> None:
    leave(book, "2.end", 50.0)
    leave(book, "2.begin", 10.0)
    leave(book, "1.begin", 30.0)
    assert [(mark.job, mark.what) for mark in book.take()] == [("2", "begin"), ("1", "begin"), ("2", "end")]
    assert book.running == ("1",)


def test_jobs_that_run_are_known_after_a_restart_but_not_after_a_reboot(book: JobBook) -> None:
    leave(book, "7.begin", 100.0)
    leave(book, "8.begin", 300.0)
    book.take()
    again = JobBook(book.directory)
    again.open(boot_s=200.0)
    assert again.running == ("8",)
    assert names(book) == ["8.running"]


@pytest.mark.parametrize(
    "name",
    ["..begin", ".x.begin", "a b.begin", "x.begin.tmp", "x.unknown", "é.begin", "-rf.begin", "begin"],
)
def test_jobs_ignore_names_that_are_no_marks(book: JobBook, name: str) -> None:
    leave(book, name, 1.0)
    assert book.take() == ()
    assert names(book) == [name]


def test_jobs_follow_no_links_and_open_no_pipes(book: JobBook, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("root\n")
    (book.directory / "1.begin").symlink_to(secret)
    os.mkfifo(book.directory / "2.begin")
    (book.directory / "3.begin").mkdir()
    assert book.take() == ()
    assert book.running == ()
    assert secret.read_text() == "root\n"


def test_jobs_of_strangers_are_not_believed(book: JobBook) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to make a file somebody else's")
    os.chown(leave(book, "1.begin", 1.0), 65534, 65534)
    assert book.take() == ()


def test_jobs_keep_only_plausible_user_names(book: JobBook) -> None:
    leave(book, "1.begin", 1.0, 'x","event":"decision\n')
    leave(book, "2.begin", 2.0, "u" * 1_000_000)
    assert [mark.user for mark in book.take()] == ["", ""]


def test_jobs_are_taken_in_bounded_portions(book: JobBook) -> None:
    for i in range(MOST_MARKS + 5):
        leave(book, f"{i}.begin", float(i))
    assert len(book.take()) == MOST_MARKS
    assert len(book.take()) == 5
    for i in range(2 * MOST_RUNNING):
        leave(book, f"x{i}.begin", 1000.0 + i)
        if i % MOST_MARKS == 0:
            book.take()
    while book.take():
        pass
    assert len(book.running) == MOST_RUNNING


def test_jobs_in_a_missing_or_read_only_directory_cost_nothing(tmp_path: Path) -> None:
    nowhere = JobBook(tmp_path / "no" / "jobs")
    nowhere.open(boot_s=0.0)
    assert nowhere.take() == ()
    assert nowhere.running == ()


def test_jobs_that_cannot_be_moved_away_are_taken_once(
    book: JobBook, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(book, "1.begin", 1.0)

    def refuse(self: Path, target: Path) -> Path:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "replace", refuse)
    assert len(book.take()) == 1
    assert book.take() == ()
    assert book.running == ("1",)


def test_report_counts_what_happened_during_each_job() -> None:
    decision = {"event": "decision", "target": "a", "changes": ["flight 8 -> 16"], "error": None}
    effect = {"event": "effect", "target": "a", "before_bytes_per_s": 100.0}
    summary = summarise(
        as_logged(
            [
                {"event": "job", "job": "1", "what": "begin", "user": "alice", "time_s": 10.0},
                {**decision, "id": "d1", "reason": "try", "actual": {}, "jobs": ["0", "1"], "time_s": 11.0},
                {**effect, "decision": "d1", "after_bytes_per_s": 150.0, "time_s": 12.0},
                {
                    **decision,
                    "id": "d2",
                    "reason": "guard.revert",
                    "actual": {},
                    "jobs": ["1"],
                    "time_s": 13.0,
                },
                {"event": "job", "job": "1", "what": "end", "user": "alice", "time_s": 14.0},
                {**decision, "id": "d3", "reason": "try", "actual": None, "jobs": [], "time_s": 15.0},
            ]
        ),
        0.0,
        100.0,
    )
    earlier, job = summary.jobs
    assert (earlier.job, earlier.began_s, earlier.made) == ("0", None, 1)
    assert (job.user, job.began_s, job.ended_s) == ("alice", 10.0, 14.0)
    # Taking back is counted by itself.
    assert (job.made, job.reverted, job.advised) == (1, 1, 0)
    assert job.gain is not None
    assert job.gain.ratio == pytest.approx(1.5)


def test_job_that_the_client_names_begins_and_ends_without_marks(book: JobBook) -> None:
    said: list[str | None] = [None, "815", "815", "816", None]
    book.node_job = lambda: said.pop(0)
    marks = [[(mark.job, mark.what) for mark in book.take_when_due(float(look))] for look in range(5)]
    assert marks == [[], [("815", "begin")], [], [("815", "end"), ("816", "begin")], [("816", "end")]]
    assert (book.running, book.marks) == ((), 4)


def test_job_with_marks_and_a_name_runs_once_and_as_long_as_its_marks_say(book: JobBook) -> None:
    said: list[str | None] = ["4711", None, None]
    book.node_job = lambda: said.pop(0)
    leave(book, "4711.begin", 100.0)
    assert [mark.user for mark in book.take_when_due(0.0)] == ["alice"]
    assert book.running == ("4711",)
    assert book.take_when_due(1.0) == ()
    assert book.running == ("4711",)
    leave(book, "4711.end", 160.0)
    assert [mark.what for mark in book.take_when_due(2.0)] == ["end"]
    assert list(book.running) == []
