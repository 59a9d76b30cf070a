"""`penstock plan sample`: the benchmark that a model is fitted on, printed or run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import emit_json, json_option, seed_option, write_text

if TYPE_CHECKING:
    from penstock.plan.convergence import ConvergenceRule
    from penstock.plan.sampling import Template
    from penstock.plan.system import System


@dataclass(frozen=True, slots=True)
class Request:
    """The options of one call."""

    system: str
    nodes: tuple[int, ...]
    run: bool
    directory: Path | None
    out: Path | None
    launcher: str
    confidence: float
    error: float
    max_runs: int
    rounds: int
    seed: int
    as_json: bool


@click.command(epilog="Example: penstock plan sample --system titan --nodes 16 --nodes 32 > sample.sh")
@click.option("--system", required=True, help="cetus, titan, or FILE.toml.")
@click.option("--nodes", type=int, multiple=True, required=True, help="Write scale; repeatable.")
@click.option("--run", is_flag=True, help="Run IOR now instead of printing scripts.")
@click.option("--directory", type=click.Path(path_type=Path), help="Where to write (--run).")
@click.option("--out", type=click.Path(path_type=Path), help="Samples as CSV (--run) or the scripts.")
@click.option(
    "--launcher",
    default="mpirun -n {tasks} --map-by ppr:{cores}:node",
    show_default=True,
    help="Starts {tasks} processes, {cores} on each of {nodes} nodes.",
)
@click.option("--confidence", type=float, default=0.95, show_default=True, help="That the mean is known.")
@click.option("--error", type=float, default=0.10, show_default=True, help="To within this share of itself.")
@click.option("--max-runs", type=int, default=20, show_default=True, help="Then the pattern is unconverged.")
@click.option("--rounds", type=int, default=3, show_default=True, help="Rounds of a printed script.")
@seed_option
@json_option
def sample(**options: Any) -> None:
    """Print, or run, the writes that a model needs: burst sizes, cores and stripe counts over their ranges.

    A pattern is repeated until its mean is known well enough. Feed what comes out to `penstock plan fit`.
    """
    request = Request(**options)
    _check(request)
    import numpy as np

    from penstock.plan.convergence import ConvergenceRule
    from penstock.plan.sampling import templates
    from penstock.plan.system import load_system

    system = load_system(request.system)
    rule = ConvergenceRule(request.confidence, request.error, max_runs=request.max_runs)
    rng = np.random.default_rng(request.seed)
    wanted = [template for nodes in request.nodes for template in templates(system, nodes, rng)]
    if request.run:
        _run(request, system, wanted, rule)
    else:
        _print(request, wanted)


def _check(request: Request) -> None:
    from penstock.errors import UsageError

    if request.run and (request.directory is None or request.out is None):
        raise UsageError("--run needs --directory (where to write) and --out (where samples go)")
    if request.rounds < 1:
        raise UsageError(f"--rounds {request.rounds} is not positive")
    try:
        request.launcher.format(tasks=1, cores=1, nodes=1)
    except (KeyError, IndexError, ValueError):
        raise UsageError(
            f"--launcher {request.launcher!r}: only {{tasks}}, {{cores}} and {{nodes}}"
        ) from None


def _print(request: Request, wanted: list[Template]) -> None:
    from dataclasses import asdict

    from penstock.plan.sampling import script

    text = "#!/bin/bash\nset -euo pipefail\n"
    text += "\n".join(script(template, request.launcher, request.rounds) for template in wanted)
    if request.out is not None:
        write_text(request.out, text)
    if request.as_json:
        emit_json({"templates": [asdict(template) for template in wanted], "script": text})
    elif request.out is None:
        click.echo(text, nl=False)


def _run(request: Request, system: System, wanted: list[Template], rule: ConvergenceRule) -> None:
    from penstock.errors import MissingError
    from penstock.plan.benchmark import Bench, find_ior, run_template
    from penstock.plan.ior import IorRun, write_csv

    if find_ior() is None:
        _print(request, wanted)
        raise MissingError("ior is not on PATH: nothing was run, the script was printed instead")
    assert request.directory is not None
    assert request.out is not None
    if not request.directory.is_dir():
        raise MissingError(f"{request.directory}: no such directory")
    bench = Bench(request.directory, request.launcher, striped=system.kind == "lustre")
    total = sum(len(template.patterns()) for template in wanted)
    runs: list[IorRun] = []
    settled = done = 0
    for template in wanted:
        for pattern, found in run_template(template, bench, rule):
            runs += [IorRun(*_shape(pattern), seconds) for seconds in found.times_s]
            settled += found.converged
            done += 1
            state = "converged" if found.converged else "unconverged"
            click.echo(
                f"{done}/{total}: {found.mean_s:.2f} s, {state} after {len(found.times_s)} runs", err=True
            )
            write_text(request.out, write_csv(runs))
    if request.as_json:
        emit_json({"out": str(request.out), "patterns": done, "converged": settled, "runs": len(runs)})


def _shape(pattern: Any) -> tuple[int, int, int, int | None]:
    return pattern.nodes, pattern.cores, pattern.burst_bytes, pattern.stripes
