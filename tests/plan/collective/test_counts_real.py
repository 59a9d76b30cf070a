"""The operation-count model against real ROMIO: every rank's storage calls, by the kernel's account."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.plan.collective.access import Access
from penstock.plan.collective.confirm import wrote_as_counted
from penstock.plan.collective.counts import count
from penstock.plan.collective.launch import find_launcher, run_tasks
from penstock.plan.collective.romio import Hints
from penstock.units import KIB

pytestmark = pytest.mark.live

pytest.importorskip("mpi4py", reason="needs MPI: pip install 'penstock[mpi]'")

# ranks -> (cases, most rounds of a case). Ranks beyond the cores wait for each other, so they get few.
CASES = {2: (170, 40), 3: (18, 15), 4: (10, 12), 5: (4, 8), 8: (2, 4), 16: (1, 2)}
Case = tuple[Access, dict[str, str]]


def _access(rng: random.Random, ranks: int) -> Access:
    bytes_per_rank = rng.choice([rng.randint(1, 5000), rng.randint(5000, 200_000), 1 << rng.randint(4, 17)])
    pattern = rng.choice(["contiguous", "strided", "strided", "holes", "holes"])
    if pattern == "contiguous":
        return Access(ranks, 1, bytes_per_rank, bytes_per_rank)
    least = 1 + bytes_per_rank // 500
    block = min(bytes_per_rank, rng.choice([rng.randint(least, bytes_per_rank), least * rng.randint(1, 40)]))
    gap = 0 if pattern == "strided" else rng.choice([1, 64, rng.randint(1, 3 * block)])
    return Access(ranks, 1, bytes_per_rank, block, gap)


def _hints(rng: random.Random, access: Access, most_rounds: int) -> dict[str, str]:
    aggregators = rng.randint(1, access.ranks + 2)
    least = 1 + access.range_bytes // min(aggregators, access.ranks) // most_rounds
    hints = {
        "cb_nodes": str(aggregators),
        "cb_buffer_size": str(rng.choice([least, least + rng.randint(0, least), 1 << least.bit_length()])),
        "cb_config_list": "*:*",
        "romio_cb_write": rng.choice(["enable", "enable", "enable", "automatic", "disable"]),
        "romio_ds_write": rng.choice(["automatic", "enable", "disable"]),
        "striping_unit": str(rng.choice([1, 2]) * 64 * KIB),
        "ind_wr_buffer_size": str(1 + access.range_bytes // rng.randint(1, most_rounds)),
    }
    dropped = {name for name in hints if rng.random() < (0.75 if name == "striping_unit" else 0.15)}
    if "cb_config_list" in dropped or "cb_nodes" in dropped:
        hints["cb_buffer_size"] = str(1 + access.range_bytes // most_rounds)
    return {name: value for name, value in hints.items() if name not in dropped}


def _task(directory: Path, cases: list[Case]) -> dict[str, object]:
    asked = [
        {
            "bytes_per_rank": access.bytes_per_rank,
            "block_bytes": access.block_bytes,
            "gap_bytes": access.gap_bytes,
            "file_bytes": access.range_bytes + access.slot_bytes,
            "hints": hints,
        }
        for access, hints in cases
    ]
    return {"task": "write_cases", "dir": str(directory), "cases": asked}


def _typed(given: Mapping[str, str]) -> Hints:
    """The hints as the model takes them; those that do not touch writing are left out."""
    known = {name: given[name] for name in Hints.__slots__ if name in given}
    return Hints(**{name: int(value) if value.isdigit() else value for name, value in known.items()})  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("ranks", CASES)
def test_counts_equal_what_the_kernel_saw(ranks: int, tmp_path: Path) -> None:
    rng = random.Random(ranks)
    number, most_rounds = CASES[ranks]
    accesses = [_access(rng, ranks) for _ in range(number)]
    cases = [(access, _hints(rng, access, most_rounds)) for access in accesses]
    (answers,) = run_tasks(find_launcher(), ranks, [_task(tmp_path, cases)], timeout_s=1200)
    assert len(answers) == number
    for (access, hints), answer in zip(cases, answers, strict=True):
        counts = count(access, _typed(hints))
        expected = zip(counts.per_rank_writes, counts.per_rank_bytes, counts.per_rank_reads, strict=True)
        for (calls, moved, reads), wanted in zip(answer["per_rank"], expected, strict=True):
            assert wrote_as_counted((calls, moved), wanted[:2]), (access, hints, calls, moved, wanted)
            assert reads == wanted[2], (access, hints)


def test_cases_are_at_least_two_hundred() -> None:
    assert sum(number for number, _ in CASES.values()) >= 200
