"""A served mount's readahead: its knobs, which take and refuse what the kernel's do.

What is written to a knob may not pass the one it lies under when it is written; lowering that one lowers nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass, field

from penstock.emulate.stores import Rules, parse_plain, parse_rounded_mib, refuse
from penstock.knobs import Setting
from penstock.units import MIB


@dataclass(slots=True)
class ServedReadahead:
    """`apply` is told every new value. All are in MiB."""

    rules: Rules
    apply: Callable[[Setting], None]
    start: Setting
    setting: Setting = field(init=False)

    def __post_init__(self) -> None:
        self.setting = self.start

    def text(self, knob_id: str) -> str:
        """What the knob's file holds."""
        return f"{self.setting[knob_id]}\n"

    def store_total(self, text: str) -> None:
        """max_read_ahead_mb: at most half of memory."""
        self._take("ahead_total", parse_rounded_mib(text), self.rules.ram_bytes // 2 // MIB)

    def store_file(self, text: str) -> None:
        """max_read_ahead_per_file_mb: at most max_read_ahead_mb."""
        self._take("ahead_file", parse_rounded_mib(text), self.setting["ahead_total"])

    def store_whole(self, text: str) -> None:
        """max_read_ahead_whole_mb: at most max_read_ahead_per_file_mb."""
        self._take("ahead_whole", parse_rounded_mib(text), self.setting["ahead_file"])

    def store_async(self, text: str) -> None:
        """read_ahead_async_file_threshold_mb: a plain number, at most max_read_ahead_per_file_mb."""
        self._take("ahead_async", parse_plain(text), self.setting["ahead_file"])

    def _take(self, knob_id: str, value: int, most: int) -> None:
        if value > most:
            raise refuse(errno.ERANGE)
        self.setting = self.setting.replace({knob_id: value})
        self.apply(self.setting)
