from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import UsageError
from penstock.plan.collective.access import Access, Shape, make_access


@st.composite
def accesses(draw: st.DrawFn) -> Access:
    bytes_per_rank = draw(st.integers(1, 40))
    block = draw(st.integers(1, bytes_per_rank))
    return Access(draw(st.integers(1, 5)), 1, bytes_per_rank, block, draw(st.integers(0, 6)))


def owners_by_byte(access: Access) -> list[int | None]:
    """Who writes each byte of the range, by walking every rank's blocks."""
    owners: dict[int, int] = {}
    for rank in range(access.ranks):
        left = access.bytes_per_rank
        for row in range(access.rows):
            start = (row * access.ranks + rank) * access.slot_bytes
            length = min(left, access.block_bytes)
            left -= length
            for byte in range(start, start + length):
                assert byte not in owners
                owners[byte] = rank
    return [owners.get(byte) for byte in range(max(owners) + 1)]


@given(accesses(), st.data())
def test_access_answers_as_walking_every_byte_does(access: Access, data: st.DataObject) -> None:
    owners = owners_by_byte(access)
    assert access.range_bytes == len(owners)
    assert access.total_bytes == sum(owner is not None for owner in owners)
    start = data.draw(st.integers(0, len(owners) - 1))
    written = [byte for byte in range(start, len(owners)) if owners[byte] is not None]
    assert access.first_data(start) == written[0]
    end = data.draw(st.integers(start + 1, len(owners)))
    before = [byte for byte in range(end) if owners[byte] is not None]
    assert access.last_data(end) == before[-1] + 1
    assert access.covers(start, end) == (None not in owners[start:end])
    if owners[start] is not None and owners[end - 1] is not None:
        assert access.owners(start, end) == len({owner for owner in owners[start:end] if owner is not None})


@pytest.mark.parametrize(
    ("ranks", "size", "shape", "nodes", "message"),
    [
        (0, 1, Shape(), 1, "--ranks 0"),
        (4, 0, Shape(), 1, "--bytes-per-rank 0"),
        (4, 1 << 62, Shape(), 1, "1 EiB"),
        (4, 8, Shape(), 5, "--nodes 5"),
        (4, 8, Shape("stridden"), 1, 'did you mean "strided"'),
        (4, 8, Shape("strided"), 1, "needs --block"),
        (4, 8, Shape("strided", 9), 1, "--block 9"),
        (4, 8, Shape("contiguous", 4), 1, "add --pattern strided"),
        (4, 8, Shape("strided", 4, -1), 1, "--gap -1"),
    ],
)
def test_impossible_access_is_refused(ranks: int, size: int, shape: Shape, nodes: int, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        make_access(ranks, size, shape, nodes)
    assert message in str(caught.value)
