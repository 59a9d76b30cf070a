"""The knob spaces of the file systems Penstock knows: one declaration each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

from penstock.errors import KnobError, did_you_mean
from penstock.knobs import Acts, Coupling, Knob, KnobSpace, Role, Scope, Setting
from penstock.knobs.target_kind import MODIFY, QUERY, READ
from penstock.target_kinds import FUSE, LUSTRE_READAHEAD, MDC, NFS, STATAHEAD
from penstock.units import GIB, MIB, PAGE_BYTES

TESTBED_RAM_BYTES = 192 * GIB
DEFAULT_DIRTY_MIB = 2000


@functools.lru_cache(maxsize=64)
def lustre(
    ram_bytes: int = TESTBED_RAM_BYTES,
    *,
    pages_floor: int = 1,
    pages_ceiling: int = 1024,
    chunk_pages: int = 1,
) -> KnobSpace:
    """The three knobs of a Lustre client's data path (an OSC) on a node with this much memory.

    `pages` is max_pages_per_rpc, `flight` max_rpcs_in_flight, `dirty` max_dirty_mb (in MiB, whatever its name
    says). The two RPC knobs span the 11 x 9 = 99 settings of the CARAT authors' traces. The page bounds are
    the target's own: from 2.17 on at least 16, at most the negotiated bulk size, in whole chunks. Equal arguments
    give the very same object.

    Nobody may write 2048 or more to `dirty`, but storing an RPC knob raises it to whatever the two RPC knobs need,
    2048 and more included, and cuts it to an eighth of memory (counted in whole pages, shown in whole MiB).
    """
    dirty_ceiling = max(1, min(2047, ram_bytes // 4 // MIB))
    dirty_cut = max(1, -(-(ram_bytes // PAGE_BYTES // 8) * PAGE_BYTES // MIB))

    def raised_dirty(now: Setting) -> int:
        covering = -(-now["pages"] * now["flight"] * PAGE_BYTES // MIB)
        # Zero is not raised but set to the default; the next store raises that.
        wanted = max(now["dirty"], covering) if now["dirty"] else DEFAULT_DIRTY_MIB
        return min(wanted, dirty_cut)

    sizes = tuple(2**i for i in range(11))
    pages = Knob("pages", sizes, 1024, "pages", 1, 4096, role=Role.REQUEST_SIZE, step=chunk_pages)
    flight = Knob("flight", tuple(2**i for i in range(9)), 8, "RPCs", 1, 256, role=Role.IN_FLIGHT)
    values_mib = (32, 64, 128, 256, 512, 1024, 2047)
    dirty = Knob(
        "dirty", values_mib, min(DEFAULT_DIRTY_MIB, dirty_cut), "MiB", 0, 2047, role=Role.CACHE_LIMIT
    )
    return KnobSpace(
        "lustre",
        (pages.within(pages_floor, pages_ceiling), flight, dirty.within(0, dirty_ceiling)),
        (
            Coupling(
                frozenset({"pages", "flight"}),
                "dirty",
                raised_dirty,
                "storing an RPC knob raises max_dirty_mb to pages x flight, at most an eighth of memory",
            ),
        ),
        declared_with=(("ram_bytes", ram_bytes), ("chunk_pages", chunk_pages)),
    )


LUSTRE = lustre()


def ahead(*values: int) -> Knob:
    """read_ahead_kb of one mount: how much is read before anybody asks for it."""
    return Knob("ahead", values, 128, "KiB", 0, 65536, acts=Acts.NEW_OPENS, limits=("read",))


# A limit of dirty bytes beyond any node's memory: the kernel goes by a part of memory instead.
BY_RATIO = 1 << 40


@functools.lru_cache(maxsize=64)
def fuse() -> KnobSpace:
    """The kernel's knobs for one FUSE mount, whatever daemon serves it.

    `flight` is max_background, `ahead` read_ahead_kb, `dirty_ppm` the mount's part of the node's limit of dirty data
    in millionths (max_ratio_fine). `congested` is congestion_threshold, at which the kernel stops reading ahead. It
    is set to three quarters of `flight`, as the kernel does when it mounts.
    """
    return KnobSpace(
        "fuse",
        (
            # First what most often has something to give: knobs are tried in this order.
            ahead(128, 256, 512, 1024, 2048, 4096),
            Knob(
                "flight",
                (2, 4, 8, 16, 32, 64, 128, 256),
                12,
                "requests",
                1,
                65535,
                role=Role.IN_FLIGHT,
                limits=("read", "write"),
            ),
            Knob("congested", (1, 9, 192), 9, "requests", 1, 65535),
            # A hundredth of the node's limit is tens of MB, many times what can be in flight: nothing is expected of
            # more unless a survey says so. Beyond a tenth flushing takes longer than buffering saves.
            Knob("dirty_ppm", (10_000, 20_000, 50_000, 100_000), 10_000, "ppm", 0, 1_000_000),
        ),
        (
            Coupling(
                frozenset({"flight"}),
                "congested",
                lambda now: max(1, now["flight"] * 3 // 4),
                "the kernel reads ahead while fewer than three quarters of the allowed requests are in flight",
            ),
        ),
        kind=FUSE,
    )


@functools.lru_cache(maxsize=64)
def nfs(dirty_ratio: int = 20, opted_in: frozenset[str] = frozenset()) -> KnobSpace:
    """The kernel's knobs for one NFS mount, and the node's limit of dirty data, which is nobody's alone.

    `ahead` is read_ahead_kb, `dirty_bytes` vm.dirty_bytes. `dirty_ratio` is the part of memory in percent that rules
    while there is no limit in bytes; storing one clears the other. `rsize`, `wsize` and `rpc_slots` (of a session, or
    for version 3 of a connection) are decided when mounting.
    """

    def ruling_ratio(now: Setting) -> int:
        return dirty_ratio if now["dirty_bytes"] == BY_RATIO else 0

    def at_mount(id: str, values: tuple[int, ...], default: int, unit: str, role: Role | None) -> Knob:
        return Knob(id, values, default, unit, 1, 65536, Scope.MOUNT, Acts.NEXT_MOUNT, role)

    limits = tuple(mib * MIB for mib in (16, 64, 256, 1024))
    # Where an administrator chose a limit in bytes there is no ratio to go back to.
    limits += (BY_RATIO,) if dirty_ratio > 0 else ()
    why = "a limit in bytes replaces the part of memory"
    return KnobSpace(
        "nfs",
        (
            ahead(128, 256, 512, 1024, 2048, 4096, 8192),
            Knob("dirty_bytes", limits, limits[-1], "bytes", 8192, BY_RATIO, Scope.NODE),
            Knob("dirty_ratio", (dirty_ratio,), dirty_ratio, "%", 0, 100, Scope.NODE),
            at_mount("rsize", (128, 256, 512, 1024), 1024, "KiB", Role.REQUEST_SIZE),
            at_mount("wsize", (128, 256, 512, 1024), 1024, "KiB", None),
            at_mount("rpc_slots", (16, 64, 256, 1024), 64, "requests", Role.IN_FLIGHT),
        ),
        (Coupling(frozenset({"dirty_bytes"}), "dirty_ratio", ruling_ratio, why),),
        opted_in,
        declared_with=(("dirty_ratio", dirty_ratio),),
        kind=NFS,
    )


# What a server of version 2.15 lets a client have in flight that changes something, unless told otherwise.
MOD_RPCS = 8


@functools.lru_cache(maxsize=64)
def mdc(mod_ceiling: int = MOD_RPCS) -> KnobSpace:
    """The knobs of a Lustre client's connection to one metadata server.

    `rpcs` is max_rpcs_in_flight and `mod_rpcs` max_mod_rpcs_in_flight, of which the server allows `mod_ceiling`. The
    first is always at least one more than the second: lowering it cuts the second, which nothing brings back, and
    raising the second raises the first, even where the second is then refused.
    """
    rpcs = Knob(
        "rpcs",
        (2, 4, 8, 16, 32, 64, 128),
        8,
        "RPCs",
        2,
        512,
        role=Role.IN_FLIGHT,
        limits=(QUERY.name, MODIFY.name),
    )
    mod_rpcs = Knob("mod_rpcs", (1, 3, 7, 15, 31, 63), 7, "RPCs", 1, 511, limits=(MODIFY.name,))
    why = "max_rpcs_in_flight is always larger than max_mod_rpcs_in_flight"
    return KnobSpace(
        MDC.name,
        (rpcs, mod_rpcs.within(1, max(1, min(mod_ceiling, 511)))),
        (
            Coupling(
                frozenset({"rpcs"}),
                "mod_rpcs",
                lambda now: min(now["mod_rpcs"], now["rpcs"] - 1),
                why,
                bounds=True,
            ),
            Coupling(
                frozenset({"mod_rpcs"}),
                "rpcs",
                lambda now: max(now["rpcs"], now["mod_rpcs"] + 1),
                why,
                bounds=True,
            ),
        ),
        declared_with=(("mod_ceiling", mod_ceiling),),
        kind=MDC,
    )


@functools.lru_cache(maxsize=1)
def statahead() -> KnobSpace:
    """The one knob of a Lustre mount's metadata: statahead_max, how many entries of a directory are asked for before
    anybody does. A value above 512 is answered with success and ignored, so it is never written.
    """
    values = (8, 32, 128, 512)
    ahead = Knob("statahead", values, 32, "entries", 0, 512, limits=(QUERY.name,))
    return KnobSpace(STATAHEAD.name, (ahead,), kind=STATAHEAD)


@functools.lru_cache(maxsize=64)
def readahead(ram_bytes: int = TESTBED_RAM_BYTES) -> KnobSpace:
    """The readahead of a Lustre mount on a node with this much memory, in MiB.

    `ahead_total` is max_read_ahead_mb, at most half of memory; `ahead_file` max_read_ahead_per_file_mb, `ahead_whole`
    max_read_ahead_whole_mb (files up to that size are read whole) and `ahead_async`
    read_ahead_async_file_threshold_mb (windows from that size on are refilled by a thread of their own). What is
    written to one may not pass the knob it lies under, but lowering that one lowers nothing.
    """
    half = max(1, ram_bytes // 2 // MIB)
    total = max(1, min(ram_bytes // 32 // MIB, 1024))
    file = max(1, min(total // 4, 256))

    def knob(id: str, values: tuple[int, ...], default: int, under: str = "", *, tried: bool = True) -> Knob:
        limits = (READ.name,) if tried else ()
        one = Knob(id, values, min(default, half), "MiB", 0, 1 << 24, limits=limits, under=under, tried=tried)
        return one.within(0, half)

    return KnobSpace(
        LUSTRE_READAHEAD.name,
        (
            knob("ahead_total", (64, 128, 256, 512, 1024), total),
            knob("ahead_file", (4, 8, 16, 32, 64, 128, 256), file, "ahead_total"),
            knob("ahead_whole", (2, 16, 64), min(file, 64), "ahead_file", tried=False),
            knob("ahead_async", (2, 8, 32, 128), file, "ahead_file", tried=False),
        ),
        declared_with=(("ram_bytes", ram_bytes),),
        kind=LUSTRE_READAHEAD,
    )


# One of each kind, for whoever must know which file systems there are.
SPACES = (LUSTRE, fuse(), nfs(), mdc(), statahead(), readahead())
_DECLARATIONS: Mapping[str, Callable[..., KnobSpace]] = {
    "lustre": lustre,
    "fuse": fuse,
    "nfs": nfs,
    "mdc": mdc,
    "statahead": statahead,
    "readahead": readahead,
}


def declare(name: str, declared_with: Mapping[str, int]) -> KnobSpace:
    """The space of this name with the couplings that these arguments give; its bounds may be another target's."""
    if name not in _DECLARATIONS:
        raise KnobError(f"unknown knob space {name!r}{did_you_mean(name, _DECLARATIONS)}")
    try:
        return _DECLARATIONS[name](**declared_with)
    except TypeError:
        raise KnobError(f"knob space {name!r} is not declared with {', '.join(declared_with)}") from None
