"""A running agent, scraped: by Debian's Prometheus, and by scrapers that misbehave."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.agents import AgentProcess, agent
from tests.rigs.freeport import free_port
from tests.rigs.served import Served, wait_for

pytestmark = pytest.mark.live

Exporting = Callable[..., AbstractContextManager[AgentProcess]]


@contextmanager
def prometheus(binary: str, tmp_path: Path, port: int, scraped_port: int) -> Iterator[str]:
    """A Prometheus that scrapes one port every second; yields the address of its API."""
    config = {
        "global": {"scrape_interval": "1s"},
        "scrape_configs": [
            {"job_name": "penstock", "static_configs": [{"targets": [f"127.0.0.1:{scraped_port}"]}]}
        ],
    }
    (tmp_path / "prometheus.yml").write_text(json.dumps(config))
    command = [binary, f"--config.file={tmp_path / 'prometheus.yml'}"]
    command += [f"--storage.tsdb.path={tmp_path / 'tsdb'}", f"--web.listen-address=127.0.0.1:{port}"]
    with (tmp_path / "prometheus.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(200)


def query(api: str, expression: str) -> list[dict[str, Any]]:
    address = f"{api}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            found: list[dict[str, Any]] = json.load(answer)["data"]["result"]
    except OSError:
        return []
    return found


def test_prometheus_scrapes_a_tuning_agent(
    tmp_path: Path, tool: Callable[[str, str], str], exporting: Exporting
) -> None:
    binary, port = tool("prometheus", "prometheus"), free_port()
    with (
        exporting(port, "--mode", "tune", "--policy", "climb"),
        prometheus(binary, tmp_path, free_port(), port) as api,
    ):
        wait_for(lambda: bool(query(api, "sum(penstock_changes_total) > 1")))
        wait_for(lambda: bool(query(api, "rate(penstock_target_read_bytes_total[10s]) > 0")), 300.0)
        (up,) = query(api, "up")
        assert up["value"][1] == "1"
        (mode,) = query(api, "penstock_agent_mode == 1")
        assert mode["metric"]["mode"] == "tune"
        pages = query(api, 'penstock_knob_setting{knob="pages"}')
        assert {row["metric"]["target"] for row in pages} == {"OST0000", "OST0001"}
        assert query(api, "penstock_agent_info")[0]["metric"]["policy"] == "climb"


def test_textfile_passes_promtool_and_goes_with_the_agent(
    tmp_path: Path, tool: Callable[[str, str], str], exporting: Exporting
) -> None:
    promtool = tool("promtool", "prometheus")
    path = tmp_path / "textfile" / "penstock.prom"
    with exporting(free_port()) as running:
        wait_for(lambda: path.exists() and b"OST0001" in path.read_bytes())
        with path.open("rb") as shown:
            check = subprocess.run(
                [promtool, "check", "metrics"], stdin=shown, capture_output=True, check=False
            )
        assert (check.returncode, check.stdout + check.stderr) == (0, b"")
        assert running.stop() == 0
    assert list(path.parent.iterdir()) == []


def test_port_that_is_taken_is_said_before_anything_changes(client: Served, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        (tmp_path / "state.toml").write_text(f'mode = "tune"\n[metrics]\nlisten = "127.0.0.1:{port}"\n')
        with agent(client, tmp_path / "state", wait=False) as running:
            assert running.process.wait(300) == 1
            said = running.said()
    assert said == f"penstock: metrics.listen 127.0.0.1:{port}: Address already in use\n"
