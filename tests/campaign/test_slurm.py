"""A campaign on a real Slurm: a worker and the controller are killed in the middle, and the rows are the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet  # type: ignore[import-untyped]
from tests.rigs.served import wait_for
from tests.slurm_site import PATIENCE_S, Site

from penstock.campaign.ledger import CampaignLedger

pytestmark = pytest.mark.live
SPEC = """
kind = "surface"
out = "{out}"
[surface]
workloads = ["s_wr_sq_1m", "s_rd_sq_1m", "s_rd_rn_1m", "s_rd_sq_16m", "s_rd_rn_16m", "s_wr_sq_16m", "s_wr_rn_16m"]
seconds = 5
warmup = 1
settings_per_shard = 3
"""
SHARDS = 7 * 33


def specification(directory: Path, out: str) -> Path:
    path = directory / f"{out}.toml"
    path.write_text(SPEC.format(out=out) + '[slurm]\nmemory = "1GiB"\ninterface = "lo"\n')
    return path


@contextmanager
def running(site: Site, spec: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "penstock", "campaign", "run", str(spec), *options, "--json"]
    environment = dict(site.cluster.environment) | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def worker_processes(spec: Path) -> list[int]:
    """Processes of Slurm jobs that run shards of this campaign."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if b"distributed.cli.dask_worker" in words and str(spec.with_suffix("")).encode() in words:
                found.append(int(entry.name))
    return found


def test_campaign_on_slurm_survives_its_worker_and_the_controller(slurm_site: Site, tmp_path: Path) -> None:
    local, remote = specification(tmp_path, "local"), specification(tmp_path, "remote")
    ledger = CampaignLedger(tmp_path / "remote")
    cluster = slurm_site.cluster

    def done() -> int:
        return ledger.standing().done if (tmp_path / "remote" / "campaign.json").exists() else 0

    with running(slurm_site, remote, "--engine", "slurm", "--workers", "2") as process:
        wait_for(lambda: done() >= 20 or process.poll() is not None, PATIENCE_S)
        victims = worker_processes(remote)
        os.kill(victims[0], signal.SIGKILL)
        before = done()
        assert before < SHARDS
        wait_for(lambda: done() >= before + 20 or process.poll() is not None, PATIENCE_S)
        cluster.kill("slurmctld")
        before = done()
        assert before < SHARDS
        wait_for(lambda: done() >= before + 20 or process.poll() is not None, PATIENCE_S)
        cluster.start_controller()
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    found = json.loads(out)
    assert (found["state"], found["done"], found["failed"]) == ("done", SHARDS, {})
    wait_for(lambda: not cluster.active_jobs(), PATIENCE_S)
    with running(slurm_site, local, "--workers", "2") as process:
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    expected = json.loads(out)
    assert found["digest"] == expected["digest"] and found["rows"] == expected["rows"] == 7 * 99
    for path in sorted((tmp_path / "local" / "shards").iterdir()):
        assert parquet.read_table(path).equals(parquet.read_table(tmp_path / "remote/shards" / path.name))
