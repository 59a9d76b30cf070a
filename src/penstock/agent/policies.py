"""Policies for the agent: built in by name, or a user's own from a file."""

from __future__ import annotations

import importlib.util
import os
import stat
from pathlib import Path
from random import Random

from penstock.decide.policies import policy_class
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.errors import AccessError, InvalidError, MissingError
from penstock.knobs import KnobSpace
from penstock.window import Window


def load_policy(name: str) -> type[Policy]:
    """A built-in policy, or the `POLICY` of a Python file when the name ends in `.py`.

    A file is code that runs as whoever runs the agent: it must belong to them or to root, and nobody else may
    be able to write it.
    """
    if not name.endswith(".py"):
        return policy_class(name)
    path = Path(name)
    _require_trust(path)
    spec = importlib.util.spec_from_file_location("penstock_user_policy", path)
    if spec is None or spec.loader is None:
        raise InvalidError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
        raise InvalidError(f"{path}: {type(error).__name__}: {error}") from None
    found = getattr(module, "POLICY", None)
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise InvalidError(f"{path}: must set POLICY to a subclass of penstock.decide.policies.Policy")
    return contained(found)


def contained(inner: type[Policy]) -> type[Policy]:
    """The policy, with whatever it raises turned into a decision to keep: others must not suffer."""

    class Contained(inner):  # type: ignore[valid-type, misc]
        def __init__(self, space: KnobSpace, rng: Random) -> None:
            super().__init__(space, rng)
            self._safe = space

        def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
            try:
                proposal: Proposal = super().propose(window, outlook)
                self._safe.check(proposal.setting)
            except Exception as error:  # noqa: BLE001 - somebody else's code may raise anything
                return Proposal(window.setting, "policy-error", f"{type(error).__name__}: {error}")
            return proposal

    return Contained


def _require_trust(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise MissingError(f"{path}: no such file") from None
    except OSError as error:
        raise AccessError(f"{path}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise InvalidError(f"{path}: not a regular file")
    if status.st_uid not in (0, os.geteuid()) or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise AccessError(f"{path}: others may write it, so it is not run (chown, chmod go-w)")
