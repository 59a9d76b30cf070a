"""Runs IOR. This is the only module of write-time planning that starts another program."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.errors import MissingError, PenstockError
from penstock.plan.write.convergence import ConvergenceRule, RepeatedWrite, draw
from penstock.plan.write.ior_results import Assumed, IorRun, parse_json
from penstock.plan.write.sampling import TRANSFER_BYTES, SamplePattern, ior_command


@dataclass(frozen=True, slots=True)
class IorBench:
    """Where to write, how to start processes on the nodes, and how long one run may take."""

    directory: Path
    launcher: str
    striped: bool
    ior: str = "ior"
    timeout_s: float = 3600.0


def find_ior() -> str | None:
    """The path of IOR, or None: the one that PENSTOCK_IOR names, or else the first on the path."""
    return shutil.which(os.environ.get("PENSTOCK_IOR") or "ior")


@dataclass(frozen=True, slots=True)
class SampledPattern:
    """One pattern that was written until its mean converged or the maximum number of runs was reached."""

    runs: tuple[IorRun, ...]
    sample: RepeatedWrite


def run_all(
    wanted: Sequence[SamplePattern], bench: IorBench, rule: ConvergenceRule
) -> Iterator[SampledPattern]:
    """Write every pattern until its mean is known or its runs are spent, one after the other."""
    for pattern in wanted:
        sample = draw(partial(_once, pattern, bench), rule)
        stripes = pattern.stripes if bench.striped else None
        shape = (pattern.nodes, pattern.cores, pattern.burst_bytes, stripes)
        runs = tuple(IorRun(*shape, seconds, TRANSFER_BYTES, shared=False) for seconds in sample.times_s)
        yield SampledPattern(runs, sample)


def _once(pattern: SamplePattern, bench: IorBench) -> float:
    with tempfile.TemporaryDirectory(prefix="penstock-", dir=bench.directory) as place:
        if bench.striped:
            _call(["lfs", "setstripe", "-c", str(pattern.stripes), place], bench)
        summary = Path(place) / "summary.json"
        words = [word.replace("$DIR", place) for word in ior_command(pattern, bench.launcher)]
        words = [bench.ior if word == "ior" else word for word in words]
        _call([*words, "-O", f"summaryFile={summary}"], bench)
        runs = list(parse_json(summary.read_text("utf-8"), "ior", Assumed(cores=pattern.cores)))
    if not runs:
        raise PenstockError(
            f"ior reported no write of {pattern.nodes} nodes x {pattern.cores} processes x "
            f"{pattern.burst_bytes} bytes"
        )
    return runs[0].seconds


def _call(words: list[str], bench: IorBench) -> None:
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
