"""The `penstock` command: the table of verbs, and the only place where errors become exit codes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar, NoReturn

import click

from penstock import __version__, shown
from penstock.cli.suggesting import SuggestingGroup
from penstock.errors import ExitCode, PenstockError, TerminatedError

# verb -> (home of its click command, one line for --help). Homes are imported only when their verb is used.
VERBS = {
    "demo": ("penstock.cli.demo:demo", "Tune a simulated client live, beside one left at its defaults."),
    "snapshot": (
        "penstock.cli.snapshot:snapshot",
        "Read a client's knobs and counters: once, live, or recorded.",
    ),
    "replay": ("penstock.cli.replay:replay", "Compute the windows of a recording."),
    "agent": ("penstock.cli.agent:agent", "Keep this node tuned; undo it after anything."),
    "dash": ("penstock.cli.dash:dash", "See in a browser what tuning does here, and why."),
    "simulate": ("penstock.cli.simulate:simulate", "The simulated cluster: run a workload, map its surface."),
    "train": ("penstock.cli.train:train", "Make a model from measurements: collect, fit, compare, study."),
    "model": ("penstock.cli.model:model", "Look into a model: show, check, predict, evaluate, explain."),
    "evaluate": (
        "penstock.cli.evaluate:evaluate",
        "The evidence: every experiment of the papers, with honest baselines.",
    ),
    "schedule": ("penstock.cli.schedule:schedule", "Share OSTs and I/O nodes between running jobs."),
    "plan": ("penstock.cli.plan:plan", "Predict a job's writes before the run and advise how to write."),
    "campaign": (
        "penstock.cli.campaign:campaign",
        "Many simulations: on local processes, on Dask, or on Slurm through Dask.",
    ),
    "fleet": (
        "penstock.cli.fleet:fleet",
        "Many nodes' logs as one page: where tuning helped, and where not.",
    ),
    "run": ("penstock.cli.run:run", "Run an MPI command with hints and verify that they took effect."),
}
INTERRUPTED = 130
EXAMPLE = "Example: "
TERMINATED = 143


class ReaderLeftError(Exception):
    """The reader of our output closed it before the end."""


class LazyGroup(SuggestingGroup):
    """A group that knows its verbs by name and imports a verb only to run it."""

    verbs: ClassVar[Mapping[str, tuple[str, str]]] = VERBS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs, in the order of the table: the order of a job's life."""
        return list(self.verbs)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the verb's module and fetch its command."""
        if cmd_name not in self.verbs:
            return None
        module, _, attribute = self.verbs[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        _unwrap_examples(command)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """As click does, but a reader that left is no failure, and an interruption prints no empty line."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderLeftError from None
        except KeyboardInterrupt:
            raise click.Abort from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table's own lines, so that --help imports nothing."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, text) for verb, (_, text) in self.verbs.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExample:\n  penstock demo\n\nShell completion: "
    'eval "$(_PENSTOCK_COMPLETE=bash_source penstock)"',
)
@click.version_option(__version__, prog_name="penstock")
def cli() -> None:
    """Penstock makes shared HPC storage fast without anyone touching it.

    Data goes to stdout, messages and progress to stderr. Exit codes: 0 ok, 1 failure, 2 usage, 3 not found,
    4 permission, 5 invalid config, model or data, 6 findings, 7 agent unreachable.
    """


def _unwrap_examples(command: click.Command) -> None:
    """Show a command's example on a line of its own, because click would wrap it like prose."""
    if command.epilog and command.epilog.startswith(EXAMPLE):
        command.epilog = f"\b\nExample:\n  {command.epilog.removeprefix(EXAMPLE)}"
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _unwrap_examples(inner)


def main() -> NoReturn:
    """Run the command line and leave with the documented exit code; never a traceback for a known failure."""
    shown.guard_streams()
    code = _run()
    if code in (INTERRUPTED, TERMINATED):
        # Everything of ours is closed by now. Unloading the compiler can take seconds, so the process exits at once.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _run() -> int:
    try:
        code = cli.main(prog_name="penstock", standalone_mode=False)
        sys.stdout.flush()
    except (PenstockError, PermissionError) as error:
        return _known(error)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return int(ExitCode.USAGE)
    except click.ClickException as error:
        # Click reports a file without read permission as wrong usage.
        closed = isinstance(error, click.BadParameter) and error.message.endswith("is not readable.")
        return _fail(_usage(error), ExitCode.PERMISSION if closed else error.exit_code)
    except (KeyboardInterrupt, click.Abort, TerminatedError) as error:
        told = isinstance(error, TerminatedError)
        return _fail("terminated" if told else "interrupted", TERMINATED if told else INTERRUPTED)
    except (BrokenPipeError, ReaderLeftError):
        return _reader_left()
    return int(code or ExitCode.OK)


def _known(error: PenstockError | PermissionError) -> int:
    if isinstance(error, PermissionError):
        return _fail(f"{error.filename or 'a file'}: permission denied", ExitCode.PERMISSION)
    return _fail(str(error), error.exit_code)


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    context = error.ctx if isinstance(error, click.UsageError) else None
    return f"{message} (try '{context.command_path} --help')" if context else message


def _fail(message: str, code: int) -> int:
    one_line = shown.line(" ".join(message.split("\n")))
    with contextlib.suppress(BrokenPipeError):
        click.echo(f"penstock: {one_line}", err=True)
    return int(code)


def _reader_left() -> int:
    # The reader has all it wanted. What is still buffered must not raise again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return int(ExitCode.OK)


if __name__ == "__main__":
    main()
