"""Rewriting in the page cache, beside cells and a live switch of a real client (`fixtures/lustre-rewriting`)."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from benchmarks.fidelity import spearman
from benchmarks.fidelity_rewriting import END_S, switch_figures
from benchmarks.rewriting.cells import FROM_S, Cell, read_cells, read_switch
from benchmarks.rewriting.simulated import held, switched

DATA = Path(__file__).parents[1] / "fixtures" / "lustre-rewriting"
CELLS = read_cells(DATA)
QUIET = [cell for cell in CELLS if not cell.why_not]


def rates(cell: Cell, seed: int = 1) -> tuple[float, float]:
    late = [second for second in held(cell, seed) if second.t >= FROM_S]
    return mean(second.app for second in late), mean(second.wire for second in late)


@pytest.mark.parametrize(
    "cell", QUIET, ids=lambda cell: f"{cell.set}-{cell.pages}x{cell.flight}-{cell.limit_mb}"
)
def test_level_is_within_a_third_of_a_real_client_on_a_quiet_host(cell: Cell) -> None:
    app, _ = rates(cell)
    assert app == pytest.approx(cell.app, rel=1 / 3)


def test_settings_rank_as_on_a_real_client() -> None:
    cells = [cell for cell in CELLS if cell.set == "R1b"]
    real, ours = np.array([c.app for c in cells]), np.array([rates(c)[0] for c in cells])
    assert spearman(real, ours) >= 0.9


def test_five_rewriting_threads_leave_the_network_its_part_of_the_core() -> None:
    for cell in CELLS:
        if cell.streams == 5:
            assert rates(cell)[1] == pytest.approx(cell.wire, rel=0.25)


def test_grant_grows_until_the_dirty_limit_is_what_binds() -> None:
    """Without the grant that earlier runs left, as any other simulation begins."""
    seconds = held(Cell.of(512, (16, 1), 512), 1)
    assert seconds[-1].dirty > 450.0


def test_live_switch_shows_at_once_and_its_way_back_costs_what_it_really_costs() -> None:
    real, ours = switch_figures(read_switch(DATA)), switch_figures(switched(1, END_S))
    assert ours["shows_after_s"] <= real["shows_after_s"]
    assert ours["calm"] == pytest.approx(real["calm"], rel=1 / 3)
    assert abs(ours["back_s"] - real["back_s"]) <= 2.0
    assert ours["back_lost_mb"] == pytest.approx(real["back_lost_mb"], rel=0.25)
