"""Cluster descriptions: what the hardware is, in physical units, with the source of every figure in the file.

Four clusters are built in; any other is a TOML file of the same form. Rates and times are those of single parts
(a pipe, a device, a CPU doing one thing); throughput is never an input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from penstock.config import Section, load, parse, validate
from penstock.errors import UsageError, did_you_mean

CLUSTER_NAMES = ("c220g5", "c6525-25g", "emulated-10ms", "emulated-2ms")


class LayoutSection(Section):
    """`[layout]`: how many servers, targets and devices."""

    ost_count: int = Field(ge=1, le=4096)
    osts_per_oss: int = Field(ge=1, le=64)
    osts_per_device: int = Field(ge=1, le=64)


class NetworkSection(Section):
    """`[network]`: one full-duplex pipe per node, and what TCP makes of it on a long way.

    A connection has at most `window_mib` under way, and loses packets when more than `queue_mib` wait in the
    narrowest queue; zero means that neither ever happens. A request or reply has a connection of its own and waits
    behind at most `ahead_mib` of bulk data; zero means behind all of it. With `writes_in_order` the data of writes
    leaves RPC by RPC, with `reads_in_order` that of reads; else messages of parallel RPCs take turns. Where
    `bulk_acknowledged` a server replies to a read only when the client has acknowledged the data (as Lustre does),
    which costs a round trip.
    """

    client_mb_per_s: float = Field(gt=0)
    server_mb_per_s: float = Field(gt=0)
    round_trip_us: float = Field(ge=0)
    peer_credits: int = Field(ge=1, le=1024)
    window_mib: float = Field(default=0.0, ge=0)
    queue_mib: float = Field(default=0.0, ge=0)
    ahead_mib: float = Field(default=0.0, ge=0)
    writes_in_order: int = Field(default=0, ge=0, le=1)
    reads_in_order: int = Field(default=0, ge=0, le=1)
    bulk_acknowledged: int = Field(default=0, ge=0, le=1)


class ClientSection(Section):
    """`[client]`: memory, CPU costs and caches of a client node.

    With `cores` above zero all these costs are work that application, RPCs and whoever reads the counters share
    the cores for, in slices of `slice_us` where an application works; with zero they are delays, nobody waits. With
    `replies_in_turn` a daemon deals with the pages of replies, one reply after the other, in such slices too.
    """

    ram_gb: float = Field(gt=0)
    read_call_us: float = Field(ge=0)
    read_copy_us_per_page: float = Field(ge=0)
    read_submit_us_per_page: float = Field(ge=0)
    write_call_us: float = Field(ge=0)
    write_new_us_per_page: float = Field(ge=0)
    write_over_us_per_page: float = Field(ge=0)
    wake_us: float = Field(ge=0)
    build_read_us: float = Field(ge=0)
    build_write_us: float = Field(ge=0)
    build_write_us_per_page: float = Field(ge=0)
    build_write_us_per_extent: float = Field(ge=0)
    reply_read_us: float = Field(ge=0)
    reply_write_us: float = Field(ge=0)
    reply_us_per_page: float = Field(ge=0)
    drop_us_per_page: float = Field(ge=0)
    read_ahead_mib: float = Field(gt=0)
    read_ahead_refill_mib: float = Field(gt=0)
    read_ahead_whole_mib: float = Field(ge=0)
    flush_every_s: float = Field(gt=0)
    flush_age_s: float = Field(ge=0)
    cores: int = Field(default=0, ge=0, le=64)
    slice_us: float = Field(default=1000.0, gt=0)
    message_us: float = Field(default=0.0, ge=0)
    send_us_per_page: float = Field(default=0.0, ge=0)
    receive_us_per_page: float = Field(default=0.0, ge=0)
    observe_us: float = Field(default=0.0, ge=0)
    read_demand_us_per_page: float = Field(default=0.0, ge=0)
    work_exponential_ratio: float = Field(default=0.0, ge=0, le=1)
    replies_in_turn: int = Field(default=0, ge=0, le=1)


class ServerSection(Section):
    """`[server]`: threads and CPU costs of an OSS. With `cores` above zero its RPCs share these."""

    threads: int = Field(ge=1)
    request_us: float = Field(ge=0)
    request_exponential_ratio: float = Field(ge=0, le=1)
    reply_us: float = Field(ge=0)
    checksum_us_per_page: float = Field(ge=0)
    map_us_per_fragment: float = Field(ge=0)
    journal_every_s: float = Field(gt=0)
    journal_ms: float = Field(ge=0)
    cores: int = Field(default=0, ge=0, le=64)
    work_exponential_ratio: float = Field(default=0.0, ge=0, le=1)
    message_us: float = Field(default=0.0, ge=0)
    send_us_per_page: float = Field(default=0.0, ge=0)
    receive_us_per_page: float = Field(default=0.0, ge=0)


class DeviceSection(Section):
    """`[device]`: one SSD, or a disk where it rotates.

    A read or write occupies it for a cost per RPC, page and extra fragment; on a disk, moving the head counts
    instead of fragments, ramp and mixing.
    """

    read_rpc_us: float = Field(ge=0)
    read_us_per_page: float = Field(ge=0)
    read_ramp: float = Field(ge=0)
    read_ramp_max_us: float = Field(ge=0)
    read_spread: float = Field(ge=0, le=1)
    random_read_us: float = Field(ge=0)
    near_kib: float = Field(ge=0)
    write_rpc_us: float = Field(ge=0)
    write_us_per_page: float = Field(ge=0)
    write_latency_us: float = Field(ge=0)
    write_buffer_mib: float = Field(default=0.0, ge=0)
    fragment_us: float = Field(ge=0)
    queue_depth: int = Field(ge=1, le=65536)
    mixed_ratio: float = Field(gt=0, le=1)
    # A device that turns is a disk; for solid state these four stay out of the file.
    rotation_ms: float = Field(default=0.0, ge=0)
    seek_ms: float = Field(default=0.0, ge=0)
    seek_track_ms: float = Field(default=0.0, ge=0)
    capacity_gb: float = Field(default=480.0, gt=0)


class LustreSection(Section):
    """`[lustre]`: the version's rules and the grant this file system gives."""

    version: Literal["2.15", "2.16", "2.17"]
    extent_tax_kib: float = Field(ge=0)
    grant_initial_bytes: int = Field(ge=0)
    grant_max_bytes: int = Field(ge=0)
    grant_step_bytes: int = Field(ge=0)
    brw_pages: int = Field(ge=1, le=4096)
    # A lost server is noticed after at_min, 5 s in Lustre's source, and about a second of slack.
    timeout_s: float = Field(default=6.0, gt=0)


