"""Every error a user can meet, and the exit code it ends with.

The command line catches `PenstockError` in exactly one place and prints its message as one line.
A message names the offending file, key or value and says what to do about it.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """What the process tells its caller; documented, stable."""

    OK = 0
    FAILURE = 1
    USAGE = 2
    NOT_FOUND = 3
    PERMISSION = 4
    INVALID = 5
    FINDINGS = 6
    UNREACHABLE = 7


class PenstockError(Exception):
    """The base of all expected failures."""

    exit_code = ExitCode.FAILURE


class UsageError(PenstockError):
    """The command line asks for something that does not exist or contradicts itself."""

    exit_code = ExitCode.USAGE


class MissingError(PenstockError):
    """A named file, target, package or record is not there."""

    exit_code = ExitCode.NOT_FOUND


class AccessError(PenstockError):
    """The operating system refuses, or a file's permissions make it unsafe to use."""

    exit_code = ExitCode.PERMISSION


class InvalidError(PenstockError):
    """Input was read and is wrong: a configuration, a model, a data set."""

    exit_code = ExitCode.INVALID


class ConfigError(InvalidError):
    """A configuration file cannot be used."""


class KnobError(InvalidError):
    """A setting names an unknown knob or a value outside its bounds."""


class DataError(InvalidError):
    """A data file, recording or kernel text does not have the documented form."""


class ModelFileError(InvalidError):
    """A model file is damaged, hostile, or made for something else."""


class FindingsError(PenstockError):
    """A check ran to its end and found what it looks for."""

    exit_code = ExitCode.FINDINGS


class UnreachableError(PenstockError):
    """No agent answers."""

    exit_code = ExitCode.UNREACHABLE


class TerminatedError(BaseException):
    """SIGTERM came while there was something to end first. Like KeyboardInterrupt, no handler of errors sees it."""


def refusal(path: Path, error: OSError) -> PenstockError:
    """The error that names what could not be written, with the right exit code."""
    if isinstance(error, FileNotFoundError):
        return MissingError(f"{path}: no such directory")
    if isinstance(error, PermissionError):
        return AccessError(f"{path}: permission denied")
    return PenstockError(f"{path}: {error.strerror}")


def unreadable(path: Path, error: OSError, otherwise: type[PenstockError] = DataError) -> PenstockError:
    """The error that names what could not be read, with the right exit code."""
    if isinstance(error, FileNotFoundError):
        return MissingError(f"{path}: no such file")
    if isinstance(error, PermissionError):
        return AccessError(f"{path}: permission denied")
    return otherwise(f"{path}: {error.strerror}")


#: Where packages and bundles install (packaging/install.sh).
PACKAGED = "/opt/penstock"


def require_extra(extra: str, error: ImportError) -> MissingError:
    """The error to raise when a library of an optional extra is not installed."""
    return MissingError(f"{error.name or 'a library'} is not installed: {how_to_install(extra)}")


def is_packaged() -> bool:
    """Whether this runs from a node's package or bundle."""
    return sys.prefix == PACKAGED


def how_to_install(extra: str) -> str:
    """How to get an extra here. A node's package brings its own environment, which pip must not change."""
    if is_packaged():
        return (
            "a node's package holds what the agent needs; run this elsewhere, or install a bundle that holds it "
            f"(./run bundle {extra})"
        )
    return f"pip install 'penstock[{extra}]', or in a checkout pip install '.[{extra}]'"


def did_you_mean(word: str, legal: Iterable[str]) -> str:
    """A suggestion to append to a message, or nothing when no legal word is near.

    >>> did_you_mean("flihgt", ["pages", "flight"])
    '; did you mean "flight"?'
    >>> did_you_mean("zzz", ["pages"])
    ''
    """
    near = difflib.get_close_matches(word, list(legal), n=1, cutoff=0.5)
    return f'; did you mean "{near[0]}"?' if near else ""
