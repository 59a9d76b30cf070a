"""Drishti's findings on the same log, each with what became of it here.

Drishti (drishti-io) is another reviewer of Darshan logs. It runs as a program of its own and is never imported. Each
of its critical findings and warnings is covered by a finding of ours, or there is a reason why not, from the log.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import DataError, MissingError, is_packaged
from penstock.plan.job.job_advice import JobAdvice
from penstock.units import format_size

TIMEOUT_S = 600.0
# Drishti's codes by level, from its source (0.8): other codes are notes.
CRITICAL = frozenset(
    (
        "S01",
        "P05",
        "P06",
        "P07",
        "P08",
        "P11",
        "P13",
        "P15",
        "P16",
        "P17",
        "P18",
        "P19",
        "P21",
        "P22",
        "M02",
        "M03",
    )
) | {"M09"}
WARNINGS = frozenset(("M01", "P09", "P10", "M06", "M07"))
# Which of our findings say the same.
SAME: Mapping[str, tuple[str, ...]] = {
    "S01": ("S002",),
    "P05": ("R010",),
    "P06": ("W010",),
    "P07": ("B022",),
    "P08": ("B021",),
    "P09": ("R040",),
    "P10": ("W040", "W041"),
    "P11": ("R013", "R016"),
    "P13": ("W013",),
    "P15": ("R010",),
    "P16": ("W010",),
    "P17": ("B060", "B062"),
    "P18": ("B050", "B053"),
    "P19": ("B051", "B053"),
    "P21": ("W052", "B053"),
    "P22": ("R052", "B053"),
    "M01": ("W012",),
    "M02": ("R011",),
    "M03": ("W011",),
    "M06": ("R015",),
    "M07": ("W015",),
    "M09": ("B070",),
}


@dataclass(frozen=True, slots=True)
class DrishtiFinding:
    """One finding of Drishti: `covered` names ours that say the same, or `reason` says why there is none.

    With neither it was missed.
    """

    code: str
    level: str
    covered: tuple[str, ...]
    reason: str

    @property
    def missed(self) -> bool:
        """Whether nothing here answers it."""
        return not self.covered and not self.reason


def compare_drishti(log: Path, advice: JobAdvice) -> tuple[DrishtiFinding, ...]:
    """Run Drishti on a log and answer each of its critical findings and warnings."""
    return answers(parse_codes(run_drishti(log), str(log)), advice)


def answers(codes: frozenset[str], advice: JobAdvice) -> tuple[DrishtiFinding, ...]:
    """What became of Drishti's codes here, critical ones first. Pure."""
    ours = {finding.id for finding in advice.findings}
    found = []
    for level, known in (("critical", CRITICAL), ("warning", WARNINGS)):
        for code in sorted(codes & known):
            covered = tuple(one for one in SAME[code] if one in ours)
            reason = "" if covered or code not in REASONS else REASONS[code](advice)
            found.append(DrishtiFinding(code, level, covered, reason))
    return tuple(found)


def find_drishti() -> str | None:
    """Drishti's program: beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("drishti")
    return str(beside) if beside.exists() else shutil.which("drishti")


def run_drishti(log: Path) -> str:
    """Drishti's table of findings for a log, as it writes it. It gets a copy, and leaves nothing behind."""
    program = find_drishti()
    if program is None:
        how = "put it on the PATH, or run this elsewhere" if is_packaged() else "pip install drishti-io"
        raise MissingError(f"--compare-drishti: drishti is not installed; {how}")
    with tempfile.TemporaryDirectory(prefix="penstock-drishti-") as home:
        copy = Path(home, "log.darshan")
        shutil.copyfile(log, copy)
        command = [program, "--csv", "--export_dir", home, str(copy)]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd=home,
                env=os.environ | {"HOME": home, "MPLCONFIGDIR": home},
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DataError(f"{log}: drishti took more than {TIMEOUT_S:.0f} s") from None
        table = Path(home, "log.csv")
        if done.returncode or not table.exists():
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise DataError(
                f"{log}: drishti ended with {done.returncode}: {lines[-1] if lines else 'no message'}"
            )
        return table.read_text("utf-8")


def parse_codes(text: str, source: str) -> frozenset[str]:
    """The codes that a table of Drishti says are true.

    >>> sorted(parse_codes("JOB,P05,P06,M01\\n7,True,False,True\\n", "x"))
    ['M01', 'P05']
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if len(rows) != 1 or "P05" not in rows[0]:
        raise DataError(f"{source}: drishti's table has not the form of version 0.8")
    return frozenset(code for code, value in rows[0].items() if code and value == "True")


def _not_more_than_its_offset(advice: JobAdvice, op: str) -> str:
    """Drishti's test is the other way round: it speaks where the highest offset exceeds the bytes moved."""
    files = advice.traffic.of(op)
    moved, highest = (
        sum(one.moved_bytes for one in files),
        max((one.highest_byte + 1 for one in files), default=0),
    )
    worst = max((one.moved_bytes / (one.highest_byte + 1) for one in files), default=0.0)
    if worst > 1.05 or moved > highest:
        return ""
    return (
        f"no file gets more than {worst:.3f} times its highest offset: {format_size(moved)} moved, highest offset "
        f"{format_size(highest)}; Drishti speaks where the offset is larger, which is a gap and not redundancy"
    )


def _not_through_mpiio(advice: JobAdvice, op: str) -> str:
    use = next((use for use in advice.traffic.mpiio if use.op == op), None)
    if use is None or not use.independent + use.collective + use.nonblocking:
        return f"the job {op}s nothing through MPI-IO, so there is no call to overlap"
    return ""


def _nothing_shared(advice: JobAdvice) -> str:
    if advice.facts.ranks > 1 and any(one.shared for one in advice.traffic.files):
        return ""
    return "no file is shared between ranks, so MPI-IO has nothing to gather"


def _nodes_unknown(advice: JobAdvice) -> str:
    return "the log names no nodes; --nodes lets B070 judge the aggregators, and one or two a node are left alone"


REASONS: Mapping[str, Callable[[JobAdvice], str]] = {
    "P09": lambda advice: _not_more_than_its_offset(advice, "read"),
    "P10": lambda advice: _not_more_than_its_offset(advice, "write"),
    "M01": _nothing_shared,
    "M06": lambda advice: _not_through_mpiio(advice, "read"),
    "M07": lambda advice: _not_through_mpiio(advice, "write"),
    "M09": _nodes_unknown,
}
