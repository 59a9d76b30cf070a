"""Runs IOR. This is the only module of write-time planning that starts another program."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
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
    operation: str = "write"
    timeout_s: float = 3600.0
    #: No pattern is begun after this time; None is no limit.
    limit_s: float | None = None


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
    """Time every pattern until its mean is known or its runs are spent, one after the other."""
    started = time.monotonic()
    for pattern in wanted:
        if bench.limit_s is not None and time.monotonic() - started > bench.limit_s:
            return
        runs: list[IorRun] = []
        sample = draw(partial(_timed, pattern, bench, runs), rule)
        yield SampledPattern(tuple(runs), sample)


def _timed(pattern: SamplePattern, bench: IorBench, runs: list[IorRun]) -> float:
    """The seconds of what is asked about; every operation of the run is kept."""
    stripes = pattern.stripes if bench.striped else None
    shape = (pattern.nodes, pattern.cores, pattern.burst_bytes, stripes)
    for operation, seconds in (found := _once(pattern, bench)).items():
        runs.append(IorRun(*shape, seconds, TRANSFER_BYTES, False, operation))
    return found[bench.operation]


def _once(pattern: SamplePattern, bench: IorBench) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="penstock-", dir=bench.directory) as place:
        if bench.striped:
            _call(["lfs", "setstripe", "-c", str(pattern.stripes), place], bench)
        summary = Path(place) / "summary.json"
        words = [
            word.replace("$DIR", place) for word in ior_command(pattern, bench.launcher, bench.operation)
        ]
        words = [bench.ior if word == "ior" else word for word in words]
        _call([*words, "-O", f"summaryFile={summary}"], bench)
        text = summary.read_text("utf-8")
    asked = ("write", "read") if bench.operation == "read" else ("write",)
    found = {}
    for operation in asked:
        runs = list(parse_json(text, "ior", Assumed(cores=pattern.cores, operation=operation)))
        if not runs:
            raise PenstockError(
                f"ior reported no {operation} of {pattern.nodes} nodes x {pattern.cores} processes x "
                f"{pattern.burst_bytes} bytes"
            )
        found[operation] = runs[0].seconds
    return found


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