class MetadataSection(Section):
    """`[metadata]`: the metadata server, and what its requests cost a client's one processor for them.

    A request takes `client_us` there where a thread waits for it and `ahead_us` where statahead sent it, whose reply
    is dealt with `ahead_reply_us` later. A thread that waited for a slot goes on `slot_wake_us` after it was given.
    `mod_rpcs` is how many requests that change something a client may have in flight. Of every cost the share
    `exponential_ratio` varies.
    """

    service_threads: int = Field(default=64, ge=1, le=4096)
    mod_rpcs: int = Field(default=8, ge=1, le=511)
    lookup_us: float = Field(default=100.0, ge=0)
    create_us: float = Field(default=250.0, ge=0)
    close_us: float = Field(default=100.0, ge=0)
    unlink_us: float = Field(default=250.0, ge=0)
    readdir_us: float = Field(default=1000.0, ge=0)
    glimpse_us: float = Field(default=100.0, ge=0)
    client_us: float = Field(default=30.0, ge=0)
    slot_wake_us: float = Field(default=30.0, ge=0)
    ahead_us: float = Field(default=15.0, ge=0)
    ahead_reply_us: float = Field(default=50.0, ge=0)
    exponential_ratio: float = Field(default=0.3, ge=0, le=1)


class ReadaheadSection(Section):
    """`[readahead]`: what the simulation of readahead does otherwise than `[client]`, `[server]` and `[network]` say.

    Those were recorded beside other work. Reading alone, a page cost the share `page_cost_ratio` of it, and a reply
    waited behind up to `reply_behind_mib` of bulk data; zero means `network.ahead_mib`.
    """

    page_cost_ratio: float = Field(default=1.0, gt=0)
    reply_behind_mib: float = Field(default=0.0, ge=0)


