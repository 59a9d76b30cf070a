"""Recorded requests: played at their times or at the pace they get, once, every byte of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.recorded import from_rows, play
from penstock.simulate.simulation import Simulation

Row = tuple[float, int, int, str, str, int, int, float]


def simulation(rows: Sequence[Row], loop: str = "open") -> Simulation:
    requests = from_rows(rows)
    script = play(requests, "recorded", "open" if loop == "open" else "closed")
    return Simulation(Plan(builtin_cluster("c220g5"), (), requests.clients, 1, scripts=(script,)))


ROWS: list[Row] = [
    (10.0, 0, 0, "a", "read", 0, 1 << 20, 0.01),
    (10.5, 0, 0, "b", "write", 0, 1 << 20, 0.01),
    (10.5, 1, 7, "c", "read", 4095, 2, 0.01),
]


def test_open_loop_starts_requests_at_their_times() -> None:
    made = simulation(ROWS)
    made.run_until(0.45)
    assert made.world.client.read_bytes.tolist() == [1 << 20, 0]
    made.run_until(1.0)
    assert made.world.client.write_bytes.tolist() == [1 << 20, 0]
    assert made.world.client.read_bytes.tolist() == [1 << 20, 2]


def test_request_across_a_page_border_costs_both_pages() -> None:
    made = simulation([ROWS[2]])
    made.run_until(0.5)
    assert made.totals().rpc_bytes >= 2 * 4096


def test_closed_loop_keeps_pauses_not_times() -> None:
    rows: list[Row] = [(n * 1.0, 0, 0, "a", "read", n << 20, 1 << 20, 0.9) for n in range(5)]
    fast, slow = simulation(rows, "closed"), simulation(rows, "open")
    for made in (fast, slow):
        made.run_until(1.5)
    assert fast.totals().app_bytes == 5 << 20
    assert slow.totals().app_bytes == 2 << 20


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(0, 0.2),
            st.integers(0, 2),
            st.integers(0, 2),
            st.sampled_from("abc"),
            st.sampled_from(("read", "write")),
            st.integers(0, 1 << 20),
            st.integers(1, 1 << 18),
            st.floats(0, 0.1),
        ),
        min_size=1,
        max_size=30,
    ),
    st.sampled_from(("open", "closed")),
)
def test_every_byte_is_played_exactly_once(rows: list[Row], loop: str) -> None:
    made = simulation(rows, loop)
    made.run_until(20.0)
    for op, moved in (("read", made.world.client.read_bytes), ("write", made.world.client.write_bytes)):
        wanted = np.zeros(made.plan.clients, dtype=int)
        for row in rows:
            wanted[row[1]] += row[6] if row[4] == op else 0
        assert moved.tolist() == wanted.tolist()


def test_requests_count_from_the_first() -> None:
    requests = from_rows(ROWS)
    assert requests.t_s.tolist() == [0.0, 0.5, 0.5]
    assert (requests.clients, len(requests), requests.names) == (2, 3, ("a", "b", "c"))
    assert requests.span_s == pytest.approx(0.51)
