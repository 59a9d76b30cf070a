"""Options and outputs that every verb shares."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, cast

import click
from click.core import ParameterSource

from penstock import shown
from penstock.cli.suggesting import SuggestingGroup
from penstock.errors import (
    MissingError,
    UsageError,
    did_you_mean,
    refusal,
    require_extra,
)
from penstock.output_files import replace_file, require_replaceable
from penstock.units import parse_duration, parse_size

if TYPE_CHECKING:
    from rich.console import Console

# Wider than any table, because a pipe has no edge.
PIPE_WIDTH = 4096
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class NearestChoice(click.ParamType[str]):
    """One of several words. Any other word is answered with the nearest of them."""

    name = "choice"

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word itself, or a usage error."""
        if value not in self.words:
            known = ", ".join(self.words)
            self.fail(f"{value!r} is not one of {known}{did_you_mean(value, self.words)}", param, ctx)
        return value

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Offer the words that fit."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(word) for word in self.words if word.startswith(incomplete)]

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The words themselves, or the first and last where they would fill a screen's line."""
        words = self.words if sum(map(len, self.words)) <= 50 else (*self.words[:3], "...", self.words[-1])
        return "[" + "|".join(words) + "]"


class PolicyName(NearestChoice):
    """The name of a policy, built in or installed, or a Python file with a policy."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself, or a usage error; a file must exist."""
        if value.endswith(".py") and not Path(value).exists():
            raise MissingError(f"{value}: no such file")
        if value.endswith(".py") or value in self.words:
            return value
        from penstock.agent.plugins import installed
        from penstock.decide.policies import MOVED_NAMES, unknown_policy

        if value in MOVED_NAMES and value not in installed():
            raise unknown_policy(value, self.words)
        return NearestChoice((*self.words, *installed())).convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """That a name and a file will do; the names are too many for one line."""
        return "NAME|FILE.py"


class FiniteRange(click.FloatRange):
    """A number within limits. `nan` is within all of them for click, and `inf` in those that are open."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, or a usage error."""
        try:
            found = super().convert(float(value), param, ctx)
        except ValueError:
            self.fail(f"{value!r} is not a number", param, ctx)
        if not math.isfinite(found):
            self.fail(f"{value} is not a finite number", param, ctx)
        return found


class Spoken(click.ParamType[float]):
    """A value as people write it, such as a size or a duration."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The parsed number, or a usage error."""
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except UsageError as error:
            self.fail(str(error), param, ctx)


SIZE = Spoken("size", parse_size)
DURATION = Spoken("duration", parse_duration)


def refuse_given(names: Collection[str], why: str) -> None:
    """Refuse options of the running command that were named although they have no effect here, as `why` says."""
    context = click.get_current_context()
    for parameter in context.command.params:
        if (
            parameter.name in names
            and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        ):
            raise UsageError(f"{parameter.opts[0]} {why}")


def json_option(function: Decorated) -> Decorated:
    """`--json`: exactly one JSON document on stdout."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")(function)


def seed_option(function: Decorated) -> Decorated:
    """`--seed`: equal seeds, equal runs."""
    return click.option("--seed", type=int, default=0, show_default=True, help="Equal seeds, equal runs.")(
        function
    )


def root_option(function: Decorated) -> Decorated:
    """`--root`: where the client's kernel files are."""
    return click.option(
        "--root",
        type=click.Path(path_type=Path, readable=False),
        default=Path("/"),
        show_default=True,
        envvar="PENSTOCK_ROOT",
        help="Where the client's /sys and /proc are.",
    )(function)


def state_dir_option(function: Decorated) -> Decorated:
    """`--state-dir`: where the agent keeps its journal, log and socket."""
    return click.option(
        "--state-dir",
        type=click.Path(path_type=Path, readable=False),
        default=Path("/var/lib/penstock"),
        show_default=True,
        envvar="PENSTOCK_STATE_DIR",
        help="Where the agent keeps its journal, log and socket.",
    )(function)


