"""Runs a user's policy strictly in experiments: its first mistake ends the run with an error that names file and
line.

The agent must survive a broken policy. An experiment must not, because its figures would be those of the default.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

from penstock.agent.plugins import blamed_line
from penstock.decide.answers import nonsense
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.errors import InvalidError
from penstock.knobs import KnobSpace
from penstock.window import Window


class PolicyError(InvalidError):
    """A user's policy raised an error or made an impossible proposal."""


def strict(inner: type[Policy]) -> type[Policy]:
    """The policy, with failures and impossible proposals as errors that name file, line and window."""
    first_line = definition(inner.propose)

    class Strict(inner):  # type: ignore[valid-type, misc]
        def __init__(self, space: KnobSpace, rng: Random) -> None:
            with blaming(inner, "when it was made"):
                super().__init__(space, rng)

        def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
            with blaming(inner, described(window)):
                proposal: Any = super().propose(window, outlook)
            wrong = nonsense(proposal, window, self.space)
            if wrong is not None:
                raise PolicyError(f"{first_line}: propose() returned {wrong} ({described(window)})")
            return proposal  # type: ignore[no-any-return]

        def resumed(self) -> None:
            with blaming(inner, "when its target became busy"):
                super().resumed()

    return Strict


def described(window: Window) -> str:
    """A window as a message names it."""
    return f"window {window.t0_s:.1f} to {window.t1_s:.1f} s of {window.target.name}"


@contextmanager
def blaming(code: Any, when: str) -> Iterator[None]:
    """Turn whatever is raised inside into a `PolicyError` that names the line of this class or function."""
    try:
        yield
    except Exception as error:
        place = blamed_line(error, _file(code))
        raise PolicyError(f"{place}: {type(error).__name__}: {error} ({when})") from error


def _file(code: Any) -> str:
    """Where a class or something callable is defined."""
    function = code.propose if isinstance(code, type) and issubclass(code, Policy) else code
    return definition(function).rpartition(":")[0]


def definition(function: Any) -> str:
    """`FILE:LINE` of a function, or of what an object does when it is called."""
    code = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(code, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else f"{function!r}:0"
