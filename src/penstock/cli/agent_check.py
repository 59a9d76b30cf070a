"""`penstock agent check`: what an agent would find, change and refuse on this node, without starting one."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import NearestChoice, PolicyName, emit_json, json_option, places
from penstock.decide.policies import POLICY_NAMES

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

    Exit 0 whatever it finds; a configuration, policy or journal that would keep the agent from starting gets
    the exit code that `penstock agent run` would give.
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
        return
    for line in [*(f"note: {note}" for note in notes), *_lines(found)]:
        click.echo(line)


def _lines(found: NodeCheck) -> list[str]:
    touches = {"tune": "sets", "advise": "only advises on", "observe": "only looks at"}[found.mode]
    lines = [f"mode {found.mode}, policy {found.policy}: the agent {touches} what may be tuned"]
    if found.agent_pid is not None:
        lines.append(f"an agent runs already: pid {found.agent_pid}")
    lines += [f"problem: {problem}" for problem in found.problems]
    for target in found.targets:
        lines += _target_lines(target)
    return [*lines, *found.others]


def _target_lines(target: TargetCheck) -> list[str]:
    head = (
        f"{target.short} ({target.state})" if target.state != "unknown" else f"{target.short} on {target.fs}"
    )
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
