"""Kernel NFS in a guest: counters, metrics, live changes and their effects, and an agent that outlives its server."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.rigs import guest, nfsguest

import penstock
from penstock.units import MIB

pytestmark = pytest.mark.live

PATIENCE_S = 1800.0
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """What one boot of the guest found; all tests look at it."""
    why = guest.why_not()
    if why:
        pytest.skip(why)
    share = tmp_path_factory.mktemp("guest")
    # The very code of this test, wherever it was imported from.
    source, environment = Path(penstock.__file__).resolve().parent.parent, Path(sys.prefix).resolve()
    command = (
        f"export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH={source}:{ROOT}\n"
        f"exec {environment}/bin/{Path(sys.executable).name} -m tests.rigs.nfsguest\n"
    )
    # They may lie below /tmp, where the guest has a file system of its own.
    kept = [source, ROOT, environment, Path(sys.base_prefix)]
    run = guest.run_in_guest(command, share, nfsguest.MODULES, kept=kept, timeout_s=PATIENCE_S)
    assert run.status == 0, f"{run.output}\n{run.console[-2000:]}"
    found: dict[str, Any] = json.loads((share / nfsguest.RESULT).read_text())
    return found


def test_discovery_tunes_readahead_and_only_advises_the_rest(result: Mapping[str, Any]) -> None:
    (mount,) = (found for found in result["found"] if found["fs"] == "/n")
    assert mount["tuned"] == ["ahead (on new opens)"]
    advised = " ".join(mount["advised"])
    assert all(knob in advised for knob in ("rsize", "wsize", "rpc_slots", "dirty_bytes"))
    assert "node_knobs" in mount["why"]


def test_counters_become_metrics(result: Mapping[str, Any]) -> None:
    for name in ("narrow", "wide"):
        seen = result["readahead"][name]
        assert seen["exact"]
        assert seen["asked_bytes"] == 8 * MIB
        # A page or two may still be cached, whatever was dropped.
        assert 7 * MIB < seen["read_bytes"] < 9 * MIB


def test_a_live_readahead_change_acts(result: Mapping[str, Any]) -> None:
    found = result["readahead"]
    # More is asked for ahead, so more requests wait at once; how fast they are is up to the host.
    assert found["wide"]["in_flight"] > 1.3 * found["narrow"]["in_flight"], found
    assert found["restored"]["ahead"] == 128


def test_a_live_dirty_limit_acts_and_comes_back_as_a_ratio(result: Mapping[str, Any]) -> None:
    found = result["dirty"]
    assert found["exact"]
    assert found["limited_bytes"] <= 20 * MIB < found["free_bytes"]
    assert found["ratio_meanwhile"] == 0
    assert found["restored"]


def test_the_agent_tunes_yields_and_outlives_server_and_mount(result: Mapping[str, Any]) -> None:
    found = result["tuning"]
    assert found["tuned"]
    assert found["mode_without_server"] == "tune"
    assert found["gone_after_unmount"]
    assert found["exit"] == 0
