"""`penstock plan`: advice before a run. Each verb has its own module."""

from __future__ import annotations

import click

from penstock.cli.main import LazyGroup


class PlanGroup(LazyGroup):
    """The planning verbs."""

    verbs = {  # noqa: RUF012 - as its base class, a table that nothing changes
        "write": ("penstock.cli.plan_write:write", "How long a job's writes take, and how to write faster."),
        "fit": ("penstock.cli.plan_fit:fit", "Fit a write-time model on your own IOR results."),
        "sample": ("penstock.cli.plan_sample:sample", "Print or run the benchmark a model is fitted on."),
        "profile": ("penstock.cli.plan_collective:profile", "Measure what collective writes are made of."),
        "collective": ("penstock.cli.plan_collective:collective", "Rank collective-buffering hints."),
        "job": ("penstock.cli.plan_job:job", "Review a job by its Darshan log: hints, striping, time."),
    }


@click.group(
    cls=PlanGroup,
    epilog="Example: penstock plan write --system titan --nodes 64 --cores 8 --burst 1GB",
)
def plan() -> None:
    """Predict a job's writes before the run and advise how to write them."""
