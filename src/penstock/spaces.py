"""The knob spaces of the file systems Penstock knows: one declaration each."""

from __future__ import annotations

import functools

from penstock.knobs import Coupling, Knob, KnobSpace, Setting
from penstock.units import GIB, MIB, PAGE_BYTES

TESTBED_RAM_BYTES = 192 * GIB


@functools.lru_cache(maxsize=64)
def lustre(
    ram_bytes: int = TESTBED_RAM_BYTES, *, pages_floor: int = 1, pages_ceiling: int = 1024
) -> KnobSpace:
    """The three knobs of a Lustre client's data path (an OSC) on a node with this much memory.

    `pages` is max_pages_per_rpc, `flight` max_rpcs_in_flight, `dirty` max_dirty_mb (in MiB, whatever its name
    says). The two RPC knobs span the 11 x 9 = 99 settings of the CARAT authors' traces. The page bounds are
    the target's own: from 2.17 on at least 16, at most the negotiated bulk size. Equal arguments give
    the very same object.
    """
    dirty_ceiling = max(1, min(2047, ram_bytes // 4 // MIB))
    dirty_cut = max(1, -(-ram_bytes // 8 // MIB))

    def raised_dirty(now: Setting) -> int:
        covering = -(-now["pages"] * now["flight"] * PAGE_BYTES // MIB)
        wanted = max(now["dirty"] or 2000, covering)
        return min(wanted, dirty_cut, dirty_ceiling)

    pages = Knob("pages", tuple(2**i for i in range(11)), 1024, "pages", 1, 4096)
    flight = Knob("flight", tuple(2**i for i in range(9)), 8, "RPCs", 1, 256)
    dirty = Knob("dirty", (32, 64, 128, 256, 512, 1024, 2047), min(2000, dirty_cut), "MiB", 0, 2047)
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
    )


LUSTRE = lustre()
