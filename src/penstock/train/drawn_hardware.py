"""Random hardware: draws the parameters of a cluster one after the other. See `penstock.train.draws`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.simulate.cluster import builtin_cluster
from penstock.units import GIB, MIB

BASE = "c220g5"
TESTBEDS = ("c220g5", "c6525-25g")
# 10 GbE carries 1,200 MB/s after framing.
MB_PER_GBIT = 120.0
Range = tuple[float, float]


@dataclass(slots=True)
class DrawnHardware:
    """The drawn parameters of clients, servers and network."""

    cluster: str
    changes: dict[str, float] = field(default_factory=dict)
    families: list[str] = field(default_factory=list)
    osts: int = 8
    ram_gb: float = 128.0


def between(rng: Random, low: float, high: float) -> float:
    """Log-uniform, to three digits."""
    return float(f"{low * (high / low) ** rng.random():.3g}")


def draw_hardware(rng: Random) -> DrawnHardware:
    """Draw network, devices, clients and servers, or use a built-in cluster unchanged."""
    if rng.random() < 1 / 6:
        name = rng.choice(TESTBEDS)
        cluster = builtin_cluster(name)
        return DrawnHardware(name, {}, ["testbed", "ssd"], cluster.layout.ost_count, cluster.client.ram_gb)
    drawn = DrawnHardware(BASE, osts=rng.choice((1, 2, 4, 8)))
    drawn.changes["ost_count"] = drawn.osts
    drawn.changes["osts_per_oss"] = rng.choice((1, 2))
    drawn.changes["osts_per_device"] = 1 if rng.random() < 0.5 else drawn.changes["osts_per_oss"]
    _draw_network(rng, drawn)
    kind = rng.choices(tuple(DEVICES), (2, 1, 3, 3, 2))[0]
    drawn.changes.update(DEVICES[kind](rng))
    drawn.families.append("disk" if kind == "raid" else kind)
    _draw_client(rng, drawn)
    _draw_server(rng, drawn)
    return drawn


def _draw_network(rng: Random, drawn: DrawnHardware) -> None:
    client_gbit, server_gbit = between(rng, 1, 200), between(rng, 1, 200)
    drawn.changes["client_mb_per_s"] = round(client_gbit * MB_PER_GBIT, 1)
    drawn.changes["server_mb_per_s"] = round(server_gbit * MB_PER_GBIT, 1)
    drawn.changes["round_trip_us"] = between(rng, 50, 10_000)
    drawn.changes["peer_credits"] = rng.choice((8, 8, 8, 16, 32, 64))
    drawn.changes["bulk_acknowledged"] = rng.choice((0, 1))
    if drawn.changes["round_trip_us"] >= 2000:
        drawn.families.append("far")
        drawn.changes["window_mib"] = rng.choice((0, 2, 4, 8, 16))
        drawn.changes["queue_mib"] = rng.choice((0, 1, 4))
    if min(client_gbit, server_gbit) <= 2.5:
        drawn.families.append("slow-link")
    if min(client_gbit, server_gbit) >= 50:
        drawn.families.append("fast-link")


def _disk(rng: Random, rate_mb_per_s: float) -> dict[str, float]:
    us_per_page = round(4096 / rate_mb_per_s, 2)
    return {
        "rotation_ms": rng.choice((4.0, 8.33)),
        "seek_ms": between(rng, 4, 12),
        "seek_track_ms": 0.8,
        "capacity_gb": 8000.0,
        "read_us_per_page": us_per_page,
        "write_us_per_page": us_per_page,
        "read_rpc_us": 100.0,
        "write_rpc_us": 100.0,
        "write_buffer_mib": 0.0,
    }


def _solid(rng: Random, read: Range, write: Range, access_us: Range) -> dict[str, float]:
    """A solid-state device: ranges of its rates in MB/s, and of the time a random read takes."""
    return {
        "read_us_per_page": round(4096 / between(rng, *read), 3),
        "write_us_per_page": round(4096 / between(rng, *write), 3),
        "random_read_us": between(rng, *access_us),
    }


def _draw_disk(rng: Random) -> dict[str, float]:
    return _disk(rng, between(rng, 120, 260))


def _draw_raid(rng: Random) -> dict[str, float]:
    return _disk(rng, between(rng, 500, 1500))


def _draw_ssd(rng: Random) -> dict[str, float]:
    return {**_solid(rng, (400, 560), (200, 520), (70, 250)), "fragment_us": between(rng, 8, 40)}


def _draw_nvme(rng: Random) -> dict[str, float]:
    return {
        **_solid(rng, (2000, 7000), (1000, 5000), (60, 110)),
        "read_rpc_us": 2.0,
        "write_rpc_us": 1.0,
        "read_ramp_max_us": 60.0,
        "write_latency_us": 15.0,
        "write_buffer_mib": 64.0,
        "fragment_us": between(rng, 1, 5),
        "queue_depth": 1024,
        "mixed_ratio": 0.85,
    }


def _draw_memory(rng: Random) -> dict[str, float]:
    """Targets in the server's memory. The cost of a page is that of a copy."""
    return {
        **_solid(rng, (3000, 9000), (2000, 8000), (0.1, 1)),
        "read_rpc_us": 1.0,
        "write_rpc_us": 1.0,
        "read_ramp": 0.0,
        "write_latency_us": 1.0,
        "fragment_us": 0.2,
        "queue_depth": 1024,
        "mixed_ratio": 1.0,
        "journal_ms": 0.5,
    }


