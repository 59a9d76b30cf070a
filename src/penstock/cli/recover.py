"""`penstock agent restore` and `verify`: they need the journal and the client, but no agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import emit_json, json_option, places
from penstock.errors import ExitCode, FindingsError, PenstockError

if TYPE_CHECKING:
    from penstock.actuate.recovery import Restored, Verified


@click.command(epilog="Example: penstock agent restore --json")
@places
@click.option(
    "--commands", "only_commands", is_flag=True, help="Print lctl commands instead; change nothing."
)
@json_option
def restore(root: Path, state_dir: Path, only_commands: bool, as_json: bool) -> None:
    """Bring every knob back to its original.

    Works after a crash, a kill or a stop of the agent, and can be repeated. A value that an administrator
    gave a knob meanwhile is left and named. Exit 0 when every knob holds its original or such a value.
    """
    from penstock.actuate.recovery import restore_all, verify_all

    if only_commands:
        found = verify_all(root, state_dir)
        if as_json:
            emit_json({"commands": list(found.rollback)})
        else:
            click.echo("\n".join(found.rollback))
        _require_read(found)
        return
    if _ask_agent(state_dir, as_json=as_json):
        return
    outcome = restore_all(root, state_dir)
    if as_json:
        emit_json(_restored_document(outcome))
    else:
        _tell_restored(outcome)
    if outcome.failed:
        raise PenstockError(f"{len(outcome.failed)} not restored: {outcome.failed[0]}")


def _ask_agent(state_dir: Path, *, as_json: bool) -> bool:
    """Let a running agent restore, after which it stays paused until resumed. Returns false if there is none."""
    from penstock.agent.control import request
    from penstock.agent.startup import SOCKET_FILE
    from penstock.errors import UnreachableError

    try:
        answer = request(state_dir / SOCKET_FILE, "restore")
    except UnreachableError:
        return False
    if as_json:
        emit_json(answer)
        return True
    click.echo("The running agent gave everything back and is paused; `penstock agent resume` lets it go on.")
    for row in answer["restored"]:
        click.echo(f"{row['target']}: {row['error'] or 'restored'}")
    return True


@click.command(epilog="Example: penstock agent verify --json")
@places
@json_option
def verify(root: Path, state_dir: Path, as_json: bool) -> None:
    """Say which knobs do not hold what they should, and print the commands that undo everything by hand.

    While an agent runs, knobs should hold what it last set; otherwise their originals. Exit 6 when anything
    differs. Nothing is changed.
    """
    from penstock.actuate.recovery import verify_all

    found = verify_all(root, state_dir)
    if as_json:
        emit_json(_verified_document(found))
    else:
        _tell_verified(found)
    if found.differences:
        if as_json:
            raise click.exceptions.Exit(int(ExitCode.FINDINGS))
        count = len(found.differences)
        what = "1 knob differs from what it" if count == 1 else f"{count} knobs differ from what they"
        raise FindingsError(f"{what} should be")
    _require_read(found)


def _require_read(found: Verified) -> None:
    if found.unread:
        raise PenstockError(f"{len(found.unread)} could not be read: {found.notes[-1]}")


def _restored_document(outcome: Restored) -> dict[str, object]:
    return {
        "restored": [
            {
                "target": moved.target,
                "knob": moved.change.knob_id,
                "from": moved.change.old,
                "to": moved.change.new,
            }
            for moved in outcome.moved
        ],
        "left": [{"target": left.target, "knob": left.knob_id, "value": left.value} for left in outcome.left],
        "gone": list(outcome.gone),
        "failed": list(outcome.failed),
        "notes": list(outcome.notes),
    }


def _tell_restored(outcome: Restored) -> None:
    for note in outcome.notes:
        click.echo(note, err=True)
    for moved in outcome.moved:
        click.echo(f"{moved.target}: {moved.change}")
    for left in outcome.left:
        click.echo(f"{left.target}: {left.knob_id} left at {left.value}: somebody else set it")
    for name in outcome.gone:
        click.echo(f"{name}: gone, nothing to restore")
    if not (outcome.moved or outcome.left or outcome.gone or outcome.failed):
        click.echo("Nothing to restore.")


def _verified_document(found: Verified) -> dict[str, object]:
    return {
        "agent": found.agent_pid,
        "findings": [
            {
                "target": difference.target,
                "knob": difference.knob_id,
                "expected": difference.expected,
                "actual": difference.actual,
                "why": difference.why,
            }
            for difference in found.differences
        ],
        "rollback": list(found.rollback),
        "gone": list(found.gone),
        "notes": list(found.notes),
    }


def _tell_verified(found: Verified) -> None:
    for note in found.notes:
        click.echo(note, err=True)
    for difference in found.differences:
        click.echo(
            f"{difference.target}: {difference.knob_id} is {difference.actual}, should be "
            f"{difference.expected}: {difference.why}"
        )
    if found.rollback:
        click.echo("To undo everything by hand:")
        for line in found.rollback:
            click.echo(line)
    if not (found.differences or found.unread):
        click.echo("Everything holds what it should.")
