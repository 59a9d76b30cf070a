"""Where Lustre keeps its files, and what directory names mean.

The place of a file differs between versions (procfs in 2.12, sysfs or debugfs later). So every file is looked up in
sysfs, then procfs, then debugfs. The version is never used.
"""

from __future__ import annotations

import re

from penstock.snapshot import Target

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
MOUNT_FILES = ("stats", "read_ahead_stats")
MOUNT_DETAILS = (
    "max_cached_mb",
    "max_read_ahead_mb",
    "max_read_ahead_per_file_mb",
    "max_read_ahead_whole_mb",
)

# On a metadata server `...-osc-MDT0000` is the server's own path to its OSTs, not a client's data path.
_OSC = re.compile(r"(?P<fs>.+)-(?P<ost>OST[0-9a-fA-F]{4})-osc-(?P<instance>(?!MDT)[^-/]+)")


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
