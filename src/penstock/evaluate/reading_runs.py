"""Runs of workloads that read: at one setting, or with an agent's loop on readahead and, if asked, the data path."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.agent.loop import Loop
from penstock.errors import KnobError, UsageError
from penstock.evaluate.run_request import RunRequest
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, client_loop
from penstock.knobs import Setting
from penstock.simulate.cluster import Cluster
from penstock.simulate.reading.reading_client import ReadingClient
from penstock.simulate.reading.reading_probe import ReadingProbe
from penstock.simulate.reading.reading_workloads import ReadingWorkload, parse_reading

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ReadingRun:
    """What applications read and what came over the wire for that, in bytes a second, and how it ended."""

    app_bytes_per_s: float
    carried_bytes_per_s: float
    final: Setting
    changes: int
    requests: int
    events: int

    @property
    def carried_ratio(self) -> float:
        """Bytes on the wire for each that an application read."""
        return self.carried_bytes_per_s / self.app_bytes_per_s if self.app_bytes_per_s else 1.0


def run_reading(
    client: ReadingClient,
    times: tuple[float, float],
    policy: str | None = None,
    *,
    with_data_path: bool = False,
    progress: Progress = lambda _: None,
) -> ReadingRun:
    """Run for so many seconds after a warm-up. A policy starts when the warm-up ends."""
    seconds, warmup_s = times
    client.engine.run_until(warmup_s)
    read, carried, sent = client.reads.bytes, client.carried_bytes, _requests(client)
    loop = _loop(client, policy, with_data_path) if policy is not None else None
    changes = 0
    for number in range(round(seconds / INTERVAL_S) + 1):
        client.engine.run_until(warmup_s + min(number * INTERVAL_S, seconds))
        if loop is not None:
            changes += sum(step.receipt is not None for step in loop.tick())
        progress(number * INTERVAL_S / seconds)
    client.engine.run_until(warmup_s + seconds)
    return ReadingRun(
        (client.reads.bytes - read) / seconds,
        (client.carried_bytes - carried) / seconds,
        client.setting,
        changes,
        _requests(client) - sent,
        client.engine.events,
    )


def reading_answer(request: RunRequest, cluster: Cluster, progress: Progress) -> dict[str, object]:
    """Run it and tell what it achieved, as `penstock simulate run --json` prints it."""
    if request.events or request.shared or request.model is not None or (request.clients or 1) > 1:
        raise UsageError(
            "workloads that read ahead take neither --event nor --shared nor --model nor --clients"
        )
    if request.policy in ("best-static", "oracle"):
        raise UsageError(f"--policy {request.policy}: not for workloads that read ahead")
    work = parse_reading(str(request.workload))
    client = ReadingClient(cluster, work, request.seed, _checked(cluster, work, request.wanted))
    seconds, warmup = request.times()
    started = time.perf_counter()
    found = run_reading(client, (seconds, warmup), request.policy, progress=progress)
    return {
        "workload": request.workload,
        "cluster": cluster.name,
        "seconds": seconds,
        "seed": request.seed,
        "app_mbps": found.app_bytes_per_s / 1e6,
        "rpc_mbps": found.carried_bytes_per_s / 1e6,
        "rpcs": found.requests,
        "events": found.events,
        "wall_s": time.perf_counter() - started,
        "final": dict(found.final),
        "changes": found.changes,
    }


def _checked(cluster: Cluster, work: ReadingWorkload, wanted: Mapping[str, int]) -> Setting:
    """The setting to hold from the start, side effects included."""
    probe = ReadingProbe(ReadingClient(cluster, work), with_data_path=True)
    known = {knob_id: target for target in probe.targets for knob_id in probe.space(target).ids}
    for knob_id in wanted:
        if knob_id not in known:
            raise KnobError(f"readahead has no knob {knob_id!r}: {', '.join(known)}")
    for target in probe.targets:
        probe.set(target, Setting({one: value for one, value in wanted.items() if known[one] == target}))
    outer = {
        knob.id: knob.under for target in probe.targets for knob in probe.space(target).knobs if knob.under
    }
    for knob_id, under in outer.items():
        if knob_id in wanted and probe.client.setting[knob_id] > probe.client.setting[under]:
            raise KnobError(f"{knob_id}={wanted[knob_id]} passes {under}={probe.client.setting[under]}")
    return probe.client.setting


def _loop(client: ReadingClient, policy: str, with_data_path: bool) -> Loop:
    probe = ReadingProbe(client, with_data_path)
    own = (client.seed * 1000, round(client.cluster.client.ram_gb * 1e9))
    return client_loop(probe, Tuning(policy), own)


def _requests(client: ReadingClient) -> int:
    return client.path.traffic.requests
