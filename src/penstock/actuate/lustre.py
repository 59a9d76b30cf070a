"""The actuator of a Lustre client.

Knobs are written in the order pages, flight, dirty, because writing an RPC knob recomputes max_dirty_mb.
"""

from __future__ import annotations

from pathlib import Path

from penstock.actuate.journal import Baseline, Entry, Journal
from penstock.actuate.journalled import JournalledActuator, TargetWish
from penstock.actuate.knobfiles import KnobFiles
from penstock.actuate.osc_files import Connection, OscFiles, OscPlaces
from penstock.actuate.osc_reconnect import baseline_of, reconnected
from penstock.actuate.system import SYSTEM, System
from penstock.knobs import KnobSpace, Setting
from penstock.observe.lustre.layout import osc_target
from penstock.observe.meminfo import memory
from penstock.snapshot import Target
from penstock.spaces import lustre as lustre_space


class LustreActuator(JournalledActuator):
    """Sets Lustre data paths below a root. One process, one journal, not for use from several threads."""

    rounded = frozenset({"pages"})

    def __init__(self, root: str | Path, journal: Journal, *, system: System = SYSTEM) -> None:
        self._places = OscPlaces(system, str(root))
        self._ram_bytes, _ = memory(root)
        super().__init__(journal, lustre_space(self._ram_bytes, pages_ceiling=4096))

    def targets(self) -> tuple[Target, ...]:
        """Every client data path there is now."""
        found = (osc_target(name) for name in self._places.names())
        return tuple(target for target in found if target is not None)

    def target_named(self, name: str) -> Target | None:
        """The data path of this name."""
        return osc_target(name)

    def open(self, target: Target) -> OscFiles:
        """The files of a data path."""
        return OscFiles(self._places, target.name)

    def bounds(self, target: Target, files: KnobFiles) -> KnobSpace:
        """The knobs within what this target takes: its bulk size, its floor, the memory."""
        floor = files.pages_floor() if isinstance(files, OscFiles) else 1
        most = _connection(files).brw_pages or 1024
        return lustre_space(self._ram_bytes, pages_floor=floor, pages_ceiling=max(floor, most))

    def checked(self, wanted: Setting) -> None:
        """Refuse unknown knobs, and a dirty limit that can only arise as a side effect.

        Other limits are learned from refusals.
        """
        for knob_id in wanted:
            self.whole[knob_id]
        self.whole.check({knob_id: wanted[knob_id] for knob_id in wanted if knob_id == "dirty"})

    def baseline(self, files: KnobFiles) -> Baseline:
        """The connection's generation and bulk size."""
        return baseline_of(_connection(files))

    def rebased(self, entry: Entry, files: KnobFiles, now: Setting) -> Entry:
        """The entry after any reconnect since it was written."""
        return reconnected(entry, now, _connection(files), self.whole)

    def storing(self, files: KnobFiles) -> KnobSpace:
        """Page counts are rounded up to whole chunks of the server and go up to its bulk size."""
        connection = _connection(files)
        return lustre_space(
            self._ram_bytes, pages_ceiling=connection.brw_pages or 4096, chunk_pages=connection.chunk_pages
        )

    def completed(self, wish: TargetWish, goal: Setting) -> Setting:
        """The goal. A dirty limit that must not change is set back to its value."""
        return goal.replace(dirty=wish.before["dirty"]) if "dirty" in wish.fixed else goal


def _connection(files: KnobFiles) -> Connection:
    return files.connection() if isinstance(files, OscFiles) else Connection()
