"""Finds policies: built in, installed by another package, or in a user's file."""

from __future__ import annotations

import importlib.util
import inspect
import stat
import traceback
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType

from penstock.decide.policies import EXPERIMENT_NAMES, POLICY_NAMES, policy_class, unknown_policy
from penstock.decide.policies._base import Policy
from penstock.errors import (
    AccessError,
    InvalidError,
    MissingError,
)
from penstock.trusted import read_own

GROUP = "penstock.policies"
MOST_SOURCE_BYTES = 4 << 20


def find_policy(name: str) -> type[Policy]:
    """The class of a policy. A name that ends in `.py` is a file that sets `POLICY`.

    A package is imported only when one of its policies is requested. A file runs as the user who runs the agent. So
    it must belong to that user or to root, and nobody else may be able to write it or a directory above it. The
    source is what runs; bytecode beside it is not looked at.
    """
    if name.endswith(".py"):
        return _from_file(Path(name))
    if is_foreign(name):
        return _checked(_load(installed()[name]), f"policy {name!r} ({installed()[name].value})")
    return policy_class(require_known(name))


def is_foreign(name: str) -> bool:
    """Whether a policy is not built in. A built-in name cannot be overridden."""
    return name.endswith(".py") or (name not in POLICY_NAMES and name in installed())


def require_known(name: str) -> str:
    """The name itself, or a `UsageError` that suggests the nearest. Files are checked when they are loaded."""
    if is_foreign(name):
        return name
    if name not in (*POLICY_NAMES, *EXPERIMENT_NAMES):
        raise unknown_policy(name, (*POLICY_NAMES, *installed()))
    policy_class(name)
    return name


@cache
def installed() -> dict[str, EntryPoint]:
    """The policies of other packages, by name, from the entry point group `penstock.policies`."""
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise InvalidError(
                f"two packages offer a policy {entry.name!r}: {other.value} and {entry.value}; uninstall one"
            )
    return found


def source_file(name: str) -> Path | None:
    """The file that defines a policy that is not built in, if it can be determined."""
    if name.endswith(".py"):
        return Path(name)
    if not is_foreign(name):
        return None
    spec = importlib.util.find_spec(installed()[name].module)
    return Path(spec.origin) if spec is not None and spec.origin is not None else None


def blamed_line(error: BaseException, file: str) -> str:
    """`FILE:LINE` of the innermost call inside a file, or of the innermost call at all if the file is not in the
    traceback.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    for frame in reversed(frames):
        if frame.filename == file:
            return f"{file}:{frame.lineno}"
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else file


def _from_file(path: Path) -> type[Policy]:
    source = _trusted_source(path)
    module = ModuleType("penstock_user_policy")
    module.__file__ = str(path)
    try:
        # Never imported by its name: that would prefer bytecode beside it, which anybody may have put there.
        exec(compile(source, str(path), "exec", dont_inherit=True), module.__dict__)
    except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
        place = blamed_line(error, str(path))
        raise InvalidError(f"{place}: {type(error).__name__}: {error}") from None
    if not hasattr(module, "POLICY"):
        raise InvalidError(f"{path}: must set POLICY to a subclass of penstock.Policy")
    return _checked(module.POLICY, f"{path}: POLICY")


def _load(entry: EntryPoint) -> object:
    try:
        return entry.load()
    except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
        raise InvalidError(
            f"policy {entry.name!r} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from None


def _checked(found: object, what: str) -> type[Policy]:
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InvalidError(f"{what} is not a subclass of penstock.Policy")
    if inspect.isabstract(found):
        raise InvalidError(f"{what} has no method propose(self, window, outlook=None)")
    return found


def _trusted_source(path: Path) -> bytes:
    """The bytes to run, from a file that was checked after it was opened."""
    try:
        status, source = read_own(path, MOST_SOURCE_BYTES + 1, code=True)
    except FileNotFoundError:
        raise MissingError(f"{path}: no such file") from None
    except OSError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidError(f"{path}: not a regular file")
    if status.st_mode & stat.S_IWGRP:
        raise AccessError(f"{path}: its group may write it, so it is not run (chmod g-w)")
    if len(source) > MOST_SOURCE_BYTES:
        raise InvalidError(f"{path}: more than {MOST_SOURCE_BYTES} bytes")
    return source
