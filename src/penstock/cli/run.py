"""`penstock run`: runs a user's MPI command with hints, watches it, and reports on it."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import SIZE, emit_json, json_option, seed_option
from penstock.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from penstock.plan.collective.wrap import WrappedRun

MOST_HINT_BYTES = 1 << 20
NAMED_BY = "--cb-nodes, --cb-buffer-size, --hint, --hints"
AS_IT_IS = "it runs once, as it is"


@click.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: penstock run --cb-nodes 2 --cb-buffer-size 4m -- mpiexec -n 2 hostname",
)
@click.option(
    "--hints", type=click.Path(path_type=Path), help="A ROMIO hints file, such as `plan collective` leaves."
)
@click.option("--cb-nodes", type=click.IntRange(min=1), help="Aggregators.")
@click.option("--cb-buffer-size", type=SIZE, help="Each aggregator's buffer.")
@click.option("--hint", multiple=True, metavar="NAME=VALUE", help="Any other ROMIO hint.")
@click.option(
    "--compare",
    type=click.IntRange(min=1),
    metavar="K",
    help="Run K interleaved pairs with and without the hints and say what they prove.",
)
@seed_option
@json_option
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def run(**options: Any) -> None:
    """Run an MPI command with collective-buffering hints and verify that they took effect.

    The hints reach the command through ROMIO_HINTS and MPICH_MPIIO_HINTS. Whether they worked is read from
    the kernel's account of the ranks on this host. Leaves with the command's exit code, or with 6 when it
    succeeded but the hints did not take effect. With --json the command's output goes to stderr.

    --compare runs the command 2 K times, in pairs, and remembers the verdict: the same command without any hints
    named uses those that made it faster. Without hints and without such a verdict the command runs as it is, once.
    """
    command = tuple(options["command"])
    hints, promised = _hints(options)
    proven = hints or _proven(command)
    if options["compare"] and proven:
        _compare(command, (proven, promised), options)
        return
    if options["compare"]:
        click.echo(
            f"penstock: --compare has no hints to compare: name some ({NAMED_BY}); {AS_IT_IS}", err=True
        )
    elif proven is None:
        click.echo(
            f"penstock: no hints given and none proven for this command: {AS_IT_IS}; --compare 5 with some "
            f"({NAMED_BY}) proves them",
            err=True,
        )
    hints = proven or {}
    outcome = _run_once(command, hints, options["as_json"])
    if options["as_json"]:
        emit_json({"hints": hints, **asdict(outcome)})
    _report(outcome, hints)
    sys.stdout.flush()
    _leave_as(outcome)
    if outcome.verified is False:
        raise click.exceptions.Exit(int(ExitCode.FINDINGS))


def _run_once(command: tuple[str, ...], hints: dict[str, str], quiet: bool) -> WrappedRun:
    from penstock.plan.collective.outputs import environment
    from penstock.plan.collective.wrap import run as run_wrapped
    from penstock.plan.hints import hints_file

    if not hints:
        return run_wrapped(command, {}, {}, quiet)
    with tempfile.TemporaryDirectory(prefix="penstock-run-") as home:
        path = Path(home, "romio_hints")
        path.write_text(hints_file(hints), encoding="utf-8")
        return run_wrapped(command, environment(hints, path), hints, quiet)


def _leave_as(outcome: WrappedRun) -> None:
    """Exit with the command's own exit code if it failed."""
    if outcome.exit_code:
        raise click.exceptions.Exit(_shell_code(outcome))


def _shell_code(outcome: WrappedRun) -> int:
    """The exit code as a shell tells it: 128 and the signal's number for a command that a signal ended."""
    return outcome.exit_code if outcome.exit_code >= 0 else 128 - outcome.exit_code


def _leave_uncompared(outcome: WrappedRun, hints: dict[str, str], as_json: bool) -> None:
    """End a comparison whose command failed: failed runs take no time that could be compared."""
    if not outcome.exit_code:
        return
    code = _shell_code(outcome)
    if as_json:
        emit_json({"hints": hints, "verdict": None, "exit_code": code, "pairs": []})
    click.echo(f"penstock: the command failed ({code}): nothing was compared", err=True)
    raise click.exceptions.Exit(code)


