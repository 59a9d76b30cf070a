"""Carries an answer out on a real file system, and undoes it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from penstock.errors import PenstockError
from penstock.output_files import replace_file
from penstock.schedule.answer import Answer
from penstock.schedule.command import Commands
from penstock.schedule.job import Job
from penstock.schedule.layout import Layout
from penstock.schedule.lfs import NoAnswerError, Owner, read_layout, run_tool

if TYPE_CHECKING:
    from penstock.schedule.lifecycle import Ended, Started

How = Literal["directory", "progressive", "pool"]
Say = Callable[[str], None]


def owner_of(job: Job) -> Owner | None:
    """The user that commands on the job's directory run as. It is determined when the job starts."""
    return None if job.uid is None or job.gid is None else Owner(job.uid, job.gid)


def apply_answer(started: Started, how: How, say: Say) -> bool:
    """Run the commands that apply an answer. Returns whether they changed, or may have changed, the file system.

    A failing command is reported, not raised. A job that started before and already has its layout is left as it is.
    """
    job, commands = started.job, started.answer.commands
    try:
        if started.again and _is_ours(read_layout(job.directory or "", owner_of(job)), job):
            return True
    except PenstockError as error:
        say(f"not applied: {error}")
        return True
    if how == "pool":
        return _apply_pool(job, commands, started.again, say)
    lines = commands.user if how == "directory" else commands.progressive
    return _apply_lines(job, lines, say)


def _apply_lines(job: Job, lines: Sequence[str], say: Say) -> bool:
    """Run the commands of a directory. One that was refused and left no layout of ours has changed nothing."""
    try:
        for line in lines:
            _run(line, owner_of(job))
    except PenstockError as error:
        say(f"not applied: {error}")
        # A command that timed out may still take effect, so the end of the job must check.
        return isinstance(error, NoAnswerError) or _has_ours(job)
    return True


def _has_ours(job: Job) -> bool:
    try:
        return _is_ours(read_layout(job.directory or "", owner_of(job)), job)
    except NoAnswerError:
        return True
    except PenstockError:
        return False


def _apply_pool(job: Job, commands: Commands, again: bool, say: Say) -> bool:
    """Create the pool and use it. An existing pool that is not ours is never touched."""
    new, add, use = commands.admin
    done = 0
    try:
        for line in (new, add, use):
            try:
                _run(line, owner_of(job))
            except PenstockError:
                if not again or line == use:
                    raise
                # Either an earlier start of this job created it, or the next command fails.
            done += 1
    except PenstockError as error:
        say(f"not applied: {error}")
        return done > 0 and not _remove_pool(commands, lambda _: None)
    return True


def undo_answer(ended: Ended, say: Say) -> bool:
    """Restore the directory's layout and remove the pool, if the job's start changed them.

    Returns whether all is done.

    A layout other than the one we set is somebody's choice and is kept. A directory that is gone needs nothing.
    """
    job, commands = ended.job, ended.commands
    if job.applied is None or job.directory is None:
        return True
    try:
        if not ended.shared:
            _restore(job, commands, say)
    except PenstockError as error:
        if not _is_gone(error):
            say(f"not undone: {error}")
            return False
    return job.applied != "pool" or _remove_pool(commands, say)


def _restore(job: Job, commands: Commands, say: Say) -> None:
    owner = owner_of(job)
    if _is_ours(read_layout(job.directory or "", owner), job):
        _run(commands.undo[0], owner)
    else:
        say(f"{job.directory}: its layout is not the one job {job.name} was given, so it is left as it is")


def _remove_pool(commands: Commands, say: Say) -> bool:
    """Empty and destroy the pool. A pool that no longer exists is fine."""
    return _try(commands.undo[1:], None, lambda why: say(f"not undone: {why}"), fine=_is_gone)


def _is_gone(error: PenstockError) -> bool:
    return re.search(r"not found|no such", str(error), re.IGNORECASE) is not None


def _is_ours(now: Layout, job: Job) -> bool:
    if not now.components:
        return False
    last = now.components[-1]
    if job.applied == "pool":
        return last.pool == job.pool
    there = last.osts == job.resources if last.osts else last.stripe_offset == job.resources[0]
    return there and last.stripe_count == len(job.resources)


def _run(line: str, owner: Owner | None) -> None:
    """Run a command. Pool commands keep our own rights, because a pool belongs to the file system."""
    words = shlex.split(line)
    run_tool(words, None if words[0] == "lctl" else owner)


def _try(
    lines: Sequence[str],
    owner: Owner | None,
    say: Say,
    fine: Callable[[PenstockError], bool] = lambda error: False,
) -> bool:
    """Run every line, even if others fail. Returns whether all worked or failed in an acceptable way."""
    done = True
    for line in lines:
        try:
            _run(line, owner)
        except PenstockError as error:
            if not fine(error):
                say(str(error))
                done = False
    return done


def write_exports(directory: Path, answer: Answer, kind: str) -> None:
    """Write the job's environment for the task prolog: `NAME=value` lines, as one atomic step."""
    listed = ",".join(map(str, answer.advice.resources))
    values = {"PENSTOCK_RESOURCES": listed, "PENSTOCK_COUNT": str(len(answer.advice.resources))}
    if kind == "ost":
        values |= {"PENSTOCK_OSTS": listed, "PENSTOCK_LFS": answer.commands.user[0]}
    else:
        values["PENSTOCK_NODES"] = ",".join(answer.names)
    path = exports_path(directory, answer.advice.job)
    try:
        replace_file(path, "".join(f"{name}={value}\n" for name, value in values.items()), mode=0o644)
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}") from None


def remove_exports(directory: Path, job: str) -> None:
    """Remove a job's environment, if there is one."""
    exports_path(directory, job).unlink(missing_ok=True)


def exports_path(directory: Path, job: str) -> Path:
    """The file with a job's environment. Job names that could lead to another directory are refused."""
    if not job or job.startswith(".") or os.sep in job or "\0" in job:
        raise PenstockError(f"job {job!r}: not a name for a file of exports")
    return directory / f"{job}.env"
