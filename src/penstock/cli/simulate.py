"""`penstock simulate`: runs workloads on a simulated cluster, or maps the effect of settings."""

from __future__ import annotations

import click

from penstock.cli.options import ListedGroup
from penstock.cli.serve import serve
from penstock.cli.simulate_run import run
from penstock.cli.simulate_surface import surface
from penstock.cli.workloads import workloads


@click.group(cls=ListedGroup, epilog="Example: penstock simulate run --workload s_rd_rn_1m --policy weir")
def simulate() -> None:
    """The simulated cluster: real mechanisms, virtual time."""


for verb in (run, surface, serve, workloads):
    simulate.add_command(verb)
