from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.plan.collective.access import Access
from penstock.plan.collective.counts import count, file_domains
from penstock.plan.collective.romio import NO_HINTS, Hints, resolve, two_phase
from penstock.plan.hints import check_hint
from penstock.units import GIB, KIB, MIB

from .test_access import accesses, owners_by_byte


@given(accesses(), st.integers(1, 6), st.integers(1, 60), st.sampled_from([0, 7, 16]))
def test_counts_equal_a_walk_through_every_buffer(
    access: Access, aggregators: int, buffer_bytes: int, unit: int
) -> None:
    hints = Hints(aggregators, buffer_bytes, "*:*", "enable", striping_unit=unit)
    counts, owners = count(access, hints), owners_by_byte(access)
    plan = resolve(access, hints)
    for found, (start, end) in zip(counts.aggregators, file_domains(access, plan), strict=True):
        data = [byte for byte in range(start, end) if owners[byte] is not None]
        windows = [
            owners[at : min(at + buffer_bytes, data[-1] + 1)]
            for at in (range(data[0], data[-1] + 1, buffer_bytes) if data else ())
        ]
        written = [window for window in windows if any(owner is not None for owner in window)]
        assert found.rounds == len(windows)
        assert found.writes == len(written)
        assert found.written_bytes == sum(map(len, written))
        assert found.reads == sum(None in window for window in written)
        senders = [len(set(window) - {None}) for window in written]
        assert sum(batch.rounds * batch.senders for batch in found.batches) == sum(senders)


@pytest.mark.parametrize("aggregators", [1, 2, 4, 8])
def test_strided_call_makes_the_collectives_mpich_makes(aggregators: int) -> None:
    access = Access(8, 1, MIB, 16 * KIB)
    counts = count(access, two_phase(aggregators, 256 * KIB, access))
    rounds = 8 * MIB // aggregators // (256 * KIB)
    assert counts.rounds == rounds
    assert (counts.allgathers, counts.alltoalls) == (2, 1 + rounds)
    assert counts.allreduces == 1 + (aggregators > 1)
    assert counts.bcasts == (aggregators == 1)
    assert counts.sends == 8 * aggregators * (rounds + 1)
    assert counts.writes == aggregators * rounds


def test_default_caps_aggregators_at_one_a_host_and_skips_contiguous() -> None:
    strided, contiguous = Access(8, 2, MIB, 16 * KIB), Access(8, 2, MIB, MIB)
    assert len(count(strided, Hints(cb_nodes=8)).aggregators) == 2
    assert not count(contiguous, NO_HINTS).collective
    assert count(contiguous, NO_HINTS).per_rank_writes == (1,) * 8
    assert count(contiguous, two_phase(2, MIB, contiguous)).collective


def test_counts_of_a_huge_job_come_at_once() -> None:
    access = Access(65536, 1024, GIB, 64 * KIB, gap_bytes=KIB)
    counts = count(access, two_phase(1024, 16 * MIB, access))
    assert counts.reads == counts.writes == sum(one.rounds for one in counts.aggregators)
    assert max(len(one.batches) for one in counts.aggregators) < 200


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cb_nods", "4", 'did you mean "cb_nodes"'),
        ("cb_nodes", "0", "must not be 0"),
        ("striping_unit", "1000", "64 KiB"),
        ("cb_nodes", "-1", "not a whole number"),
        ("romio_cb_write", "yes", "enable, disable or automatic"),
    ],
)
def test_bad_hints_are_refused(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        check_hint(name, value)


def test_config_list_the_model_does_not_know_is_refused() -> None:
    with pytest.raises(UsageError, match="knows"):
        resolve(Access(4, 1, 8, 8), Hints(cb_config_list="nodeA:2,nodeB:1"))