def _compare(
    command: tuple[str, ...], advised: tuple[dict[str, str], float | None], options: dict[str, Any]
) -> None:
    from penstock.plan.collective.paired import judge_pairs, run_pairs
    from penstock.plan.collective.remembered import Measured, remember, remembered_now

    hints, promised = advised
    seen: list[WrappedRun] = []

    def once(hinted: bool) -> float:
        outcome = _run_once(command, hints if hinted else {}, options["as_json"])
        _leave_uncompared(outcome, hints, options["as_json"])
        word = "with hints" if hinted else "without"
        click.echo(f"penstock: {word}: {outcome.seconds:.3f} s", err=True)
        if hinted:
            seen.append(outcome)
        return outcome.seconds

    verdict = judge_pairs(run_pairs(options["compare"], options["seed"], once))
    checks = [outcome.verified for outcome in seen]
    verified = False if False in checks else None if None in checks else True
    doubt = verdict.doubt(verified)
    figures = Measured(verdict.verdict, verdict.gain, verdict.certainty, len(verdict.pairs), doubt is None)
    path = None if verified is False else remember(remembered_now(command, hints, figures, promised))
    if options["as_json"]:
        kept = {"verified": verified, "promised": promised, "remembered": path and str(path), "doubt": doubt}
        emit_json({"hints": hints, **asdict(verdict), **kept})
    click.echo(f"penstock: {verdict.text()}", err=True)
    if promised is not None:
        used = "kept for the next advice" if doubt is None else f"no promise is corrected, for {doubt}"
        click.echo(f"penstock: promised were {promised:.2f} times as fast; {used}", err=True)
    if verified is False:
        why = next(outcome.verdict for outcome in seen if outcome.verified is False)
        click.echo(f"penstock: hints did NOT take effect: {why}", err=True)
        raise click.exceptions.Exit(int(ExitCode.FINDINGS))


def _proven(command: tuple[str, ...]) -> dict[str, str] | None:
    """The hints that an earlier comparison found faster for this command; None where it was never compared."""
    from penstock.plan.collective.remembered import recall

    found = recall(command)
    if found is None:
        return None
    used = "used" if found.verdict == "faster" else "not used"
    shown = " ".join(f"{name}={value}" for name, value in found.hints.items())
    click.echo(
        f"penstock: compared before, {found.pairs} pairs: {shown} {found.gain:.2f} times as fast ({found.verdict}), "
        f"{used}",
        err=True,
    )
    return found.hints if found.verdict == "faster" else {}


def _hints(options: dict[str, Any]) -> tuple[dict[str, str], float | None]:
    """The hints asked for, and what a file of them says was promised: only of exactly its own hints."""
    from penstock.plan.hints import parse_hints

    found: dict[str, str] = {}
    promised = None
    if options["hints"] is not None:
        found, promised = _read_hints(options["hints"])
    advised = dict(found)
    if options["cb_nodes"] is not None:
        found["cb_nodes"] = str(options["cb_nodes"])
    if options["cb_buffer_size"] is not None:
        found["cb_buffer_size"] = str(options["cb_buffer_size"])
    found |= parse_hints(options["hint"])
    # Without these two hints ROMIO limits aggregators to one per host and skips two-phase I/O for contiguous writes.
    if "cb_nodes" in found:
        found.setdefault("cb_config_list", "*:*")
        found.setdefault("romio_cb_write", "enable")
    return found, promised if found == advised else None


def _read_hints(path: Path) -> tuple[dict[str, str], float | None]:
    from penstock.errors import DataError
    from penstock.input_files import read_text
    from penstock.plan.hints import check_hint, parse_promise

    found: dict[str, str] = {}
    text = read_text(path, MOST_HINT_BYTES)
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise DataError(f"{path}: line {number}: {line.strip()[:60]!r} is not a hint's name and value")
        try:
            check_hint(words[0], words[1])
        except UsageError as error:
            raise DataError(f"{path}: line {number}: {error}") from None
        found[words[0]] = words[1]
    return found, parse_promise(text)


def _report(outcome: WrappedRun, hints: dict[str, str]) -> None:
    shown = " ".join(f"{name}={value}" for name, value in hints.items())
    if outcome.exit_code:
        click.echo(f"penstock: the command failed ({_shell_code(outcome)})", err=True)
    if not hints:
        click.echo(f"penstock: ran {outcome.seconds:.2f} s without hints", err=True)
        return
    word = {True: "took effect", False: "did NOT take effect", None: "could not be verified"}[
        outcome.verified
    ]
    click.echo(f"penstock: ran {outcome.seconds:.2f} s with {shown}", err=True)
    click.echo(f"penstock: hints {word}: {outcome.verdict}", err=True)
