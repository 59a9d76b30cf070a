"""Running IOR: the only place where planning starts another program."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.errors import MissingError, PenstockError
from penstock.plan.convergence import ConvergenceRule, Sample, draw
from penstock.plan.ior import Assumed, IorRun, parse_json
from penstock.plan.sampling import Template, ior_command


@dataclass(frozen=True, slots=True)
class Bench:
    """Where to write, how to start processes on the nodes, and how long one run may take."""

    directory: Path
    launcher: str
    striped: bool
    timeout_s: float = 3600.0


def find_ior() -> str | None:
    """Where IOR is, if it is anywhere."""
    return shutil.which("ior")


def run_template(template: Template, bench: Bench, rule: ConvergenceRule) -> Iterator[tuple[IorRun, Sample]]:
    """Write every pattern until it converges; yields the pattern (with its mean time) and its sample."""
    for cores, burst, stripes in template.patterns():
        sample = draw(partial(_once, template.nodes, (cores, burst, stripes), bench), rule)
        yield IorRun(template.nodes, cores, burst, stripes if bench.striped else None, sample.mean_s), sample


def _once(nodes: int, pattern: tuple[int, int, int], bench: Bench) -> float:
    cores, burst, stripes = pattern
    with tempfile.TemporaryDirectory(prefix="penstock-", dir=bench.directory) as place:
        if bench.striped:
            _call(["lfs", "setstripe", "-c", str(stripes), place], bench)
        summary = Path(place) / "summary.json"
        words = [word.replace("$DIR", place) for word in ior_command(cores, burst, nodes, bench.launcher)]
        _call([*words, "-O", f"summaryFile={summary}"], bench)
        runs = list(parse_json(summary.read_text("utf-8"), "ior", Assumed(cores=cores)))
    if not runs:
        raise PenstockError(f"ior reported no write of {nodes} nodes x {cores} processes x {burst} bytes")
    return runs[0].seconds


def _call(words: list[str], bench: Bench) -> None:
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=bench.timeout_s,
            env=os.environ | {"LC_ALL": "C"},
            check=False,
        )
    except FileNotFoundError:
        raise MissingError(f"{words[0]} is not on PATH") from None
    except subprocess.TimeoutExpired:
        raise PenstockError(f"{' '.join(words[:3])} ... did not end within {bench.timeout_s:g} s") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PenstockError(
            f"{words[0]} failed ({done.returncode}): {reason[-1] if reason else 'no message'}"
        )
