"""The kinds of targets of the file systems Penstock knows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from penstock.knobs.target_kind import (
    DATA,
    DATA_PATH,
    METADATA,
    MODIFY,
    MOUNT_READ,
    MOUNT_WRITE,
    OPERATIONS,
    QUERY,
    READ,
    READAHEAD,
    WRITE,
    TargetKind,
)

NFS = TargetKind("nfs", DATA, (READ, WRITE))
FUSE = TargetKind("fuse", DATA, (READ, WRITE))
#: A Lustre client's connection to a metadata server, and the statahead of a Lustre mount.
MDC = TargetKind("mdc", METADATA, (QUERY, MODIFY), OPERATIONS)
STATAHEAD = TargetKind("statahead", METADATA, (QUERY, MODIFY), OPERATIONS, whole_mount=True)
#: The readahead of a Lustre mount.
LUSTRE_READAHEAD = TargetKind(
    "readahead", READAHEAD, (MOUNT_READ, MOUNT_WRITE), whole_mount=True, carried="read.carried_bytes"
)

KINDS: Mapping[str, TargetKind] = MappingProxyType(
    {kind.name: kind for kind in (DATA_PATH, NFS, FUSE, MDC, STATAHEAD, LUSTRE_READAHEAD)}
)
