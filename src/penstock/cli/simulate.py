"""`penstock simulate`: the simulated cluster. One verb a command, imported when used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import click

from penstock.cli.main import LazyGroup


class SimulateGroup(LazyGroup):
    """The verbs of the simulator."""

    verbs: ClassVar[Mapping[str, tuple[str, str]]] = {
        "serve": ("penstock.cli.serve:serve", "A simulated client as a live Lustre tree."),
    }


@click.group(cls=SimulateGroup, epilog="Example: penstock simulate serve --root ./client")
def simulate() -> None:
    """Run the simulated cluster, or serve a client of it as files."""
