"""One job of a random world, and its lines in a scenario file. See `penstock.train.draws`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.units import KIB, MIB


@dataclass(frozen=True, slots=True)
class DrawnJob:
    """One job of a drawn world; sizes in bytes. `cache` is its client's page cache.

    Each stream calls fsync or closes its file after so many bytes; 0: never. A job with `reads_of` reads the files of
    the job with that number.
    """

    read_ratio: float
    random: bool
    request: int
    streams: int
    file: int
    cache: int
    think_s: float
    active_s: float
    idle_s: float
    osts: tuple[int, ...]
    client: int
    fsync_every: int = 0
    close_every: int = 0
    reads_of: int | None = None

    @property
    def writes(self) -> bool:
        """Whether any of its requests writes."""
        return self.read_ratio < 1.0

    def rewrites(self, dirty_bytes: float) -> bool:
        """Whether it changes pages again before they are sent, where so much may be dirty on a target."""
        if self.random:
            fits = self.streams * self.file <= self.cache
        else:
            fits = math.ceil(self.streams / len(self.osts)) * self.file <= dirty_bytes
        return self.writes and fits and not 0 < self.fsync_every < self.file

    def lines(self) -> Iterator[str]:
        """What stands below `[[job]]`."""
        words = {
            "read_ratio": number_text(self.read_ratio),
            "access": '"random"' if self.random else '"sequential"',
            "request": f'"{self.request // KIB}k"',
            "streams": str(self.streams),
            "file": f'"{self.file // MIB}m"',
            "cache": f'"{self.cache // MIB}m"',
        }
        if self.reads_of is not None:
            del words["file"]
        for key in ("think_s", "active_s", "idle_s"):
            if getattr(self, key) > 0.0:
                words[key] = number_text(getattr(self, key))
        yield "workload = { " + ", ".join(f"{key} = {value}" for key, value in words.items()) + " }"
        yield f"clients = [{self.client}]"
        if self.reads_of is None:
            yield f"osts = [{', '.join(map(str, self.osts))}]"
        else:
            yield f"reads_of = {self.reads_of}"
        for key in ("fsync_every", "close_every"):
            if getattr(self, key):
                yield f'{key} = "{getattr(self, key) // KIB}k"'


def number_text(value: float) -> str:
    """A number as TOML has it, without a fraction where it has none."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
