"""A short campaign on a live mount makes knowledge of it, and leaves nothing behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.live.test_gluster import knobs
from tests.rigs.gluster import GlusterMount

from penstock.errors import MissingError
from penstock.knobs import Setting
from penstock.snapshot import Target
from penstock.spaces import fuse
from penstock.train.mount_trials import FILE, choose, find_target


def collect(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "train", "collect", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_campaign_holds_settings_and_restores(mount: GlusterMount, tmp_path: Path) -> None:
    original = knobs(mount)
    options = ["--live", str(mount.path), "--out", str(tmp_path / "data"), "--seconds", "4", "--json"]
    options += ["--state-dir", str(tmp_path / "state")]
    refused = collect(*options)
    assert refused.returncode == 2
    assert "consent" in refused.stderr
    done = collect(*options, "--change-knobs-at-random")
    assert done.returncode == 0, done.stderr
    assert knobs(mount) == original
    assert not (mount.path / "penstock-campaign").exists()
    document = json.loads((tmp_path / "data" / FILE).read_text())
    assert document["space"] == "fuse"
    reads = [row for row in document["rows"] if row["workload"] == "sequential read 8k"]
    assert all(row["read_bytes_per_s"] > 0 for row in reads)
    assert {"sequential read 8k", "sequential write 1m"} <= {row["workload"] for row in document["rows"]}


def test_settings_near_the_default_and_far_from_it_take_turns() -> None:
    space = fuse()
    home = space.default.only(*space.searched)
    chosen = choose(space, home, 10, seed=1)
    assert len(set(chosen)) == 10
    assert all(sum(setting[knob_id] != home[knob_id] for knob_id in home) == 1 for setting in chosen[::2])
    assert all(sum(setting[knob_id] != home[knob_id] for knob_id in home) > 1 for setting in chosen[1::2])
    assert choose(space, home, 10, seed=2) != chosen
    assert home not in choose(space, home, 10_000, seed=1)
    assert isinstance(chosen[0], Setting)


def test_a_directory_belongs_to_its_innermost_mount() -> None:
    outer, inner = Target("a", "/mnt"), Target("b", "/mnt/x")
    assert find_target(Path("/mnt/x/y"), [outer, inner]) == inner
    assert find_target(Path("/mnt/z"), [outer, inner]) == outer
    with pytest.raises(MissingError, match="/srv"):
        find_target(Path("/srv"), [outer, inner])
