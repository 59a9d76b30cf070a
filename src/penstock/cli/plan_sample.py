"""`penstock plan sample`: prints or runs the benchmark that a model is fitted to."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import NearestChoice, emit_json, json_option, seed_option, write_text
from penstock.units import format_size

if TYPE_CHECKING:
    from penstock.plan.storage import StorageSystem
    from penstock.plan.write.convergence import ConvergenceRule
    from penstock.plan.write.sample_plan import SampleCost
    from penstock.plan.write.sampling import SamplePattern, ScriptStyle


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """The options of one call."""

    system: str | None
    cores: int | None
    nodes: tuple[int, ...]
    operation: str
    budget: str | None
    model: Path | None
    run: bool
    directory: Path | None
    out: Path | None
    launcher: str | None
    confidence: float
    error: float
    max_runs: int
    rounds: int
    seed: int
    as_json: bool

    @property
    def limit_s(self) -> float | None:
        """How long runs may go on, where the budget is a time."""
        from penstock.plan.write.sample_plan import parse_budget

        return None if self.budget is None else parse_budget(self.budget).seconds


@click.command(epilog="Example: penstock plan sample --nodes 1 --nodes 2 --nodes 4 --cores 8 --budget 10GiB")
@click.option("--system", help="cetus, titan, or FILE.toml; without it only job sizes are known.")
@click.option("--cores", type=click.IntRange(min=1), help="Most processes a node, where no --system tells.")
@click.option("--nodes", type=int, multiple=True, required=True, help="Write scale; repeatable.")
@click.option(
    "--operation",
    type=NearestChoice(("write", "read")),
    default="write",
    show_default=True,
    help="What to time; a read needs a write first, and both are kept.",
)
@click.option("--budget", help="Choose patterns that fit into a time (2h) or volume (500GiB).")
@click.option(
    "--model", type=click.Path(path_type=Path), help="A fitted model: prefer what it knows least about."
)
@click.option("--run", is_flag=True, help="Run IOR now instead of printing scripts.")
@click.option("--directory", type=click.Path(path_type=Path), help="Where to write (--run).")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Samples as CSV (--run), or the script: of several --nodes one each (NAME-4.sh).",
)
@click.option(
    "--launcher",
    help="Starts {tasks} processes, {cores} on each of {nodes} nodes. Default: mpirun; srun in a script under Slurm.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="That the mean is known.")
@click.option("--error", type=float, default=0.10, show_default=True, help="To within this share of itself.")
@click.option("--max-runs", type=int, default=20, show_default=True, help="Then the pattern is unconverged.")
@click.option("--rounds", type=int, default=3, show_default=True, help="Rounds of a printed script.")
@seed_option
@json_option
def sample(**options: Any) -> None:
    """Print, or run, the writes that a model needs: burst sizes, cores and stripe counts over their ranges.

    Says first how many runs and bytes that is and about how long. A pattern is repeated until its mean is
    known well enough. Feed what comes out to `penstock plan fit`.
    """
    request = SampleRequest(**options)
    _check(request)
    from penstock.plan.write.convergence import ConvergenceRule

    system = _system(request)
    rule = ConvergenceRule(request.confidence, request.error, max_runs=request.max_runs)
    runs_each = rule.min_runs if request.run else request.rounds
    wanted, price, source = _choose(request, system, runs_each)
    hours = (
        f"{price.seconds / 3600:.1f} hours" if price.seconds >= 3600 else f"{price.seconds / 60:.1f} minutes"
    )
    click.echo(
        f"{price.runs} runs ({price.patterns} patterns x {runs_each}), {format_size(price.bytes)} written, "
        f"about {hours} by {source}",
        err=True,
    )
    _warn_of_few(price.patterns)
    if request.run:
        _run(request, system, wanted, rule)
    else:
        _print(request, system, wanted, price)


def _warn_of_few(patterns: int) -> None:
    """Say before anything runs that nothing can be fitted to it."""
    from penstock.plan.write.fitted import FEWEST_SAMPLES
    from penstock.plan.write.scale_search import FEWEST_STACKED

    if patterns < FEWEST_STACKED:
        click.echo(
            f"warning: {patterns} patterns are too few: plan fit needs {FEWEST_SAMPLES}, and {FEWEST_STACKED} for a "
            "stack, each long enough to count; raise --budget or name more --nodes",
            err=True,
        )


def _system(request: SampleRequest) -> StorageSystem:
    from penstock.errors import UsageError
    from penstock.plan.storage import flat_system, load_system

    if request.system is not None:
        return load_system(request.system)
    if request.cores is None:
        raise UsageError("--cores is missing: the most processes a node, or name --system FILE.toml")
    return flat_system("flat", max(1, *request.nodes), request.cores)


def _choose(
    request: SampleRequest, system: StorageSystem, runs_each: int
) -> tuple[list[SamplePattern], SampleCost, str]:
    import numpy as np

    from penstock.plan.write import sample_plan
    from penstock.plan.write.published import published_model
    from penstock.plan.write.sampling import templates
    from penstock.plan.write.stored_model import load_model

    rng = np.random.default_rng(request.seed)
    patterns = sample_plan.expand([one for nodes in request.nodes for one in templates(system, nodes, rng)])
    published = published_model(system)
    model = published if request.model is None else load_model(request.model)
    source = f"the published model of {published.trained_on}" if request.model is None else str(request.model)
    if request.model is None and request.system is None:
        source += ", another machine"
    seconds = sample_plan.guess_seconds(model, system, patterns)
    if request.budget is not None:
        budget = sample_plan.parse_budget(request.budget)
        sizes = np.array([float(one.total_bytes) for one in patterns])
        prices = (seconds if budget.bytes is None else sizes) * runs_each
        most = float(budget.bytes or budget.seconds or 0)
        worth = sample_plan.telling(model, system, patterns)
        kept = sample_plan.within_budget(patterns, prices, worth, most)
        if not kept:
            from penstock.errors import UsageError

            raise UsageError(
                f"--budget {request.budget}: not even the smallest pattern fits {runs_each} times"
            )
        patterns, seconds = [patterns[place] for place in kept], seconds[kept]
    return patterns, sample_plan.cost(patterns, seconds, runs_each), source


def _check(request: SampleRequest) -> None:
    from penstock.errors import UsageError

    if request.run and (request.directory is None or request.out is None):
        raise UsageError("--run needs --directory (where to write) and --out (where samples go)")
    if min(request.nodes) < 1:
        raise UsageError(f"--nodes {min(request.nodes)} is not positive")
    if request.rounds < 1:
        raise UsageError(f"--rounds {request.rounds} is not positive")
    try:
        (request.launcher or "").format(tasks=1, cores=1, nodes=1)
    except (KeyError, IndexError, ValueError):
        raise UsageError(
            f"--launcher {request.launcher!r}: only {{tasks}}, {{cores}} and {{nodes}}"
        ) from None


def _striped(request: SampleRequest, system: StorageSystem) -> bool:
    """Whether stripes can be set: a system known by its sizes alone may be any file system."""
    return request.system is not None and system.kind == "lustre"


def _print(
    request: SampleRequest, system: StorageSystem, wanted: list[SamplePattern], price: SampleCost
) -> None:
    from penstock.plan.write.sampling import ScriptStyle, by_nodes, job_script

    style = ScriptStyle(request.launcher, request.rounds, _striped(request, system), request.operation)
    text = job_script(wanted, style)
    if request.out is not None:
        _write_scripts(request.out, by_nodes(wanted), style)
    if request.as_json:
        emit_json({"cost": asdict(price), "patterns": [asdict(one) for one in wanted], "script": text})
    elif request.out is None:
        click.echo(text, nl=False)


def _write_scripts(out: Path, scales: dict[int, list[SamplePattern]], style: ScriptStyle) -> None:
    """One script for each number of nodes, so that no job holds nodes that it does not use."""
    from penstock.plan.write.sampling import job_script

    for nodes, patterns in scales.items():
        path = out if len(scales) == 1 else out.with_name(f"{out.stem}-{nodes}{out.suffix}")
        write_text(path, job_script(patterns, style))
        click.echo(f"wrote {path}", err=True)


def _run(
    request: SampleRequest, system: StorageSystem, wanted: list[SamplePattern], rule: ConvergenceRule
) -> None:
    from penstock.errors import MissingError
    from penstock.plan.write.ior_results import IorRun, write_csv
    from penstock.plan.write.ior_runner import IorBench, find_ior, run_all
    from penstock.plan.write.sampling import DEFAULT_LAUNCHER

    ior = find_ior()
    if ior is None:
        named = os.environ.get("PENSTOCK_IOR")
        lacking = (
            f"PENSTOCK_IOR={named} is no program"
            if named
            else "ior is not on PATH and PENSTOCK_IOR names none"
        )
        raise MissingError(f"{lacking}: nothing was run")
    assert request.directory is not None
    assert request.out is not None
    if not request.directory.is_dir():
        raise MissingError(f"{request.directory}: no such directory")
    bench = IorBench(
        request.directory,
        DEFAULT_LAUNCHER if request.launcher is None else request.launcher,
        striped=_striped(request, system),
        ior=ior,
        operation=request.operation,
        limit_s=request.limit_s,
    )
    runs: list[IorRun] = []
    settled = done = 0
    for found in run_all(wanted, bench, rule):
        runs += found.runs
        settled += found.sample.converged
        done += 1
        state = "converged" if found.sample.converged else "unconverged"
        count = len(found.sample.times_s)
        click.echo(f"{done}/{len(wanted)}: {found.sample.mean_s:.2f} s, {state} after {count} runs", err=True)
        write_text(request.out, write_csv(runs))
    if done < len(wanted):
        click.echo(
            f"the budget of {request.budget} is spent: {len(wanted) - done} patterns left out", err=True
        )
    if request.as_json:
        emit_json({"out": str(request.out), "patterns": done, "converged": settled, "runs": len(runs)})
