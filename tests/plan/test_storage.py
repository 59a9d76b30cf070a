"""Descriptions: the built-in ones hold the paper's figures, broken ones are refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from penstock.errors import ConfigError, MissingError, UsageError
from penstock.plan.storage import load_system, restripe

GOOD = """
name = "mine"
kind = "lustre"
[compute]
nodes = 64
cores_per_node = 8
[stages.router]
components = 4
mapping = "interleaved"
[lustre]
osts = 8
osses = 2
stripe_size = "1MiB"
stripe_count = 2
"""


def described(tmp_path: Path, text: str) -> str:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    path.chmod(0o644)
    return str(path)


def test_titan_holds_the_published_counts() -> None:
    titan = load_system("titan")
    assert titan.lustre is not None
    assert (titan.compute.nodes, titan.stages["router"].components) == (18688, 172)
    assert (titan.lustre.osts, titan.lustre.osses, titan.lustre.stripe_count) == (1008, 144, 4)


def test_cetus_gives_each_io_node_128_nodes_and_two_bridges() -> None:
    cetus = load_system("cetus")
    nodes = np.arange(cetus.compute.nodes)
    io_nodes = cetus.component_of("io_node", nodes)
    assert np.bincount(io_nodes).tolist() == [128] * 32
    assert {len(set(cetus.component_of("bridge", nodes)[io_nodes == each])) for each in range(32)} == {2}


def test_system_interleaved_mapping_deals_nodes_out(tmp_path: Path) -> None:
    mine = load_system(described(tmp_path, GOOD))
    assert mine.component_of("router", np.arange(6)).tolist() == [0, 1, 2, 3, 0, 1]


def test_system_listed_mapping_is_followed(tmp_path: Path) -> None:
    listed = GOOD.replace('"interleaved"', "[" + ", ".join(str(3 - node % 2) for node in range(64)) + "]")
    mine = load_system(described(tmp_path, listed))
    assert mine.component_of("router", np.arange(3)).tolist() == [3, 2, 3]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("osts = 8", "osts = 1", "osses 2 is more than osts 1"),
        ("stripe_count = 2", "stripe_count = 9", "stripe_count 9 is more than osts 8"),
        ('"1MiB"', "1000000", "stripe_size 1000000 is not a multiple of 64 KiB"),
        ("nodes = 64", "nodes = 0", "compute.nodes"),
        ("nodes = 64", "nodes = 64\nnodez = 64", 'did you mean "compute.nodes"'),
        ('"interleaved"', "[0, 1]", "mapping has 2 entries for 64 nodes"),
        ("[stages.router]", "[stages.ruoter]", 'did you mean "router"'),
        ('kind = "lustre"', 'kind = "gpfs"', "gpfs"),
        ("nodes = 64", "nodes = nan", "compute.nodes"),
    ],
)
def test_system_refuses_bad_descriptions(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.toml") as refusal:
        load_system(described(tmp_path, GOOD.replace(old, new)))
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_system_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UsageError, match='did you mean "titan"'):
        load_system("titn")


def test_system_missing_file_is_named() -> None:
    with pytest.raises(MissingError, match=r"gone\.toml"):
        load_system("gone.toml")


def test_restripe_refuses_odd_sizes_and_gpfs() -> None:
    with pytest.raises(UsageError, match="multiple of 64 KiB"):
        restripe(load_system("titan"), 100_000)
    with pytest.raises(UsageError, match="GPFS"):
        restripe(load_system("cetus"), 1 << 20)
