"""Options and progress that the verbs of `penstock simulate` share."""

from __future__ import annotations

import time
from collections.abc import Callable

import click

from penstock.cli.options import DURATION, Decorated, json_option, seed_option, together


def cluster_options(*, workload_required: bool = True) -> Callable[[Decorated], Decorated]:
    """The cluster, the workload and the times of a run."""
    return together(
        click.option(
            "--cluster", "cluster_name", default="c220g5", show_default=True, metavar="NAME|FILE.toml"
        ),
        click.option(
            "--workload",
            required=workload_required,
            metavar="NAME",
            help="As in s_wr_rn_1m, or an application: penstock simulate workloads.",
        ),
        click.option("--seconds", type=DURATION, default=20.0, show_default=True, help="Measured time."),
        click.option("--warmup", type=DURATION, default=5.0, show_default=True, help="Time before that."),
        click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Change one parameter."),
        seed_option,
        json_option,
    )


class Progress:
    """Reports progress on stderr, one line per tenth, once a job has lasted a while."""

    def __init__(self, total: float, patience_s: float = 0.0) -> None:
        self._total = total
        self._said = 0
        self._from_s = time.monotonic() + patience_s

    def __call__(self, done: float) -> None:
        tenth = int(10 * done / self._total)
        if tenth > self._said and time.monotonic() >= self._from_s:
            self._said = tenth
            click.echo(f"penstock: {10 * tenth} %", err=True)
