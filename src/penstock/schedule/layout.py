"""The default layout of a Lustre directory: read from `lfs getstripe`, and the options that restore it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import DataError

UNSET = (0, 0, -1)
"""Stripe count, size and offset that `lfs getstripe --raw` prints for a directory without a layout of its own."""
FIELD = re.compile(r"(?:lmm_|lcm_|lcme_)?([a-z_.]+):\s*(\S*)")


@dataclass(frozen=True, slots=True)
class Component:
    """The part of a file up to byte `end` (-1 is the end of file), with its striping. `osts` is set only if named."""

    end: int
    stripe_count: int
    stripe_bytes: int
    stripe_offset: int
    pattern: str = "raid0"
    pool: str = ""
    osts: tuple[int, ...] = ()

    def options(self) -> list[str]:
        """What `lfs setstripe` takes for this stretch."""
        if self.pattern == "mdt":
            return ["-L", "mdt"]
        chosen = ["-c", str(self.stripe_count), "-S", str(self.stripe_bytes)]
        if self.osts:
            chosen += ["-o", ",".join(map(str, self.osts))]
        else:
            chosen += ["-i", str(self.stripe_offset)]
        return chosen + (["-p", self.pool] if self.pool else [])


@dataclass(frozen=True, slots=True)
class Layout:
    """The default layout of a directory. Without components the directory has none and inherits one."""

    components: tuple[Component, ...] = ()
    composite: bool = False

    def options(self) -> list[str]:
        """What `lfs setstripe` takes to put this layout back."""
        if not self.components:
            return ["-d"]
        if not self.composite:
            return self.components[0].options()
        return [word for one in self.components for word in ("-E", str(one.end), *one.options())]


def parse_layout(text: str, source: str) -> Layout:
    """Parse `lfs getstripe -d --raw`. Layouts that `lfs setstripe` cannot reproduce exactly are refused."""
    blocks: list[dict[str, str]] = [{}]
    osts: list[list[int]] = [[]]
    for line in text.splitlines():
        found = dict(FIELD.findall(line))
        if "extent.e_start" in found and "extent.e_start" in blocks[-1]:
            blocks.append({})
            osts.append([])
        if "l_ost_idx" in found:
            osts[-1].append(int(found["l_ost_idx"].rstrip(",}")))
        blocks[-1] |= found
    if int(blocks[0].get("mirror_count", "1")) > 1 or any("extension_size" in block for block in blocks):
        raise DataError(f"{source}: a mirrored or self-extending default layout cannot be restored exactly")
    composite = "entry_count" in blocks[0]
    try:
        parts = tuple(_component(block, tuple(ids)) for block, ids in zip(blocks, osts, strict=True))
    except (KeyError, ValueError) as error:
        raise DataError(f"{source}: not a layout as `lfs getstripe -d` prints it ({error})") from None
    first = parts[0]
    unset = (first.stripe_count, first.stripe_bytes, first.stripe_offset) == UNSET
    if not composite and unset and not first.pool:
        return Layout()
    return Layout(parts, composite)


def _component(block: dict[str, str], osts: tuple[int, ...]) -> Component:
    end = block.get("extent.e_end", "EOF")
    pattern = block.get("pattern", "raid0")
    return Component(
        end=-1 if end == "EOF" else int(end),
        stripe_count=int(block["stripe_count"]),
        stripe_bytes=int(block["stripe_size"]),
        stripe_offset=int(block["stripe_offset"]),
        pattern="raid0" if pattern in ("0", "1") else pattern,
        pool=block.get("pool", ""),
        osts=osts,
    )
