"""`penstock agent`: keeps a node tuned, and undoes it. Each verb is a module that is imported on first use."""

from __future__ import annotations

from typing import ClassVar

import click

from penstock.cli.main import LazyGroup


class AgentGroup(LazyGroup):
    """The verbs of the agent. A new verb needs a line here and a module."""

    verbs: ClassVar[dict[str, tuple[str, str]]] = {
        "run": ("penstock.cli.agent_run:run", "Observe, advise or tune until stopped."),
        "check": ("penstock.cli.agent_check:check", "What an agent would do here, without starting one."),
        "status": ("penstock.cli.agent_control:status", "What the running agent sees and does."),
        "explain": ("penstock.cli.agent_control:explain", "Why one decision was made, in numbers."),
        "replay": (
            "penstock.cli.agent_replay:replay",
            "Make a log's decisions again; exit 6 if one differs.",
        ),
        "mode": ("penstock.cli.agent_control:mode", "Switch between observe, advise and tune."),
        "pause": ("penstock.cli.agent_control:pause", "Leave targets alone for now."),
        "resume": ("penstock.cli.agent_control:resume", "Tune paused targets again."),
        "top": ("penstock.cli.agent_top:top", "Watch it live; pause, change mode, explain by key."),
        "report": ("penstock.cli.agent_report:report", "What was changed in a period, and what that did."),
        "trial": ("penstock.cli.agent_report:trial", "Is tuning worth it here? A switchback experiment."),
        "restore": ("penstock.cli.recover:restore", "Bring back every original; needs no agent."),
        "verify": ("penstock.cli.recover:verify", "Say what differs from what should be (exit 6)."),
    }


@click.group(cls=AgentGroup, epilog="Example: penstock agent restore")
def agent() -> None:
    """Keep the knobs of this node's Lustre, NFS and FUSE mounts tuned, and undo it after anything."""
