"""Placers against the slow reference, and the balance they promise."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.schedule import reference
from tests.schedule.strategies import documents
from tests.schedule.test_demand import read

from penstock.schedule.placement import PLACERS, Placement
from penstock.schedule.plan import sharing_of


def place(document: dict[str, Any], counts: list[int], name: str) -> Placement:
    return PLACERS[name]().place(sharing_of(read(document)), counts, Random(1))


def draw_counts(document: dict[str, Any], data: st.DataObject) -> list[int]:
    limits = [reference.limit(app, document) for app in document["applications"]]
    return [data.draw(st.integers(1, limit)) for limit in limits]


@given(documents(most_apps=8), st.data())
def test_placers_match_the_reference(document: dict[str, Any], data: st.DataObject) -> None:
    counts = draw_counts(document, data)
    placed = place(document, counts, "greedy-non-clairvoyant")
    assert [list(ids) for ids in placed] == reference.round_robin(document, counts)


@given(documents(most_apps=8), st.data())
def test_clairvoyant_matches_the_reference(document: dict[str, Any], data: st.DataObject) -> None:
    counts = draw_counts(document, data)
    for app, factor in zip(document["applications"], (1, 3, 7, 11, 13, 17, 19, 23), strict=False):
        app["phases"][0]["io_bytes"] = factor * 1.37  # keeps sums of shares apart: ties are rounding's
    placed = place(document, counts, "greedy-clairvoyant")
    assert [list(ids) for ids in placed] == reference.least_load(document, counts)


@given(documents(most_apps=10, most_resources=9), st.data())
def test_every_placer_gives_distinct_legal_ids(document: dict[str, Any], data: st.DataObject) -> None:
    counts = draw_counts(document, data)
    for name in PLACERS:
        for ids, count in zip(place(document, counts, name), counts, strict=True):
            assert len(set(ids)) == count and all(0 <= one < document["resources"] for one in ids)


@given(documents(most_apps=10, most_resources=9), st.data())
def test_non_clairvoyant_counts_differ_by_at_most_one(document: dict[str, Any], data: st.DataObject) -> None:
    counts = draw_counts(document, data)
    users = Counter(one for ids in place(document, counts, "greedy-non-clairvoyant") for one in ids)
    per_resource = [users[resource] for resource in range(document["resources"])]
    assert max(per_resource) - min(per_resource) <= 1


def test_clairvoyant_prefers_the_idlest_resources() -> None:
    apps = [
        {
            "name": name,
            "compute_nodes": 1,
            "bandwidth": {"1": 1.0, "2": 1.0},
            "phases": [{"compute_s": 10 - io, "io_bytes": io}],
        }
        for name, io in (("light", 1), ("heavy", 8), ("middle", 3))
    ]
    document = {"resources": 3, "compute_nodes": 3, "applications": apps}
    assert place(document, [2, 2, 1], "greedy-clairvoyant") == ((0, 2), (0, 1), (2,))
