"""Options and outputs that every verb shares."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from penstock.errors import AccessError, MissingError, PenstockError, UsageError, did_you_mean
from penstock.units import parse_duration, parse_size

if TYPE_CHECKING:
    from rich.console import Console

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class NearestChoice(click.ParamType[str]):
    """One of some words; anything else is answered with the nearest of them."""

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
        """The words themselves."""
        return "[" + "|".join(self.words) + "]"


class PolicyName(NearestChoice):
    """A policy's name, or a Python file with one's own."""

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name itself, or a usage error."""
        return value if value.endswith(".py") else super().convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        """The words, and that a file will do."""
        return super().get_metavar(param, ctx)[:-1] + "|FILE.py]"


class Spoken(click.ParamType[float]):
    """A value in the way people write it, such as a size or a duration."""

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
        type=click.Path(path_type=Path),
        default=Path("/"),
        show_default=True,
        help="Where the client's /sys and /proc are.",
    )(function)


def state_dir_option(function: Decorated) -> Decorated:
    """`--state-dir`: where the agent keeps its journal, log and socket."""
    return click.option(
        "--state-dir",
        type=click.Path(path_type=Path),
        default=Path("/var/lib/penstock"),
        show_default=True,
        help="Where the agent keeps its journal, log and socket.",
    )(function)


def places(function: Decorated) -> Decorated:
    """Both of them."""
    return root_option(state_dir_option(function))


def emit_json(document: Mapping[str, Any]) -> None:
    """Print the document as strict JSON."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def console(*, stderr: bool = False) -> Console:
    """A rich console that respects NO_COLOR, pipes and the terminal's width."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=False)


def say_compiling() -> None:
    """Explain the one long pause a new user meets: the simulator's first start compiles it."""
    import penstock.simulate

    home = Path(penstock.simulate.__file__).parent / "__pycache__"
    if not any(home.glob("engine.run_until*.nbc")):
        click.echo("penstock: compiling the simulator, once (about half a minute)", err=True)


def require_writable(path: Path) -> None:
    """Find out before the work, not after it, that its result cannot be written; what is there stays."""
    existed = path.exists()
    try:
        path.open("a").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise refusal(path, error) from None


def progress() -> Callable[[str], None]:
    """Messages on stderr, one line each, so that logs and terminals can both bear them."""
    screen = console(stderr=True)
    return lambda message: screen.print(message, style="dim", soft_wrap=True, markup=False)


def write_text(path: Path, text: str) -> None:
    """Write an output file whole; a refusal names the path."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise refusal(path, error) from None


def write_bytes(path: Path, raw: bytes) -> None:
    """Write a binary output file whole; a refusal names the path."""
    try:
        path.write_bytes(raw)
    except OSError as error:
        raise refusal(path, error) from None


def refusal(path: Path, error: OSError) -> PenstockError:
    """The error that names what could not be written, with the right exit code."""
    if isinstance(error, FileNotFoundError):
        return MissingError(f"{path}: no such directory")
    if isinstance(error, PermissionError):
        return AccessError(f"{path}: permission denied")
    return PenstockError(f"{path}: {error.strerror}")
