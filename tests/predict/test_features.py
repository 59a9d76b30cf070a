from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.knobs import Candidates, Setting
from penstock.predict import features
from penstock.predict.featuresets import FULL
from penstock.predict.model import ForestPredictor
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.testing.made_models import busy_window, random_model
from penstock.window import Window

SETTING = Setting(pages=256, flight=8, dirty=2000)


def by_name(window: Window, direction: str) -> dict[str, float]:
    past = features.past_features(features.stack_windows([[window]], direction, 0), direction)
    return dict(zip(features.names(direction, 0), past[0], strict=False))


@pytest.mark.parametrize("direction", ["read", "write"])
@pytest.mark.parametrize("history", [0, 1, 8])
def test_names_fit_the_vector(direction: str, history: int) -> None:
    past = features.past_features(np.ones((2, history + 1, len(features.MEASURES))), direction)
    assert past.shape == (2, len(features.names(direction, history)) - len(features.CANDIDATE_FEATURES))


def test_features_are_what_their_names_say() -> None:
    seen = by_name(busy_window(0.0, SETTING), "write")
    rpcs = 1e8 / 4096 / (0.9 * 256)
    assert 2 ** seen["now.bytes_per_s"] - 1 == pytest.approx(2e8)
    assert 2 ** seen["now.pages_per_rpc"] == pytest.approx(0.9 * 256)
    assert 2 ** seen["now.rpcs_per_s"] - 1 == pytest.approx(rpcs / 0.5)
    assert 2 ** seen["now.rpcs_in_flight"] == pytest.approx(0.7 * 8)
    assert 2 ** seen["now.window"] == pytest.approx(256 * 8)
    assert 2 ** seen["now.app_request_bytes"] == pytest.approx(1.1e6)
    assert 2 ** seen["now.app_over_wire"] == pytest.approx(1.1)
    assert 2 ** seen["now.dirty_bytes"] - 4096 == pytest.approx(0.3 * 2000 * 2**20)


def test_the_unknown_stays_unknown() -> None:
    seen = by_name(Window(Target("t", "lustre"), 0.0, 0.5, SETTING, {}), "write")
    assert seen["now.pages"] == 8.0
    assert all(math.isnan(value) for name, value in seen.items() if name not in known_without_metrics())


def known_without_metrics() -> set[str]:
    return {"now.pages", "now.flight", "now.window"}


def test_an_idle_window_is_known_to_be_idle() -> None:
    window = Window(Target("t", "lustre"), 0.0, 0.5, SETTING, {"read.bytes": 0.0})
    seen = by_name(window, "read")
    assert seen["now.bytes_per_s"] == 0.0
    assert math.isnan(seen["now.page_latency_us"])


def test_history_is_read_backwards_and_short_ones_are_padded() -> None:
    windows = [busy_window(i, SETTING, scale) for i, scale in enumerate((1.0, 2.0))]
    stack = features.stack_windows([windows], "read", 2)
    moved = stack[0, :, features.MEASURES.index("bytes")]
    assert moved[:2].tolist() == [2e8, 1e8]
    assert np.isnan(stack[0, 2]).all()


def test_candidate_features_know_the_window() -> None:
    found = FULL.candidate_matrix(
        Candidates(LUSTRE, [Setting(pages=1024, flight=8), Setting(pages=1, flight=1)])
    )
    assert found.tolist() == [[10.0, 3.0, 13.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(("direction", "history"), [("append", 1), ("read", -1), ("read", 17)])
def test_names_refuse_nonsense(direction: str, history: int) -> None:
    with pytest.raises(UsageError):
        features.names(direction, history)


def test_outlook_is_out_of_range_where_training_never_was() -> None:
    predictor = ForestPredictor(random_model())
    usual, strange = busy_window(0.0, SETTING), busy_window(0.0, SETTING, 1e9)
    outlooks = predictor.outlooks("read", [[usual], [strange]], Candidates(LUSTRE, [SETTING]))
    assert [outlook.in_range for outlook in outlooks] == [True, False]
