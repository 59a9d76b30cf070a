"""The paper's own feature vector, and models that are made of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.knobs import Setting
from penstock.predict import features, modelfile, printed
from penstock.predict.featuresets import FULL, PRINTED
from penstock.predict.model import ForestPredictor
from penstock.ratios import carat_metrics
from penstock.spaces import LUSTRE
from penstock.testing.models import busy_window, check_predictor, random_model
from penstock.window import Window

SETTING = Setting(pages=256, flight=8, dirty=1000)


def windows(count: int) -> list[Window]:
    """Windows whose metrics all differ, with the growth of their own dirty bytes."""
    found: list[Window] = []
    for i in range(count):
        one = busy_window(i / 2, SETTING, 1 + i / 10)
        before = found[-1].metrics["dirty.bytes"] if found else one.metrics["dirty.bytes"]
        grown = one.metrics["dirty.bytes"] - before
        found.append(replace(one, metrics={**one.metrics, "dirty.grown_bytes": grown}))
    return found


@pytest.mark.parametrize("direction", ["read", "write"])
def test_printed_features_are_the_metrics_users_see(direction: str) -> None:
    seen = windows(3)
    past = dict(
        zip(PRINTED.names(direction, 1), PRINTED.past_of_windows([seen], direction, 1)[0], strict=False)
    )
    users = carat_metrics(seen[-1], LUSTRE)
    for name in ("page_utilisation", "channel_utilisation", "page_latency_us", "bytes"):
        assert 2 ** past[f"now.{name}"] == pytest.approx(users[f"{direction}.{name}"])
    before = carat_metrics(seen[-2], LUSTRE)
    change = users[f"{direction}.bytes"] - before[f"{direction}.bytes"]  # type: ignore[operator]
    assert past["change0.bytes"] == pytest.approx(change)
    if direction == "write":
        assert 2 ** past["now.dirty_utilisation"] == pytest.approx(users["dirty.utilisation"])
        assert 2 ** past["now.cache_update_bytes"] - 4096 == pytest.approx(
            users["cache_update_bytes"], abs=1.0
        )


def test_printed_vector_has_two_snapshots_their_change_and_two_knobs() -> None:
    assert len(PRINTED.names("read", 1)) == 3 * 4 + 2
    assert len(PRINTED.names("write", 1)) == 3 * 6 + 2
    assert PRINTED.names("write", 1)[-2:] == ("candidate.pages", "candidate.flight")


def test_rows_of_data_and_windows_give_the_same_vector() -> None:
    seen = [replace(one, setting=one.setting.replace(dirty=LUSTRE.default["dirty"])) for one in windows(3)]
    stack = features.stack_windows([seen], "write", printed.depth(1))
    assert np.array_equal(
        PRINTED.past(stack, "write"), PRINTED.past_of_windows([seen], "write", 1), equal_nan=True
    )


def test_model_of_printed_features_round_trips_and_obeys() -> None:
    model = random_model(features=PRINTED)
    again = modelfile.parse(modelfile.dump(model), "a test")
    assert again["write"].features is PRINTED
    assert again["read"].depth == again["read"].history + 1
    assert modelfile.dump(again) == modelfile.dump(model)
    check_predictor(ForestPredictor(again))


def test_model_of_our_features_keeps_them() -> None:
    assert modelfile.parse(modelfile.dump(random_model()), "a test")["read"].features is FULL