DEVICES = {
    "disk": _draw_disk,
    "raid": _draw_raid,
    "ssd": _draw_ssd,
    "nvme": _draw_nvme,
    "memory": _draw_memory,
}
CLIENT_COSTS = (
    "read_call_us", "read_copy_us_per_page", "read_submit_us_per_page", "write_call_us", "write_new_us_per_page",
    "write_over_us_per_page", "wake_us", "build_read_us", "build_write_us", "build_write_us_per_page",
    "build_write_us_per_extent", "reply_read_us", "reply_write_us", "reply_us_per_page", "drop_us_per_page",
)  # fmt: skip
SERVER_COSTS = ("request_us", "reply_us", "checksum_us_per_page", "map_us_per_fragment")


def _draw_client(rng: Random, drawn: DrawnHardware) -> None:
    slow = rng.random() < 1 / 8
    factor = between(rng, 4, 12) if slow else between(rng, 0.4, 2.5)
    costs = builtin_cluster(BASE).client.model_dump()
    drawn.changes.update(_slower(costs, CLIENT_COSTS, factor))
    drawn.ram_gb = drawn.changes["ram_gb"] = between(rng, 16, 384)
    _draw_cores(rng, drawn, "client", slow, factor)
    if slow:
        drawn.families.append("slow-core")


def _draw_cores(rng: Random, drawn: DrawnHardware, node: str, slow: bool, factor: float) -> None:
    """A few slow cores that all work shares, or enough ordinary ones.

    In half of the worlds cores are not modelled.
    """
    if not slow and rng.random() < 0.5:
        return
    drawn.changes[f"{node}.cores"] = rng.choice((1, 1, 2) if slow else (8, 16, 32))
    drawn.changes[f"{node}.message_us"] = _digits(between(rng, 4, 12) * factor)
    for way in ("send", "receive"):
        drawn.changes[f"{node}.{way}_us_per_page"] = _digits(between(rng, 0.1, 0.4) * factor)


def _draw_server(rng: Random, drawn: DrawnHardware) -> None:
    slow = rng.random() < 1 / 8
    factor = between(rng, 4, 12) if slow else between(rng, 0.5, 2)
    costs = builtin_cluster(BASE).server.model_dump()
    drawn.changes.update(_slower(costs, SERVER_COSTS, factor))
    drawn.changes["threads"] = round(between(rng, 8, 512))
    _draw_cores(rng, drawn, "server", slow, factor)
    if rng.random() < 0.5:
        drawn.changes["grant_initial_bytes"] = 8 * MIB
        drawn.changes["grant_max_bytes"] = 4 * GIB
    if slow:
        drawn.families.append("slow-server")
    if drawn.changes["threads"] <= 32:
        drawn.families.append("few-threads")


def _slower(costs: Mapping[str, float], keys: Sequence[str], factor: float) -> dict[str, float]:
    return {key: _digits(costs[key] * factor) for key in keys}


def _digits(value: float) -> float:
    return float(f"{value:.4g}")
