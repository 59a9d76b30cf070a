"""Who starves beside somebody else on one target, what relieves him, and how long a change takes to show."""

from __future__ import annotations

import pytest

from penstock.decide.habits import LONGEST_QUEUE_S
from penstock.decide.objective import Rates, sent_at_least
from penstock.decide.starving import call_bytes, relief, starves
from penstock.decide.work import queued_windows
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

GRID = LUSTRE.candidates()
HOME = LUSTRE.default.only("pages", "flight")


def window(**metrics: float) -> Window:
    named = {name.replace("__", "."): value for name, value in metrics.items()}
    return Window(Target("t", "fs"), 0.0, 0.5, LUSTRE.default, named)


def test_who_waits_and_gets_next_to_nothing_starves() -> None:
    assert starves(Rates(read=1e6, write=2e8, read_flight=1.0, write_flight=8.0))
    assert starves(Rates(read=2e8, write=1e6, read_flight=8.0, write_flight=1.0))
    assert not starves(Rates(read=5e7, write=2e8, read_flight=1.0, write_flight=8.0))
    # Bytes that move by the way, with nobody waiting for them.
    assert not starves(Rates(read=1e6, write=2e8, read_flight=0.0, write_flight=8.0))
    assert not starves(Rates(read=2e8, write=0.0, read_flight=8.0))


@pytest.mark.parametrize(
    ("call_kib", "wanted"),
    [(256, (32, 2)), (1024, (128, 2)), (4, (16, 2)), (16384, (1024, 2))],
)
def test_relief_is_one_call_in_two_requests(call_kib: int, wanted: tuple[int, int]) -> None:
    assert relief(GRID, call_kib * 1024.0) == Setting(pages=wanted[0], flight=wanted[1])


def test_there_is_no_relief_for_calls_of_unknown_size() -> None:
    assert relief(GRID, 0.0) is None


def test_the_calls_of_the_direction_that_moves_less_count() -> None:
    seen = window(
        read__bytes=1e6, write__bytes=1e8, app__read_bytes=1e6, app__read_calls=4.0,
        app__write_bytes=1e8, app__write_calls=100.0,
    )  # fmt: skip
    assert call_bytes(seen) == 250_000.0
    assert call_bytes(window(read__bytes=1e6, write__bytes=1e8)) == 0.0


def test_queued_pages_leave_in_their_old_size_for_as_long_as_they_take() -> None:
    smaller = HOME.replace(pages=32)
    deep = window(write__bytes=1e8, dirty__bytes=8e8)
    assert queued_windows(LUSTRE, HOME, smaller, deep) == 8
    # The number of requests in flight acts at once, and without writes there is no queue.
    assert queued_windows(LUSTRE, HOME, HOME.replace(flight=2), deep) == 0
    assert queued_windows(LUSTRE, HOME, smaller, window(write__bytes=0.0, dirty__bytes=8e8)) == 0
    endless = window(write__bytes=1.0, dirty__bytes=8e8)
    assert queued_windows(LUSTRE, HOME, smaller, endless) == LONGEST_QUEUE_S / 0.5


def test_a_cache_that_shrinks_is_no_loss_while_as_much_is_sent() -> None:
    rates = Rates(read=1e6, write=5e7)
    assert sent_at_least(rates, window(write__bytes=4e7)).write == 8e7
    assert sent_at_least(rates, window(write__bytes=1e7)).write == 5e7
