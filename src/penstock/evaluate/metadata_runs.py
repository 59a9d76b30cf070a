"""Runs of metadata workloads: at one setting, or with an agent's loop on every client."""

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
from penstock.simulate.metadata.metadata_probe import MetadataProbe, MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class MetadataRun:
    """What each client's applications got, in operations a second, and where its knobs were at the end.

    `requests` are those that all clients sent.
    """

    ops_per_s: tuple[float, ...]
    finals: tuple[Setting, ...]
    changes: int
    requests: int
    events: int


def run_metadata(
    world: MetadataWorld,
    times: tuple[float, float],
    wanted: Mapping[str, int] | None = None,
    policy: str | None = None,
    progress: Progress = lambda _: None,
) -> MetadataRun:
    """Run for so many seconds after a warm-up. A policy starts from the default when the warm-up ends."""
    seconds, warmup_s = times
    probes = [world.probe(client) for client in range(world.clients)]
    for probe in probes:
        _hold(probe, wanted or {})
    world.engine.run_until(warmup_s)
    before = [_done(probe) for probe in probes]
    sent = sum(_requests(probe) for probe in probes)
    loops = [loop_of(probe, policy, world) for probe in probes] if policy is not None else []
    changes = 0
    for loop in loops:
        loop.tick()
    for number in range(1, round(seconds / INTERVAL_S) + 1):
        world.engine.run_until(warmup_s + min(number * INTERVAL_S, seconds))
        for loop in loops:
            changes += sum(step.receipt is not None for step in loop.tick())
        progress(number * INTERVAL_S / seconds)
    world.engine.run_until(warmup_s + seconds)
    after = [_done(probe) for probe in probes]
    return MetadataRun(
        tuple((now - then) / seconds for now, then in zip(after, before, strict=True)),
        tuple(world.members[probe.client].setting for probe in probes),
        changes,
        sum(_requests(probe) for probe in probes) - sent,
        world.engine.events,
    )


def metadata_answer(request: RunRequest, cluster: Cluster, progress: Progress) -> dict[str, object]:
    """Run it and tell what it achieved, as `penstock simulate run --json` prints it."""
    if request.events or request.shared or request.model is not None:
        raise UsageError("metadata workloads take neither --event nor --shared nor --model")
    if request.policy in ("best-static", "oracle"):
        raise UsageError(f"--policy {request.policy}: not for metadata workloads")
    clients = request.clients or 1
    world = MetadataWorld(cluster, parse_metadata(str(request.workload)), clients, request.seed)
    seconds, warmup = request.times()
    started = time.perf_counter()
    outcome = run_metadata(world, (seconds, warmup), request.wanted, request.policy, progress)
    document: dict[str, object] = {
        "workload": request.workload,
        "cluster": cluster.name,
        "seconds": seconds,
        "seed": request.seed,
        "ops_per_s": sum(outcome.ops_per_s),
        "app_mbps": 0.0,
        "rpc_mbps": 0.0,
        "rpcs": outcome.requests,
        "events": outcome.events,
        "wall_s": time.perf_counter() - started,
        "final": dict(outcome.finals[0]),
        "changes": outcome.changes,
    }
    if clients > 1:
        document["clients"] = [
            {"ops_per_s": rate, "final": dict(final)}
            for rate, final in zip(outcome.ops_per_s, outcome.finals, strict=True)
        ]
    return document


def loop_of(probe: MetadataProbe, policy: str, world: MetadataWorld) -> Loop:
    """The loop of an agent beside one client."""
    own = (world.seed * 1000 + probe.client, round(world.cluster.client.ram_gb * 1e9))
    return client_loop(probe, Tuning(policy), own)


def _hold(probe: MetadataProbe, wanted: Mapping[str, int]) -> None:
    """Hold a setting from the start."""
    known = {knob_id: target for target in probe.targets for knob_id in probe.space(target).ids}
    for knob_id in wanted:
        if knob_id not in known:
            raise KnobError(f"metadata has no knob {knob_id!r}: {', '.join(known)}")
    allowed, asked = probe.world.cluster.metadata.mod_rpcs, wanted.get("mod_rpcs", 0)
    if asked > allowed:
        raise KnobError(
            f"mod_rpcs={asked}: this server allows {allowed}; for another one: --set mod_rpcs={asked}"
        )
    for target in probe.targets:
        mine = {knob_id: value for knob_id, value in wanted.items() if known[knob_id] == target}
        probe.set(target, Setting(mine))


def _done(probe: MetadataProbe) -> int:
    return probe.world.members[probe.client].operations.count


def _requests(probe: MetadataProbe) -> int:
    client = probe.world.members[probe.client]
    return client.looked.count + client.changed.count + client.closed.count
