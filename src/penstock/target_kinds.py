"""The kinds of targets of the file systems Penstock knows."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from penstock.knobs.target_kind import (
    DATA,
    DATA_PATH,
    METADATA,
    MODIFY,
    OPERATIONS,
    QUERY,
    READ,
    WRITE,
    TargetKind,
)

NFS = TargetKind("nfs", DATA, (READ, WRITE))
FUSE = TargetKind("fuse", DATA, (READ, WRITE))
#: A Lustre client's connection to a metadata server, and the statahead of a Lustre mount.
MDC = TargetKind("mdc", METADATA, (QUERY, MODIFY), OPERATIONS)
STATAHEAD = TargetKind("statahead", METADATA, (QUERY, MODIFY), OPERATIONS, whole_mount=True)

KINDS: Mapping[str, TargetKind] = MappingProxyType(
    {kind.name: kind for kind in (DATA_PATH, NFS, FUSE, MDC, STATAHEAD)}
)
