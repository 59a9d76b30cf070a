"""Cluster descriptions: complete, documented, refused with a reason."""

from __future__ import annotations

from importlib import resources

import pytest

from penstock.errors import ConfigError, UsageError
from penstock.simulate.cluster import CLUSTER_NAMES, builtin_cluster, parse_cluster


def text_of(name: str) -> str:
    return resources.files("penstock.simulate").joinpath(f"clusters/{name}.toml").read_text("utf-8")


@pytest.mark.parametrize("name", CLUSTER_NAMES)
def test_every_parameter_names_its_source(name: str) -> None:
    assert builtin_cluster(name).name == name
    for line in text_of(name).splitlines():
        key, equals, rest = line.partition("=")
        if equals and not line.startswith(("#", "name")):
            assert len(rest.partition("#")[2].strip()) >= 3, f"{key.strip()} has no source"


def test_override_takes_short_and_full_names() -> None:
    cluster = builtin_cluster("c220g5").override(
        {"round_trip_us": "140", "server.threads": "16", "version": "2.16"}
    )
    assert cluster.network.round_trip_us == 140
    assert (cluster.server.threads, cluster.lustre.version) == (16, "2.16")


@pytest.mark.parametrize(
    ("name", "value"), [("round_trip", "1"), ("threads", "many"), ("version", "1.8"), ("ramp", "1")]
)
def test_override_refuses_unknown_names_and_wrong_values(name: str, value: str) -> None:
    with pytest.raises((UsageError, ConfigError)):
        builtin_cluster("c220g5").override({name: value})


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("wake_us", "wake_ms", "wake_us"),
        ("threads = 184", "threads = 0", "threads"),
        ("threads = 184", 'threads = "many"', "threads"),
        ("round_trip_us = 70.0", "round_trip_us = nan", "round_trip_us"),
    ],
)
def test_a_wrong_file_is_refused_naming_the_key(old: str, new: str, part: str) -> None:
    text = text_of("c220g5")
    assert old in text
    with pytest.raises(ConfigError, match=part):
        parse_cluster(text.replace(old, new, 1), "mine.toml")
