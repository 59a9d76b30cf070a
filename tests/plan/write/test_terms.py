"""Features and parameters by name."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.storage import Gpfs, Lustre, load_system
from penstock.plan.write.location import locate
from penstock.plan.write.parameters import (
    PARAMETERS,
    heaviest_share_bytes,
    parameters,
    stripe_width,
    subblocks,
    table,
)
from penstock.plan.write.pattern import WritePattern
from penstock.plan.write.published import PUBLISHED
from penstock.plan.write.terms import FEATURES, matrix, trainable

LAYOUT = Lustre(osts=16, osses=4, stripe_size=1 << 20)


def test_features_count_as_the_paper_does() -> None:
    assert len(set(FEATURES["gpfs"])) == len(FEATURES["gpfs"]) == 41
    assert len(set(FEATURES["lustre"])) == len(FEATURES["lustre"]) == 30


@pytest.mark.parametrize("kind", ["gpfs", "lustre"])
def test_features_hold_every_published_term(kind: str) -> None:
    assert set(PUBLISHED[kind].coefficients) <= set(trainable(kind))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["titan", "cetus"])
def test_features_are_finite_for_the_smallest_and_the_largest_job(name: str) -> None:
    system = load_system(name)
    patterns = [
        WritePattern(locate(system, 1, "compact"), 1, 1, 1),
        WritePattern(locate(system, system.compute.nodes, "compact"), 16, 10 << 30, 64),
    ]
    values = matrix(trainable(system.kind), table(system, patterns))
    assert np.isfinite(values).all()


@pytest.mark.parametrize("name", ["titan", "cetus"])
def test_parameters_are_named_as_in_the_paper(name: str) -> None:
    system = load_system(name)
    found = parameters(system, WritePattern(locate(system, 9, "compact"), 2, 10**7, 4))
    assert tuple(found) == PARAMETERS[system.kind]


def test_parameters_one_burst_on_lustre_by_hand() -> None:
    titan = load_system("titan")
    found = parameters(titan, WritePattern(locate(titan, 1, "compact"), 1, 8 << 20, 4))
    assert found["n_ost"] == found["n_oss"] == pytest.approx(4)
    assert found["s_ost"] == found["s_oss"] == pytest.approx((2 << 20) / 1e6)


def test_parameters_many_bursts_fill_the_file_system() -> None:
    cetus = load_system("cetus")
    found = parameters(cetus, WritePattern(locate(cetus, 2000, "scattered"), 16, 10**9, 1))
    assert found["n_nsd"] == pytest.approx(336)
    assert found["n_nsds"] == pytest.approx(48)
    assert found["n_d"] == 120
    assert found["n_s"] == 48


@given(st.integers(1, 40 << 20), st.integers(1, 16))
def test_heaviest_share_is_what_laying_out_the_burst_gives(size: int, stripes: int) -> None:
    shares = np.zeros(16, dtype=np.int64)
    for piece, start in enumerate(range(0, size, LAYOUT.stripe_size)):
        shares[piece % stripes] += min(LAYOUT.stripe_size, size - start)
    assert heaviest_share_bytes(LAYOUT, size, stripes) == shares.max()
    assert stripe_width(LAYOUT, size, stripes) == np.count_nonzero(shares)


def test_subblocks_count_the_last_partial_block() -> None:
    layout = Gpfs(nsds=336, servers=48)
    assert [subblocks(layout, size) for size in (8 << 20, 1 << 20, (9 << 20) + 1, 10)] == [0, 4, 5, 1]
