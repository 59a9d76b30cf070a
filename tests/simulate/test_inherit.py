"""Cluster files that say only what differs, and that hear of all their mistakes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import ConfigError
from penstock.evaluate.gym import Cluster as World
from penstock.simulate.cluster import builtin_cluster, parse_cluster

MINE = """\
base = "c220g5"
name = "mine"

[client]
ram_gb = 8.0
"""


def test_cluster_file_inherits_what_it_does_not_say(tmp_path: Path) -> None:
    mine, base = parse_cluster(MINE, "mine.toml"), builtin_cluster("c220g5")
    assert (mine.name, mine.client.ram_gb) == ("mine", 8.0)
    assert mine.network == base.network
    assert mine.client.read_call_us == base.client.read_call_us
    (tmp_path / "mine.toml").write_text(MINE)
    assert World(cluster="mine.toml").cluster == mine


def test_cluster_file_that_inherits_needs_a_name_and_a_known_base() -> None:
    with pytest.raises(ConfigError, match=r"mine\.toml: key 'name' is missing"):
        parse_cluster('base = "c220g5"', "mine.toml")
    with pytest.raises(
        ConfigError, match=r"key 'base': unknown cluster 'c220g6': built in are .*; did you mean \"c220g5\""
    ):
        parse_cluster('base = "c220g6"\nname = "x"', "mine.toml")


def test_all_missing_and_unknown_keys_are_reported_at_once() -> None:
    text = MINE + 'rum_gb = 4.0\n\n[netwrok]\nround_trip_us = 1.0\n\n[device]\nrandom_read_us = "slow"\n'
    with pytest.raises(ConfigError) as caught:
        parse_cluster(text, "mine.toml")
    said = str(caught.value)
    assert "unknown key 'client.rum_gb' (line 6); did you mean \"client.ram_gb\"?" in said
    assert "unknown key 'netwrok' (line 8); did you mean \"network\"?" in said
    assert "key 'device.random_read_us' (line 12): must be a number, got 'slow'" in said
    assert "\n" not in said
    with pytest.raises(
        ConfigError, match="keys 'layout', 'network', 'client', 'server', 'device', 'lustre' are"
    ):
        parse_cluster('name = "x"', "mine.toml")
