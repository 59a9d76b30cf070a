"""The text of an `import` file, which differs between versions in quoting, flag names and lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.emulate.served_client import Direction, OscFigures
from penstock.units import PAGE_BYTES

if TYPE_CHECKING:
    from penstock.emulate.served_osc import ServedOsc

_COMMON = (
    "write_grant, server_lock, version, max_byte_per_rpc, early_lock_cancel, adaptive_timeouts, lru_resize, "
    "alt_checksum_algorithm, fid_is_enabled, version_recovery, grant_shrink, full20, layout_lock, 64bithash, "
    "object_max_bytes, jobstats, einprogress, grant_param, {new}lvb_type, short_io, lfsck, bulk_mbits, "
    "second_flags, lockaheadv2, increasing_xid, lseek, reply_mbits{newest}"
)
_SERVER_NID = "10.0.0.1@tcp"


def import_text(osc: ServedOsc, now: OscFigures) -> str:
    """The connection as its file shows it."""
    modern = osc.rules.modern
    flags = _COMMON.format(new="hpreq_check1, " if modern else "", newest=", unaligned_dio" if modern else "")
    nid = f'"{_SERVER_NID}"' if modern else _SERVER_NID
    nid_lines = ""
    if modern:
        replies = f"connects: {osc.attempts}, replied: {osc.attempts}, uptodate: uptodate, sec_ago: 1"
        nid_lines = f"       nids_stats:\n          {nid}: {{ {replies} }}\n"
    marks = (
        "IMPF_REPLAYABLE, IMPF_PINGABLE, IMPF_CONNECT_TRIED"
        if modern
        else "replayable, pingable, connect_tried"
    )
    done = now.read.usec.count + now.write.usec.count
    wait_us = (now.read.usec.total + now.write.usec.total) // done if done else 0
    return (
        f"import:\n    name: {osc.name}\n    target: {osc.target}_UUID\n    state: {osc.state}\n"
        f"    connect_flags: [ {flags} ]\n    connect_data:\n"
        f"       flags: {'0xa0427af2e3440038' if modern else '0xa0425af2e3440038'}\n       instance: 1\n"
        f"       target_version: 2.17.57.62\n       initial_grant: {2 * osc.brw_pages * PAGE_BYTES + 2048}\n"
        f"       max_brw_size: {osc.brw_pages * PAGE_BYTES}\n"
        f"       grant_block_size: {osc.chunk_pages * PAGE_BYTES}\n       grant_inode_size: 1024\n"
        "       grant_max_extent_size: 4194304\n       grant_extent_tax: 1024\n       cksum_types: 0xf2\n"
        "       max_object_bytes: 9223372036854775807\n"
        f"    import_flags: [ {marks} ]\n    connection:\n       failover_nids: [ {nid} ]\n{nid_lines}"
        f"       current_connection: {nid}\n       connection_attempts: {osc.attempts}\n"
        f"       generation: {osc.generation}\n       in-progress_invalidations: 0\n       idle: 0 sec\n"
        f"    rpcs:\n       inflight: {now.read.in_flight + now.write.in_flight}\n       unregistering: 0\n"
        f"       timeouts: 0\n       avg_waittime: {wait_us} usecs\n"
        "    service_estimates:\n       services: 5 sec\n       network: 2 sec\n"
        "    transactions:\n       last_replay: 0\n       peer_committed: 0\n       last_checked: 0\n"
        f"{_averages('read', now.read)}{_averages('write', now.write)}"
    )


def _averages(name: str, side: Direction) -> str:
    if not side.size.count:
        return ""
    size = side.size.total // side.size.count
    usec = max(1, side.usec.total // max(1, side.usec.count))
    rate = size * 100 // usec
    return (
        f"    {name}_data_averages:\n       bytes_per_rpc: {size}\n       usecs_per_rpc: {usec}\n"
        f"       MB_per_sec: {rate // 100}.{rate % 100:02d}\n"
    )
