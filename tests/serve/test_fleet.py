"""Fifty agents and more, a real Prometheus with the shipped rules, and faults that must be noticed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import pytest
from tests.rigs.agents import EAGER
from tests.rigs.forked import command_server, start_command
from tests.rigs.freeport import free_port
from tests.rigs.served import served, wait_for

from penstock.agent.control import request
from penstock.agent.startup import SOCKET_FILE

pytestmark = pytest.mark.live

PACKAGING = Path(__file__).parent.parent.parent / "packaging"
QUIET = 47
PATIENCE_S = 1800.0
PRELOAD = ["penstock.cli.agent_run", "penstock.agent.service", "tests.rigs.forked"]
# On a busy machine, fifty agents may each wait long for their turn.
QUIET_CONFIG = "interval_s = 2\nwatchdog_s = 600\n"
# The guard takes back whatever costs anything, at once. The policy stays for two intervals at a setting that does a
# tenth of the work: whoever may lose as much as that loses nothing too much.
STRICT = EAGER.replace("visit_loss_s = 100", "visit_loss_s = 0.02")


class Fleet:
    """Agents in processes of their own, each with a port for metrics."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.ports: dict[str, int] = {}
        self.processes: dict[str, ForkServerProcess] = {}

    def start(self, context: Any, name: str, root: Path, mode: str, config: str = QUIET_CONFIG) -> None:
        self.reserve(name)
        path = self._home / f"{name}.toml"
        path.write_text(f'{config}\n[metrics]\nlisten = "127.0.0.1:{self.ports[name]}"\n')
        command = ["agent", "run", "--root", str(root), "--state-dir", str(self._home / name)]
        command += ["--config", str(path), "--mode", mode, "--policy", "random"]
        self.processes[name] = start_command(context, command, self._home / f"{name}.out")

    def reserve(self, *names: str) -> None:
        """Give agents their ports, now or before they start."""
        for name in names:
            self.ports.setdefault(name, free_port())

    def tune(self, name: str) -> None:
        """Let an agent that observes tune from now on."""
        request(self._home / name / SOCKET_FILE, "mode", 300.0, mode="tune")

    def instance(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"

    def wait_until_up(self, api: str) -> None:
        """Return when Prometheus has reached every agent that was started; say of the others what they said."""

        def missing() -> list[str]:
            reached = {row["metric"]["instance"] for row in found(api, "up == 1")}
            return [name for name in self.processes if self.instance(name) not in reached]

        try:
            wait_for(lambda: not missing(), PATIENCE_S, every_s=1)
        except TimeoutError:
            words = {
                name: (self.processes[name].exitcode, (self._home / f"{name}.out").read_text()[-300:])
                for name in missing()
            }
            pytest.fail(f"never reached: {words}")

    def stop(self) -> None:
        for process in self.processes.values():
            process.kill()
        for process in self.processes.values():
            process.join(300)


def shortened_rules() -> str:
    """The shipped rules with minutes made seconds, so that a test need not wait for them.

    An hour stays longer than the test: on a busy machine the few faults are minutes apart.
    """
    text = (PACKAGING / "prometheus" / "penstock.rules.yml").read_text()
    text = re.sub(r"\[(5m|15m)\]", "[30s]", text)
    text = text.replace("increase1h > 20", "increase1h > 2")
    # One look that a busy machine answers late is no fault: two in a row are.
    return re.sub(r"for: \d+m", "for: 12s", text)


@contextmanager
def prometheus(binary: str, home: Path, port: int, targets: list[str]) -> Iterator[str]:
    home.mkdir()
    (home / "rules.yml").write_text(shortened_rules())
    config = {
        "global": {"scrape_interval": "5s", "evaluation_interval": "2s"},
        "rule_files": [str(home / "rules.yml")],
        "scrape_configs": [{"job_name": "penstock", "static_configs": [{"targets": targets}]}],
    }
    (home / "prometheus.yml").write_text(json.dumps(config))
    command = [binary, f"--config.file={home / 'prometheus.yml'}", f"--storage.tsdb.path={home / 'tsdb'}"]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            [*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log
        )
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(300)


def ask(api: str, path: str, **arguments: str) -> Any:
    address = f"{api}/api/v1/{path}?{urllib.parse.urlencode(arguments)}"
    try:
        with urllib.request.urlopen(address, timeout=300) as answer:
            return json.load(answer)["data"]
    except OSError:
        return None


def found(api: str, expression: str) -> list[dict[str, Any]]:
    answer = ask(api, "query", query=expression)
    return [] if answer is None else list(answer["result"])


def firing(api: str) -> set[tuple[str, str]]:
    answer = ask(api, "alerts") or {"alerts": []}
    return {
        (alert["labels"]["alertname"], alert["labels"].get("instance", ""))
        for alert in answer["alerts"]
        if alert["state"] == "firing"
    }


def wait_until_firing(api: str, expected: set[tuple[str, str]]) -> None:
    """Return when these alerts fire and no others.

    Fifty agents on a busy machine do overrun, which is no fault of the fleet's, and may answer late for a while.
    """
    seen: set[tuple[str, str]] = set()

    def as_expected() -> bool:
        seen.clear()
        seen.update(alert for alert in firing(api) if alert[0] != "PenstockOverruns")
        return seen == expected

    try:
        wait_for(as_expected, PATIENCE_S, every_s=1)
    except TimeoutError:
        assert seen == expected


def test_prometheus_notices_what_goes_wrong_in_a_fleet(
    tmp_path: Path, tool: Callable[[str, str], str]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a small tmpfs")
    binary = tool("prometheus", "prometheus")
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "none", str(full)], check=True)
    (full / "ballast").write_bytes(b"x" * 12288)
    fleet = Fleet(tmp_path)
    try:
        with (
            served(tmp_path / "steady", plain=True) as steady,
            served(tmp_path / "calm", plain=True) as calm,
            served(tmp_path / "spiteful", plain=True, spiteful=True) as spiteful,
            command_server(PRELOAD) as context,
        ):
            for number in range(QUIET):
                fleet.start(context, f"node{number:02d}", steady.root, "advise")
            fleet.start(context, "victim", steady.root, "observe")
            fleet.reserve("full", "reverting")
            targets = [fleet.instance(name) for name in fleet.ports]
            with prometheus(binary, tmp_path / "prometheus", free_port(), targets) as api:
                # What these two do at once and never again must not be over before anybody looks: they only observe
                # until Prometheus has seen them.
                fleet.start(context, "full", calm.root, "observe", EAGER)
                fleet.start(context, "reverting", spiteful.root, "observe", STRICT)
                fleet.wait_until_up(api)
                for name in ("full", "reverting"):
                    fleet.tune(name)
                agents = f"fleet:penstock_agents:up == {QUIET + 3}"
                wait_for(lambda: bool(found(api, agents)), PATIENCE_S, every_s=1)
                wait_for(
                    lambda: "PenstockDown" not in {name for name, _ in firing(api)}, PATIENCE_S, every_s=1
                )
                fleet.processes["victim"].kill()
                expected = {
                    ("PenstockDown", fleet.instance("victim")),
                    ("PenstockTakesBackALot", fleet.instance("reverting")),
                    ("PenstockLosesLog", fleet.instance("full")),
                }
                wait_until_firing(api, expected)
                board = json.loads((PACKAGING / "grafana" / "penstock-fleet.json").read_text())
                queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
                assert len(queries) >= 10
                wait_for(lambda: all(found(api, query) for query in queries), PATIENCE_S, every_s=1)
                series = found(api, 'count by (instance) ({job="penstock"})')
                assert max(int(row["value"][1]) for row in series) < 120
    finally:
        fleet.stop()
        subprocess.run(["umount", "-l", str(full)], check=True)
