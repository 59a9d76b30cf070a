"""Carrying an answer out on a real file system, and taking it back."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from penstock.errors import PenstockError
from penstock.schedule.answer import Answer
from penstock.schedule.command import Commands
from penstock.schedule.job import Job
from penstock.schedule.layout import Layout
from penstock.schedule.lfs import Owner, read_layout, run_tool

How = Literal["directory", "progressive", "pool"]
Say = Callable[[str], None]


def owner_of(job: Job) -> Owner | None:
    """Whose rights commands on the job's directory run with, as settled at its start."""
    return None if job.uid is None or job.gid is None else Owner(job.uid, job.gid)


def apply_answer(job: Job, answer: Answer, how: How, say: Say) -> bool:
    """Run the commands of one way to apply an answer. What fails is said, never raised; nothing half stays."""
    owner = owner_of(job)
    lines = {"directory": "user", "progressive": "progressive", "pool": "admin"}[how]
    wanted: tuple[str, ...] = getattr(answer.commands, lines)
    try:
        for line in wanted:
            _run(line, owner)
    except PenstockError as error:
        say(f"not applied: {error}")
        if how == "pool":
            _try(answer.commands.undo[1:], owner, lambda _: None)
        return False
    return True


def undo_answer(job: Job, commands: Commands, say: Say) -> bool:
    """Give the directory the layout it had and remove the pool, where the job's start had changed them.

    A layout that is not the one we set is somebody's own choice, and is left.
    """
    if job.applied is None or job.directory is None:
        return True
    owner = owner_of(job)
    try:
        ours = _is_ours(read_layout(job.directory, owner), job)
        if ours:
            _run(commands.undo[0], owner)
        else:
            say(f"{job.directory}: its layout was changed by somebody else, so it is left as it is")
    except PenstockError as error:
        say(f"not undone: {error}")
        return False
    return job.applied != "pool" or _try(commands.undo[1:], owner, say)


def _is_ours(now: Layout, job: Job) -> bool:
    if not now.components:
        return False
    last = now.components[-1]
    if job.applied == "pool":
        return last.pool == job.pool
    there = last.osts == job.resources if last.osts else last.stripe_offset == job.resources[0]
    return there and last.stripe_count == len(job.resources)


def _run(line: str, owner: Owner | None) -> None:
    """A pool belongs to the file system, so its commands keep our own rights."""
    words = shlex.split(line)
    run_tool(words, None if words[0] == "lctl" else owner)


def _try(lines: Sequence[str], owner: Owner | None, say: Say) -> bool:
    done = True
    for line in lines:
        try:
            _run(line, owner)
        except PenstockError as error:
            say(f"not undone: {error}")
            done = False
    return done


def write_exports(directory: Path, answer: Answer, kind: str) -> None:
    """Leave the job's environment where the task prolog finds it: `NAME=value` lines, in one step."""
    listed = ",".join(map(str, answer.advice.resources))
    values = {"PENSTOCK_RESOURCES": listed, "PENSTOCK_COUNT": str(len(answer.advice.resources))}
    if kind == "ost":
        values |= {"PENSTOCK_OSTS": listed, "PENSTOCK_LFS": answer.commands.user[0]}
    else:
        values["PENSTOCK_NODES"] = ",".join(answer.names)
    path = exports_path(directory, answer.advice.job)
    fresh = path.with_suffix(".new")
    try:
        fresh.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        fresh.chmod(0o644)
        fresh.replace(path)
    except OSError as error:
        raise PenstockError(f"{path}: {error.strerror}") from None


def remove_exports(directory: Path, job: str) -> None:
    """Take a job's environment away; it may never have been there."""
    exports_path(directory, job).unlink(missing_ok=True)


def exports_path(directory: Path, job: str) -> Path:
    """Where a job's environment lies. Names that could point elsewhere are refused."""
    if not job or job.startswith(".") or os.sep in job or "\0" in job:
        raise PenstockError(f"job {job!r}: not a name for a file of exports")
    return directory / f"{job}.env"
