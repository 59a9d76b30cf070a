"""`penstock agent check`: what an agent would find, change and refuse on this node, without starting one."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import NearestChoice, PolicyName, emit_json, json_option, places
from penstock.cli.tables import and_more, grouped
from penstock.decide.policies import POLICY_NAMES
from penstock.errors import ExitCode

if TYPE_CHECKING:
    from penstock.agent.checking import NodeCheck, TargetCheck


@click.command(epilog="Example: penstock agent check --mode tune")
@places
@click.option("--mode", type=NearestChoice(("observe", "advise", "tune")), help="As if it ran in this mode.")
@click.option("--policy", type=PolicyName(POLICY_NAMES), help="As if it ran this policy.")
@click.option(
    "--config", type=click.Path(path_type=Path, readable=False), help="agent.toml; options here win over it."
)
@json_option
def check(
    root: Path, state_dir: Path, mode: str | None, policy: str | None, config: Path | None, as_json: bool
) -> None:
    """Say what an agent would find, touch and refuse here. Nothing is started and nothing is written.

    Exit 6 where a line `problem:` says that the agent could not tune as configured; a line `warning:` changes
    nothing. A configuration, policy or journal that would keep the agent from starting gets the exit code that
    `penstock agent run` would give.
    """
    from penstock.agent.checking import check_node
    from penstock.agent.old_guard_keys import old_key_notes
    from penstock.agent.plugins import find_policy
    from penstock.agent.settings import read_settings
    from penstock.agent.startup import Places

    chosen = {"mode": mode, "policy": policy}
    settings = read_settings(config).with_options(**{key: v for key, v in chosen.items() if v is not None})
    chosen_policy = find_policy(settings.policy)
    found = check_node(settings, Places(root, state_dir), chosen_policy)
    notes = old_key_notes(config)
    if as_json:
        where = {"root": str(root), "state_dir": str(state_dir)}
        emit_json({**dataclasses.asdict(found), "notes": list(notes), **where})
    else:
        for line in [*(f"note: {note}" for note in notes), *_lines(found)]:
            click.echo(line)
    if found.problems:
        raise click.exceptions.Exit(int(ExitCode.FINDINGS))


def _lines(found: NodeCheck) -> list[str]:
    touches = {"tune": "sets", "advise": "only advises on", "observe": "only looks at"}[found.mode]
    lines = [f"mode {found.mode}, policy {found.policy}: the agent {touches} what may be tuned"]
    if found.agent_pid is not None:
        lines.append(f"an agent runs already: pid {found.agent_pid}")
    lines += [f"problem: {problem}" for problem in found.problems]
    lines += [f"warning: {warning}" for warning in found.warnings]
    for same in grouped(found.targets, _checked_alike):
        lines += _target_lines(same)
    return [*lines, *found.others]


def _checked_alike(target: TargetCheck) -> Hashable:
    """Equal for targets of which the same is to be said."""
    return target.fs, target.state, target.refused, target.knobs


def _target_lines(same: Sequence[TargetCheck]) -> list[str]:
    target, name = same[0], and_more([one.short for one in same])
    head = f"{name} ({target.state})" if target.state != "unknown" else f"{name} on {target.fs}"
    if target.refused is not None:
        return [f"{head}: left alone: {target.refused}"]
    wide = max((len(k.knob_id) for k in target.knobs), default=0)
    return [
        f"{head}:",
        *(
            f"  {k.knob_id:<{wide}} {k.value:>6}  within {k.floor}..{k.ceiling}: {k.verdict}"
            for k in target.knobs
        ),
    ]