def together(*options: Callable[[Any], Any]) -> Callable[[Decorated], Decorated]:
    """One decorator for several options, in the order in which --help lists them."""

    def decorate(function: Decorated) -> Decorated:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def places(function: Decorated) -> Decorated:
    return root_option(state_dir_option(function))


def emit_json(document: Mapping[str, Any]) -> None:
    """Print the document as strict JSON."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


class ListedGroup(SuggestingGroup):
    """A group whose help lists each command with its whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, but nothing is cut."""
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, command.get_short_help_str(limit=10_000))
                    for name in self.list_commands(ctx)
                    if (command := self.get_command(ctx, name)) is not None
                ]
            )


def console(*, stderr: bool = False) -> Console:
    """A rich console that respects NO_COLOR and the terminal's width; a pipe gets lines as long as they are."""
    from rich.console import Console
    from rich.segment import Segment
    from rich.table import Table

    from penstock.cli.tables import fit

    class Screen(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            for each in objects:
                if isinstance(each, Table):
                    fit(each, self)
            super().print(*objects, **options)

        def render(self, *arguments: Any, **options: Any) -> Iterator[Segment]:
            # Here text and our own control sequences are still apart.
            for segment in super().render(*arguments, **options):
                text = segment.text if segment.control else shown.lines(segment.text)
                yield segment if text is segment.text else Segment(text, segment.style)

        def on_broken_pipe(self) -> None:
            # Rich would exit 1, but a reader that has all it wanted is not a failure (see `cli.main`).
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_WIDTH
    laid_out = cast(IO[str], shown.LaidOut(stream)) if isinstance(stream, shown.ShownStream) else None
    return Screen(
        file=laid_out, stderr=stderr, width=width, highlight=False, markup=False, emoji=False, soft_wrap=False
    )


def require_libraries(extra: str, *libraries: str) -> None:
    """Find out before the work, not after it, that a library is missing; say which extra brings it."""
    from importlib.util import find_spec

    for library in libraries:
        if find_spec(library) is None:
            raise require_extra(extra, ImportError(name=library))


def prepare_simulator() -> None:
    """Require what compiles the simulator, and explain the one long pause a new user meets: the first compile."""
    require_libraries("demo", "numba")
    import penstock.simulate.kernel

    home = Path(penstock.simulate.kernel.__file__).parent / "__pycache__"
    if not any(home.glob("engine.run_until*.nbc")):
        click.echo("penstock: compiling the simulator, once (about half a minute)", err=True)


def require_writable(path: Path) -> None:
    """Find out before the work, not after it, that its result cannot be written; what is there stays."""
    try:
        require_replaceable(path)
    except OSError as error:
        raise refusal(path, error) from None


def progress() -> Callable[[str], None]:
    """Messages on stderr, one line each, so that logs and terminals can both bear them."""
    screen = console(stderr=True)
    return lambda message: screen.print(message, style="dim", soft_wrap=True, markup=False)


class StageProgress:
    """Reports the progress of each stage on stderr, at most one line every few seconds, and its end."""

    def __init__(self, every_s: float = 5.0) -> None:
        self._every_s = every_s
        self._said_s = time.monotonic()
        self._started: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        started_s = self._started.setdefault(stage, now_s)
        if now_s - self._said_s < self._every_s and done < total:
            return
        self._said_s = now_s
        click.echo(f"penstock: {stage}: {done} of {total}, {now_s - started_s:.0f} s", err=True)
        if done == total:
            del self._started[stage]


def write_text(path: Path, text: str) -> None:
    """Write an output file whole; a refusal names the path."""
    try:
        replace_file(path, text)
    except OSError as error:
        raise refusal(path, error) from None


def write_bytes(path: Path, raw: bytes) -> None:
    """Write a binary output file whole; a refusal names the path."""
    try:
        replace_file(path, raw)
    except OSError as error:
        raise refusal(path, error) from None
