"""A question about collective hints: from the user's input to the advice, with real runs if asked for."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UsageError
from penstock.plan.collective.access import Shape, make_access
from penstock.plan.collective.advise import HintAdvice, advise, confirm, learn_from
from penstock.plan.collective.confirm import HintBench
from penstock.plan.collective.launch import find_launcher
from penstock.plan.collective.learned import promise_record
from penstock.plan.collective.operation_profile import load
from penstock.plan.collective.remembered import PastComparison, history
from penstock.plan.collective.surrogates import Surrogates


@dataclass(frozen=True, slots=True)
class HintQuestion:
    """A collective write and the profile to judge it by; `confirm` runs that many of the best for real."""

    profile: Path
    ranks: int
    bytes_per_rank: int
    nodes: int = 1
    pattern: str = "contiguous"
    block: int | None = None
    gap: int = 0
    confirm: int = 0
    repetitions: int = 15
    directory: Path | None = None
    launcher: str | None = None
    thread_level: str | None = None
    command: str | None = None
    seed: int = 0


def own_history(command: str | None) -> list[PastComparison]:
    """The comparisons of one command, as the user would type it, or of all commands."""
    found = history()
    return found if command is None else [one for one in found if one.command == split_command(command)]


def split_command(command: str) -> tuple[str, ...]:
    """The words of a command as a shell would split them."""
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--command {command!r}: {error}") from None


def answer_hints(question: HintQuestion, progress: Callable[[str], None]) -> HintAdvice:
    """Rank the hints by forecast, let runs decide where asked, and correct the promise by earlier comparisons."""
    advice = _advice(question, progress)
    return learn_from(advice, promise_record(own_history(question.command)))


def _advice(question: HintQuestion, progress: Callable[[str], None]) -> HintAdvice:
    shape = Shape(question.pattern, question.block, question.gap)
    access = make_access(question.ranks, question.bytes_per_rank, shape, question.nodes)
    surrogates = Surrogates(load(question.profile))
    advice = advise(surrogates, access)
    if not question.confirm:
        return advice
    home = question.directory or Path(surrogates.profile.directory)
    level = question.thread_level or surrogates.profile.thread_level
    launcher = find_launcher(question.launcher, level)
    if launcher.text != surrogates.profile.launcher:
        # The profile is only data. The launcher that it names is shown, never started.
        said = surrogates.profile.launcher or "an unknown launcher"
        progress(
            f"warning: the profile was measured with {said}, these runs use {launcher.text}; "
            "--launcher makes them alike"
        )
    bench = HintBench(launcher, home, question.repetitions, question.seed)
    progress(f"running the best {question.confirm} on {home}")
    return confirm(advice, bench, question.confirm)
