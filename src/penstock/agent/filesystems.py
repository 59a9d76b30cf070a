"""The file systems that the agent tunes. No other module of this room names one."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from penstock.actuate.journal import Journal
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.knobs.target_kind import DATA, METADATA, READAHEAD
from penstock.observe.fuse.daemon_search import SEARCH_S
from penstock.observe.fuse.observer import NETWORK_KINDS, FuseScope
from penstock.observe.kernelfs import KernelFs
from penstock.observe.lustre.jobid import read_node_job
from penstock.observe.mounts import Mount, read_mounts
from penstock.observe.nfs.mountstats import KINDS as NFS_KINDS
from penstock.observe.node_observer import NodeObserver

# What a node must have before the agent has anything to do.
CLIENT = "Lustre client, NFS mount or FUSE mount of a network file system"
# The kinds of mounts that users may add or remove.
MOUNT_KINDS = tuple(sorted(NETWORK_KINDS))
# What `[scope] kinds` may name.
SECTIONS = (DATA, METADATA, READAHEAD)
# Knobs that affect a whole node are set only if an administrator names them.
NODE_KNOBS = ("dirty_bytes",)
# What an answer over the socket may take to look for the daemons of mounts.
ANSWER_SEARCH_S = SEARCH_S
# Network mounts without anything to set. Lustre's targets are its data paths, not its mounts.
_OTHERS = frozenset({"cifs", "smb3", "ceph", "9p", "afs", "gpfs", "beegfs"})
_FUSE = re.compile(r"fuse(\..+|blk)?")
_TUNED_TYPES = ("lustre", "nfs", "fuse.")
# The source of a mount is MGSNODES:/FSNAME, and what follows is a directory of it.
_LUSTRE_SOURCE = re.compile(r":/([^/]+)")


def open_observer(root: Path, reach: Reach | None = None, *, peek: bool = False) -> NodeObserver:
    """An observer of everything that the agent tunes. With `peek`, an idle target costs one short read."""
    reach = reach or Reach()
    return NodeObserver(root, peek=peek, kinds=reach.sections, fuse=reach.fuse)


def open_actuator(root: Path, journal: Journal, reach: Reach) -> NodeActuator:
    """Sets what the agent tunes."""
    return NodeActuator(root, journal, reach)


def mount_scope(kinds: Iterable[str], users: Iterable[int]) -> FuseScope:
    """The mounts of these kinds that these users made."""
    return FuseScope(frozenset(kinds), frozenset(users))


def node_job(root: Path) -> str | None:
    """The job that a client says all requests of this node belong to, if it says so."""
    return read_node_job(root)


def is_mount_kind(kind: str) -> bool:
    """Whether such mounts could be tuned at all, if an administrator names their kind."""
    return kind.startswith("fuse.")


def why_no_target(mount: Mount, reach: Reach) -> str | None:
    """Why a mount is not a target, or None if nobody would expect it to be one."""
    if mount.kind in NFS_KINDS:
        return "its counters could not be read"
    if _FUSE.fullmatch(mount.kind):
        scope = reach.fuse
        if scope.kinds is not None and mount.kind not in scope.kinds:
            return "its kind is not in scope.mount_kinds"
        if scope.users is not None and mount.user not in scope.users:
            return f"mounted by uid {mount.user}, which is not in scope.mount_users"
        if mount.user:
            return "its daemon could not be found; to see another user's, a unit needs CAP_SYS_PTRACE"
        return "its daemon could not be found"
    return "has no knobs here" if mount.kind in _OTHERS else None


def tuned_type(path: Path) -> str:
    """The type of the mount that a path is on, if the agent tunes such mounts.

    The agent must not write its own files to a file system that it tunes. Raises OSError.
    """
    mount = _mount_of(path)
    return mount.kind if mount is not None and mount.kind.startswith(_TUNED_TYPES) else ""


def tuned_fs(path: Path) -> tuple[str, str]:
    """The type of such a mount, and what its targets call their file system; empty where it is not tuned."""
    mount = _mount_of(path)
    if mount is None or not mount.kind.startswith(_TUNED_TYPES):
        return "", ""
    named = _LUSTRE_SOURCE.search(mount.source) if mount.kind == "lustre" else None
    return mount.kind, named[1] if named else mount.path


def _mount_of(path: Path) -> Mount | None:
    """The mount that a path is on."""
    # Path.resolve raises where links lead in a circle.
    place, best = os.path.realpath(path), None
    for mount in read_mounts(KernelFs("/")).mounts:
        inside = place == mount.path or place.startswith(mount.path.rstrip("/") + "/")
        if inside and (best is None or len(mount.path) >= len(best.path)):
            best = mount
    return best
