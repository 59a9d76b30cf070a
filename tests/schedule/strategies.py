"""Random application sets for property tests, as the JSON documents users write."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

amounts = st.one_of(st.just(0), st.integers(1, 400), st.floats(0.01, 400).map(lambda x: round(x, 3)))
speeds = st.one_of(st.integers(1, 50), st.floats(0.1, 50).map(lambda x: round(x, 3)))
phases = st.fixed_dictionaries({"compute_s": amounts, "io_bytes": amounts})
curves = st.dictionaries(st.sampled_from(["1", "2", "3", "4", "8"]), speeds, min_size=1)


@st.composite
def documents(draw: st.DrawFn, most_apps: int = 5, most_resources: int = 6) -> dict[str, Any]:
    """A legal set: non-monotone curves, zero volumes, idle compute nodes and all."""
    applications: list[dict[str, Any]] = []
    for index in range(draw(st.integers(1, most_apps))):
        curve = draw(curves) | draw(st.sampled_from([{}, {"0": 3.0}]))
        applications.append(
            {
                "name": f"app{index}",
                "compute_nodes": draw(st.integers(1, 40)),
                "bandwidth": curve,
                "phases": draw(st.lists(phases, min_size=1, max_size=4)),
            }
        )
    used = sum(app["compute_nodes"] for app in applications)
    nodes = used + draw(st.integers(0, 30))
    return {
        "resources": draw(st.integers(1, most_resources)),
        "compute_nodes": nodes,
        "applications": applications,
    }
