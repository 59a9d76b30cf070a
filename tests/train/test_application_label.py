"""Labels by what applications got from held settings: filling a cache is no gain, rewriting in memory is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import DataError, UsageError
from penstock.predict import modelfile
from penstock.train.application_label import HOLD_S, held_gains
from penstock.train.build import build_model
from penstock.train.collect import CollectedRun
from penstock.train.collection import Collection, simulate_table
from penstock.train.fit import RECIPES, fit_all
from penstock.train.fitdata import source_of
from penstock.train.recipe import adapted
from penstock.train.samples import APPLICATION, samples
from penstock.train.table import NUMBERS, TraceTable, join

STEP_S = 0.5


def table(holds: list[tuple[int, list[float]]], wire: float = 100.0) -> TraceTable:
    """One series of writes: settings by their pages, each with what the application wrote in every half second."""
    rows = [(pages, app) for pages, apps in holds for app in apps]
    values = np.zeros((len(rows), len(NUMBERS)))
    for at, (pages, app) in enumerate(rows):
        given = {"seconds": STEP_S, "pages": pages, "flight": 8, "write_bytes": wire, "write_app_bytes": app}
        for name, value in given.items():
            values[at, NUMBERS.index(name)] = value
    count = len(rows)
    return TraceTable(
        np.array(["s_wr_rn_1m"] * count), np.ones(count, dtype=np.int64), np.zeros(count, dtype=np.int64),
        np.arange(count), values,
    )  # fmt: skip


def gains(found: TraceTable) -> tuple[list[int], list[float]]:
    follows = np.append([False], np.diff(found.observation_no) == 1)
    rows, ratios = held_gains(found, "write", follows)
    return rows.tolist(), ratios.tolist()


def test_cache_that_fills_after_a_change_is_no_gain() -> None:
    filling = [900.0] * 6 + [100.0] * 10
    assert gains(table([(1024, [100.0] * 16), (64, filling)])) == ([15], [1.0])


def test_rewriting_in_memory_is_a_gain_though_the_wire_carries_no_more() -> None:
    held = table([(1024, [100.0] * 16), (64, [300.0] * 16), (1024, [100.0] * 16)])
    assert gains(held) == ([15, 31], [3.0, pytest.approx(1 / 3)])
    found = samples(held, "write", 1, label=APPLICATION)
    assert found.label.tolist() == [True, False]
    assert found.candidate[:, 0].tolist() == [6.0, 10.0]
    assert not samples(held, "write", 1).label.any()


def test_short_holds_have_no_rate() -> None:
    held = table([(1024, [100.0] * 16), (64, [300.0] * 8), (16, [200.0] * 16), (8, [400.0] * 16)])
    assert gains(held) == ([39], [2.0])
    with pytest.raises(DataError, match=f"--hold {HOLD_S:g}"):
        gains(table([(1024, [100.0] * 4), (64, [100.0] * 4)]))


def test_gap_in_a_series_ends_a_hold() -> None:
    held = table([(1024, [100.0] * 16), (64, [300.0] * 16)])
    held.observation_no[16:] += 1
    assert gains(held) == ([], [])


def test_a_walk_holds_settings_for_as_long_as_asked(tmp_path: Path) -> None:
    (run,) = Collection(tmp_path, "c220g5", ("s_wr_rn_1m",), 1, 32.0, 1, hold_s=8.0).plan()
    assert (run.hold, run.intervals, run.id[-7:]) == (16, 64, "-hold16")
    pages = simulate_table(run).column("pages").reshape(4, 16)
    assert (pages == pages[:, :1]).all()
    assert len(set(pages[:, 0])) > 1


@pytest.mark.slow
def test_a_model_of_application_labels_says_so(tmp_path: Path) -> None:
    runs = [CollectedRun("c220g5", "s_rd_rn_1m", number, number, 400, 0.5, 16) for number in (1, 2)]
    walked = join([simulate_table(run) for run in runs])
    recipe = adapted(RECIPES["printed-application"](), 0, None, 10, 7)
    fits = list(fit_all(walked, recipe, lambda text: None))
    (tmp_path / "m.json").write_bytes(
        modelfile.dump(build_model(fits, source_of(walked), recipe, "two runs"))
    )
    assert "held before" in str(modelfile.load(tmp_path / "m.json").provenance["label"])


def test_campaigns_on_mounts_have_labels_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from penstock.train import fitdata

    monkeypatch.setattr(fitdata, "is_campaign", lambda directory: True)
    with pytest.raises(UsageError, match="--label application"):
        fitdata.read_fit_data([tmp_path], RECIPES["printed-application"]())
