"""Runs Lustre's own commands: `lfs` on a client as the owner of the files, `lctl` as root."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.errors import DataError, MissingError, PenstockError
from penstock.schedule.layout import Layout, parse_layout


class NoAnswerError(PenstockError):
    """A command was given up; it may still take effect."""


TIMEOUT_S = 10.0
"""A client whose servers are dead blocks for ever; nobody waits longer than this for one command."""


@dataclass(frozen=True, slots=True)
class Owner:
    """The user that a command runs as.

    Only root can switch to another user; everybody else keeps their own rights.
    """

    uid: int
    gid: int


def run_tool(command: Sequence[str], owner: Owner | None = None) -> str:
    """Run a command and return its output. If it fails or hangs, the error is one line that names the command."""
    drop = owner is not None and os.geteuid() == 0 and owner.uid != 0
    rights = {"user": owner.uid, "group": owner.gid, "extra_groups": []} if owner and drop else {}
    shown = shlex.join(command)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            **rights,
        )  # type: ignore[call-overload]
    except FileNotFoundError:
        raise MissingError(f"{command[0]}: not found: this node is no Lustre client") from None
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"{shown}: no answer within {TIMEOUT_S:g} s") from None
    except OSError as error:
        raise PenstockError(f"{shown}: {error.strerror}") from None
    if done.returncode:
        why = " ".join(done.stderr.split()) or f"exit {done.returncode}"
        raise PenstockError(f"{shown}: {why}")
    return str(done.stdout)


def read_layout(directory: str, owner: Owner | None = None) -> Layout:
    """The default layout that a directory has of its own."""
    return parse_layout(run_tool(["lfs", "getstripe", "-d", "--raw", directory], owner), directory)


def layout_if_readable(directory: str | None, owner: Owner | None = None) -> Layout | None:
    """The layout, or None if it cannot be read here, could not be restored exactly, or is not the owner's to change.

    A job may name any directory. One that its owner may not write would otherwise count as taken by that job.
    """
    if directory is None:
        return None
    try:
        run_tool(["test", "-w", directory], owner)
        return read_layout(directory, owner)
    except (PenstockError, DataError):
        return None