class Cluster(Section):
    """A whole description. A file may begin with `base = "c220g5"`, a built-in cluster, and say what differs."""

    name: str
    layout: LayoutSection
    network: NetworkSection
    client: ClientSection
    server: ServerSection
    device: DeviceSection
    lustre: LustreSection
    metadata: MetadataSection = MetadataSection()
    readahead: ReadaheadSection = ReadaheadSection()

    @model_validator(mode="before")
    @classmethod
    def _inherit(cls, document: Any) -> Any:
        if not isinstance(document, dict) or "base" not in document:
            return document
        own = {key: value for key, value in document.items() if key != "base"}
        try:
            merged = builtin_cluster(str(document["base"])).model_dump()
        except UsageError as error:
            raise ValueError(f"key 'base': {error}") from None
        del merged["name"]
        for key, value in own.items():
            inherits = isinstance(value, dict) and isinstance(merged.get(key), dict)
            merged[key] = {**merged[key], **value} if inherits else value
        return merged

    def override(self, changes: Mapping[str, str]) -> Cluster:
        """This cluster with some parameters replaced, named `section.key` or, where only one has it, `key`."""
        document = self.model_dump()
        for name, text in changes.items():
            section, key = self._locate(name)
            document[section][key] = _value(document[section][key], text, name)
        return validate(document, Cluster, "--set")

    def _locate(self, name: str) -> tuple[str, str]:
        known = [(s, k) for s, part in self.model_dump().items() if isinstance(part, dict) for k in part]
        matches = [(s, k) for s, k in known if name in (k, f"{s}.{k}")]
        if len(matches) == 1:
            return matches[0]
        hint = did_you_mean(name, [f"{s}.{k}" for s, k in known] + [k for _, k in known])
        raise UsageError(f"--set {name}: the cluster has no such parameter{hint}")


def _value(current: Any, text: str, name: str) -> Any:
    if isinstance(current, str):
        return text
    try:
        return int(text) if isinstance(current, int) else float(text)
    except ValueError:
        raise UsageError(f"--set {name}={text}: not a number") from None


def parse_cluster(text: str, source: str) -> Cluster:
    """A description from TOML text; `source` names it in errors."""
    return parse(text, Cluster, source)


def find_cluster(name: str, directory: Path = Path()) -> Cluster:
    """A built-in cluster by its name, or one described in a file, which may lie in `directory`."""
    return load(directory / name, Cluster) if name.endswith(".toml") else builtin_cluster(name)


def with_changes(cluster: Cluster, texts: Sequence[str]) -> Cluster:
    """The cluster with some parameters replaced, each given as KEY=VALUE."""
    changes = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--set {text}: write KEY=VALUE")
        changes[key.strip()] = value.strip()
    return cluster.override(changes) if changes else cluster


def builtin_cluster(name: str) -> Cluster:
    """One of the descriptions that ship with the package."""
    if name not in CLUSTER_NAMES:
        known = ", ".join(CLUSTER_NAMES)
        raise UsageError(
            f"unknown cluster {name!r}: built in are {known}; FILE.toml describes another"
            f"{did_you_mean(name, CLUSTER_NAMES)}"
        )
    text = resources.files("penstock.simulate").joinpath(f"clusters/{name}.toml").read_text("utf-8")
    return parse_cluster(text, f"{name}.toml")
