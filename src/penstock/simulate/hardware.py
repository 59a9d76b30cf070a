"""Writes what a cluster's description says of servers, network and clients into the arrays of its world."""

from __future__ import annotations

import math

import numpy as np

from penstock.simulate.cluster import ClientSection, Cluster, NetworkSection
from penstock.simulate.kernel.records import NONE, PAGE, World
from penstock.units import GIB, MIB

SECOND_US = 1e6


def fill_servers(w: World, cluster: Cluster, clients: int) -> None:
    server, device, network = cluster.server, cluster.device, cluster.network
    osses = w.oss.shape[0]
    w.oss.nic[:] = clients + np.arange(osses)
    w.oss.threads[:] = server.threads
    w.oss.request_us[:] = server.request_us
    w.oss.request_exponential[:] = server.request_exponential_ratio
    w.oss.reply_us[:] = server.reply_us
    w.oss.page_us[:] = server.checksum_us_per_page
    w.oss.fragment_us[:] = server.map_us_per_fragment
    w.oss.queue_head[:] = NONE
    w.oss.queue_tail[:] = NONE
    w.oss.rng[:] = w.stream.shape[0] + np.arange(osses)
    osts = np.arange(cluster.layout.ost_count)
    w.ost.oss[:] = osts // cluster.layout.osts_per_oss
    w.ost.ssd[:] = osts // cluster.layout.osts_per_device
    w.ost.journal_every_us[:] = server.journal_every_s * SECOND_US
    w.ost.journal_us[:] = server.journal_ms * 1e3
    w.ost.range_lock[:] = 1 if cluster.lustre.version == "2.15" else 0
    for name in ["read_rpc_us", "write_rpc_us", "random_read_us", "write_latency_us", "fragment_us"]:
        w.ssd[name][:] = getattr(device, name)
    w.ssd.read_us_page[:] = device.read_us_per_page
    w.ssd.write_us_page[:] = device.write_us_per_page
    w.ssd.write_buffer_us[:] = device.write_buffer_mib * MIB / PAGE * device.write_us_per_page
    w.ssd.ramp[:] = device.read_ramp
    w.ssd.ramp_max_us[:] = device.read_ramp_max_us
    w.ssd.spread[:] = device.read_spread
    w.ssd.mixed[:] = device.mixed_ratio
    w.ssd.near_pages[:] = int(device.near_kib * 1024) // PAGE
    w.ssd.queue_depth[:] = device.queue_depth
    w.ssd.last_file[:] = NONE
    w.ssd.rotation_us[:] = device.rotation_ms * 1e3
    w.ssd.track_us[:] = device.seek_track_ms * 1e3
    # An average seek crosses a third of the disk.
    w.ssd.stroke_us[:] = max(0.0, device.seek_ms - device.seek_track_ms) * 1e3 * math.sqrt(3.0)
    w.ssd.capacity_pages[:] = max(1, int(device.capacity_gb * 1e9) // PAGE)
    w.ssd.queue_head[:] = NONE
    w.ssd.queue_tail[:] = NONE
    w.ost.slow[:] = 1.0
    w.ost.timeout_us[:] = cluster.lustre.timeout_s * SECOND_US
    w.nic.us_per_byte[:clients] = 1.0 / network.client_mb_per_s
    w.nic.us_per_byte[clients:] = 1.0 / network.server_mb_per_s
    _fill_links(w, network)
    for name in ("send", "receive"):
        w.oss[f"{name}_us_page"][:] = getattr(server, f"{name}_us_per_page")
    w.oss.message_us[:] = server.message_us
    w.oss.work_exponential[:] = server.work_exponential_ratio
    w.oss.cores[:] = server.cores
    w.oss.core[:] = clients * cluster.client.cores + np.arange(osses) * server.cores
    w.oss.acknowledged[:] = network.bulk_acknowledged
    w.sim.paced[0] = int(cluster.client.cores + server.cores + network.bulk_acknowledged > 0)


def _fill_links(w: World, network: NetworkSection) -> None:
    w.link.latency_us[:] = network.round_trip_us / 2.0
    w.link.us_per_byte[:] = _tcp_us_per_byte(network)
    # Links with odd numbers lead to a server and carry what a client writes, the others what it reads.
    w.link.in_order[1::2] = network.writes_in_order
    w.link.in_order[0::2] = network.reads_in_order
    w.link.behind_us[:] = network.ahead_mib * MIB / min(network.client_mb_per_s, network.server_mb_per_s)


def _tcp_us_per_byte(network: NetworkSection) -> float:
    """What TCP's window and the queue on the way leave of a link's rate, on average; 0 where neither limits it.

    A connection's window grows until packets are lost, that is until the way itself and the queue are full, and
    shrinks to 0.7 then (CUBIC): on average it holds 0.85 of both.
    """
    if network.round_trip_us <= 0.0:
        return 0.0
    window_bytes = network.window_mib * MIB if network.window_mib > 0.0 else math.inf
    if network.queue_mib > 0.0:
        narrowest = min(network.client_mb_per_s, network.server_mb_per_s)
        window_bytes = min(window_bytes, 0.85 * (narrowest * network.round_trip_us + network.queue_mib * MIB))
    return network.round_trip_us / window_bytes


def _stride(client: ClientSection) -> int:
    """How many pages a thread goes on before it looks who else needs its core: those of one time slice."""
    if client.cores == 0:
        return 1 << 40
    dearest = max(
        client.read_copy_us_per_page, client.write_new_us_per_page, client.write_over_us_per_page, 1e-3
    )
    return max(1, int(client.slice_us / dearest))


def fill_clients(w: World, cluster: Cluster, clients: int) -> None:
    client, lustre = cluster.client, cluster.lustre
    same = "read_call_us write_call_us wake_us build_read_us build_write_us reply_read_us reply_write_us"
    for name in same.split():
        w.client[name][:] = getattr(client, name)
    per_page = "read_copy read_submit write_new write_over build_write reply send receive read_demand"
    for name in per_page.split():
        w.client[f"{name}_us_page"][:] = getattr(client, f"{name}_us_per_page")
    w.client.build_write_us_extent[:] = client.build_write_us_per_extent
    for name in ("cores", "slice_us", "message_us", "observe_us", "replies_in_turn"):
        w.client[name][:] = getattr(client, name)
    w.client.work_exponential[:] = client.work_exponential_ratio
    w.client.reply_head[:] = NONE
    w.client.core[:] = np.arange(clients) * client.cores
    w.client.rng[:] = w.rng.shape[0] - clients + np.arange(clients)
    w.client.stride[:] = _stride(client)
    w.client.lru_free_us_page[:] = client.drop_us_per_page
    w.client.flush_every_us[:] = client.flush_every_s * SECOND_US
    w.client.flush_age_us[:] = client.flush_age_s * SECOND_US
    w.client.extent_tax_bytes[:] = lustre.extent_tax_kib * 1024
    w.client.grant_step_bytes[:] = lustre.grant_step_bytes
    w.client.ra_max[:] = int(client.read_ahead_mib * MIB) // PAGE
    w.client.ra_refill[:] = int(client.read_ahead_refill_mib * MIB) // PAGE
    w.client.ra_whole[:] = int(client.read_ahead_whole_mib * MIB) // PAGE
    w.client.dirty_max[:] = int(client.ram_gb * GIB) // 2 // PAGE
    w.client.cached_max[:] = int(client.ram_gb * GIB) // 2 // PAGE
    w.client.nic[:] = np.arange(clients)
    w.client.osts[:] = cluster.layout.ost_count
    w.client.first_file[:] = NONE
    # The metadata server is not simulated. It answers like an idle server of data.
    server_us = cluster.server.request_us + cluster.server.reply_us
    w.client.metadata_us[:] = cluster.network.round_trip_us + server_us
    oscs = np.arange(w.osc.shape[0])
    w.osc.client[:] = oscs // cluster.layout.ost_count
    w.osc.ost[:] = oscs % cluster.layout.ost_count
    w.osc.grant_bytes[:] = lustre.grant_initial_bytes
    w.client.grant_initial_bytes[:] = lustre.grant_initial_bytes
    w.osc.grant_total_bytes[:] = lustre.grant_initial_bytes
    w.osc.grant_max_bytes[:] = max(lustre.grant_initial_bytes, lustre.grant_max_bytes)
    w.osc.first_file[:] = NONE
    w.osc.cursor[:] = NONE
