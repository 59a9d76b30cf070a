"""Metrics follow the conventions, and Prometheus's own linter agrees."""

from __future__ import annotations

import socket
import subprocess
import urllib.request
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample
from tests.rigs.agents import AgentProcess
from tests.rigs.freeport import free_port
from tests.rigs.served import wait_for

from penstock.serve.metrics import MOST_REASONS, AgentCollector, registry, text
from penstock.serve.status import AgentStatus, Tallies

pytestmark = pytest.mark.live

Exporting = Callable[..., AbstractContextManager[AgentProcess]]

LEGAL_LABELS = {"fs", "target", "knob", "reason", "mode", "version", "policy"}


def exposition(status: AgentStatus, *, per_target: bool = True) -> str:
    return text(registry(AgentCollector(lambda: status, per_target=per_target))).decode()


def samples(shown: str) -> list[Sample]:
    return [sample for family in text_string_to_metric_families(shown) for sample in family.samples]


def value(shown: str, name: str, **labels: str) -> float:
    found = [sample.value for sample in samples(shown) if sample.name == name and sample.labels == labels]
    assert len(found) == 1, f"{name}{labels}: {found}"
    return found[0]


def test_metrics_pass_promtool(status: AgentStatus, tool: Callable[[str, str], str]) -> None:
    promtool = tool("promtool", "prometheus")
    for per_target in (True, False):
        shown = exposition(status, per_target=per_target)
        check = subprocess.run(
            [promtool, "check", "metrics"], input=shown, capture_output=True, text=True, check=False
        )
        assert (check.returncode, check.stdout, check.stderr) == (0, "", "")


def test_metrics_keep_to_the_naming_conventions(status: AgentStatus) -> None:
    for family in text_string_to_metric_families(exposition(status)):
        assert family.name.startswith("penstock_")
        assert family.documentation.endswith(".")
        for sample in family.samples:
            assert set(sample.labels) <= LEGAL_LABELS
            assert family.type != "counter" or sample.name.endswith("_total")
            assert not sample.name.endswith(("_ms", "_us", "_mb", "_mib", "_percent"))


def test_metrics_have_no_series_twice(status: AgentStatus) -> None:
    keys = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples(exposition(status))]
    assert len(keys) == len(set(keys))


def test_metrics_are_in_base_units(status: AgentStatus) -> None:
    shown = exposition(status)
    target = {"fs": "scratch", "target": "OST0000"}
    assert value(shown, "penstock_target_write_rpc_seconds_total", **target) == pytest.approx(3.0)
    assert value(shown, "penstock_knob_setting", knob="dirty", **target) == 490 * 2**20
    assert value(shown, "penstock_node_dirty_budget_bytes") == 2**30
    assert value(shown, "penstock_agent_tick_duration_seconds_sum") == 1.5
    assert value(shown, "penstock_agent_info", version="1.2.3", policy="climb") == 1
    assert value(shown, "penstock_agent_mode", mode="tune") == 1
    assert value(shown, "penstock_agent_mode", mode="observe") == 0


def test_metrics_leave_out_what_is_not_known(status: AgentStatus) -> None:
    shown = exposition(replace(status, node=replace(status.node, memory_available_ratio=None)))
    assert "penstock_node_memory_available_ratio" not in shown
    assert "nan" not in shown.lower()
    assert value(shown, "penstock_target_up", fs="scratch", target="OST0001") == 0
    assert 'target="OST00ff"' not in shown


def test_metrics_can_be_summed_by_file_system(status: AgentStatus) -> None:
    shown = exposition(status, per_target=False)
    assert value(shown, "penstock_target_write_bytes_total", fs="scratch") == 2e9
    assert "target=" not in shown


def test_metrics_bound_reasons_a_policy_invents(status: AgentStatus) -> None:
    many = Tallies(changes={f"reason {i}": 1 for i in range(10_000)})
    shown = samples(exposition(replace(status, tallies=many)))
    found = [sample for sample in shown if sample.name == "penstock_changes_total"]
    assert len(found) == MOST_REASONS + 1
    assert sum(sample.value for sample in found) == 10_000


def test_metrics_escape_hostile_names(status: AgentStatus) -> None:
    evil = replace(status.targets[0], label='x"} 1\nevil_metric 666\n{y="')
    shown = exposition(replace(status, targets=(evil,)))
    assert not any(line.startswith("evil_metric") for line in shown.splitlines())
    assert value(shown, "penstock_target_up", fs="scratch", target=evil.label) == 1


def test_dead_scraper_leaves_the_loop_alone(exporting: Exporting) -> None:
    port, slow = free_port(), []
    with exporting(port, "--mode", "tune") as running:
        try:
            for i in range(40):
                connection = socket.create_connection(("127.0.0.1", port), timeout=300)
                connection.sendall(b"GET /metrics HTTP/1.1\r\n" + (b"\r\n" if i % 2 else b""))
                slow.append(connection)
            before = running.ask("status")["ticks"]
            wait_for(lambda: running.ask("status")["ticks"] > before + 20)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=300) as answer:
                assert b"penstock_agent_info" in answer.read()
        finally:
            for connection in slow:
                connection.close()
        assert running.stop() == 0


def test_metrics_show_what_was_taken_back_before_anything_was(status: AgentStatus) -> None:
    shown = exposition(replace(status, tallies=Tallies()))
    assert value(shown, "penstock_changes_total", reason="guard.revert") == 0
