"""`penstock agent run`: the agent in the foreground, for a service manager or a terminal."""

from __future__ import annotations

import os
from pathlib import Path

import click

from penstock.cli.options import DURATION, NearestChoice, PolicyName, places
from penstock.decide.policies import POLICY_NAMES

MODES = ("observe", "advise", "tune")


@click.command(epilog="Example: penstock agent run --mode advise")
@places
@click.option("--mode", type=NearestChoice(MODES), help="How far it may go. [default: observe]")
@click.option("--policy", type=PolicyName(POLICY_NAMES), help="Whose decisions. [default: weir]")
@click.option("--model", help="A model file for policies that use one. [default: the shipped one]")
@click.option("--interval", type=DURATION, help="Time between two looks. [default: 500ms]")
@click.option(
    "--config", type=click.Path(path_type=Path, readable=False), help="agent.toml; options here win over it."
)
@click.option("--debug", is_flag=True, help="Say everything.")
def run(
    root: Path,
    state_dir: Path,
    mode: str | None,
    policy: str | None,
    model: str | None,
    interval: float | None,
    config: Path | None,
    debug: bool,
) -> None:
    """Observe this node's Lustre, NFS and FUSE mounts, and advise on or tune them if told to.

    Without --mode nothing is ever changed. In tune mode every original is on disk before its knob moves;
    SIGTERM gives everything back, and after a crash `penstock agent restore` does.
    """
    # One thread, because a second one would spin during every small matrix product and double the agent's cost.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    import logging

    from penstock.agent.journald import log_to_stderr
    from penstock.agent.old_guard_keys import old_key_notes
    from penstock.agent.plugins import find_policy
    from penstock.agent.service import Agent
    from penstock.agent.settings import read_settings
    from penstock.agent.startup import Places

    log_to_stderr(debug=debug)
    chosen = {"mode": mode, "policy": policy, "model": model, "interval_s": interval}
    settings = read_settings(config).with_options(**{key: v for key, v in chosen.items() if v is not None})
    for note in old_key_notes(config):
        logging.getLogger(__name__).warning("%s", note)
    chosen_policy = find_policy(settings.policy)
    Agent(settings, Places(root, state_dir), chosen_policy).run()
