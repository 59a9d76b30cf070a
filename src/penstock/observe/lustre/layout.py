"""Where Lustre keeps its files, and what directory names mean.

The place of a file differs between versions (procfs in 2.12, sysfs or debugfs later). So every file is looked up in
sysfs, then procfs, then debugfs. The version is never used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from penstock.knobs import TargetKind
from penstock.snapshot import Target
from penstock.target_kinds import MDC

PLACES = ("sys/fs/lustre", "proc/fs/lustre", "sys/kernel/debug/lustre")

# Read at every pass, in the order in which `TargetParser` takes their texts.
OSC_FILES = (
    "stats",
    "import",
    "cur_dirty_bytes",
    "cur_grant_bytes",
    "max_pages_per_rpc",
    "max_rpcs_in_flight",
    "max_dirty_mb",
    "active",
    "state",
)
INSTEAD_OF = {"state": "import"}
# Useful in a recording and shown on request, but too long to read in every pass.
OSC_DETAILS = ("rpc_stats", "osc_cached_mb", "cur_lost_grant_bytes", "timeouts", "checksum_type")
# The knobs of each kind of metadata target and their files: read by the observer, and all that may be written.
MDC_KNOBS: Mapping[str, str] = MappingProxyType(
    {"rpcs": "max_rpcs_in_flight", "mod_rpcs": "max_mod_rpcs_in_flight"}
)
STATAHEAD_KNOBS: Mapping[str, str] = MappingProxyType({"statahead": "statahead_max"})
READAHEAD_KNOBS: Mapping[str, str] = MappingProxyType(
    {
        "ahead_total": "max_read_ahead_mb",
        "ahead_file": "max_read_ahead_per_file_mb",
        "ahead_whole": "max_read_ahead_whole_mb",
        "ahead_async": "read_ahead_async_file_threshold_mb",
    }
)
# What is read besides, in the order in which the parsers take the texts; the knobs' files come after these.
MDC_FILES = ("stats", "md_stats", "import", "active", "state")
LLITE_FILES = ("stats",)
MDC_DETAILS = ("rpc_stats",)
STATAHEAD_DETAILS = ("statahead_stats",)
READAHEAD_DETAILS = ("read_ahead_stats",)
MOUNT_FILES = ("stats", "read_ahead_stats")
MOUNT_DETAILS = (
    "max_cached_mb",
    "max_read_ahead_mb",
    "max_read_ahead_per_file_mb",
    "max_read_ahead_whole_mb",
)

# On a metadata server `...-osc-MDT0000` is the server's own path to its OSTs, not a client's data path.
_OSC = re.compile(r"(?P<fs>.+)-(?P<ost>OST[0-9a-fA-F]{4})-osc-(?P<instance>(?!MDT)[^-/]+)")


_MDC = re.compile(r"(?P<fs>.+)-(?P<mdt>MDT[0-9a-fA-F]{4})-mdc-(?P<instance>[0-9a-f]{4,32})")
_MOUNT = re.compile(r"(?P<fs>[A-Za-z0-9_-]{1,32})-[0-9a-f]{4,32}")


def osc_target(name: str) -> Target | None:
    """The target behind an OSC's directory name; None when it is no client data path.

    >>> osc_target("lustre-OST0001-osc-ff1100010179b000")
    Target(name='lustre-OST0001-osc-ff1100010179b000', fs='lustre', resource='OST0001', \
mount='lustre-ff1100010179b000')
    >>> osc_target("lustre-OST0001-osc-MDT0000") is None
    True
    """
    match = _OSC.fullmatch(name)
    if match is None:
        return None
    return Target(name, match["fs"], match["ost"].upper(), f"{match['fs']}-{match['instance']}")


def mdc_target(name: str) -> Target | None:
    """The target behind a client's connection to a metadata server; None when the name is not that of one.

    >>> mdc_target("lustre-MDT0000-mdc-ff1100010179b000")
    Target(name='lustre-MDT0000-mdc-ff1100010179b000', fs='lustre', resource='MDT0000', \
mount='lustre-ff1100010179b000')
    """
    match = _MDC.fullmatch(name)
    if match is None:
        return None
    mount = f"{match['fs']}-{match['instance']}"
    return Target(name, match["fs"], match["mdt"].upper(), mount, MDC)


def llite_target(mount: str, kind: TargetKind) -> Target | None:
    """The target of one kind that a mount has; None when the name is not that of a mount.

    >>> from penstock.target_kinds import STATAHEAD
    >>> llite_target("lustre-ff1100010179b000", STATAHEAD)
    Target(name='lustre-ff1100010179b000-statahead', fs='lustre', resource='statahead', \
mount='lustre-ff1100010179b000')
    """
    match = _MOUNT.fullmatch(mount)
    if match is None:
        return None
    return Target(f"{mount}-{kind.name}", match["fs"], kind.name, mount, kind)


def llite_mount(name: str, kind: TargetKind) -> str | None:
    """The mount behind the name of such a target; None when it is no such name."""
    mount = name.removesuffix(f"-{kind.name}")
    return mount if mount != name and _MOUNT.fullmatch(mount) else None


def candidates(kind: str, name: str, file: str) -> tuple[str, ...]:
    """The possible places of a file relative to the root, in the order of preference.

    >>> candidates("osc", "x", "stats")[0]
    'sys/fs/lustre/osc/x/stats'
    """
    return tuple(f"{place}/{kind}/{name}/{file}" for place in PLACES)


def split_path(path: str) -> tuple[str, str, str] | None:
    """The kind, the instance and the file behind a recorded path, whatever directory it was recorded under.

    >>> split_path("/proc/fs/lustre/osc/lustre-OST0000-osc-ff11/rpc_stats")
    ('osc', 'lustre-OST0000-osc-ff11', 'rpc_stats')
    """
    parts = path.rsplit("/", 3)
    return (parts[1], parts[2], parts[3]) if len(parts) == 4 else None


def preference(path: str) -> int:
    """The rank of a file's place. The lowest rank is preferred."""
    for rank, place in enumerate(PLACES):
        if f"{place}/" in path:
            return rank
    return len(PLACES)
