"""The simulator's client as the served tree needs it."""

from __future__ import annotations

from typing import Any

from penstock.emulate.served_client import Direction, MetadataFigures, MountFigures, OscFigures, Sums
from penstock.knobs import Setting
from penstock.simulate.kernel.counters import (
    BYTES,
    BYTES_MAX,
    BYTES_MIN,
    BYTES_SQUARES,
    COUNT,
    USEC,
    USEC_MAX,
    USEC_MIN,
    USEC_SQUARES,
)
from penstock.simulate.kernel.knobset import apply_knobs
from penstock.simulate.kernel.records import PAGE
from penstock.simulate.simulation import PAGES_PER_MIB, Simulation


class SimulatorClient:
    """Client number zero of a simulation, alone or among others."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._world = simulation.world
        self._fresh: Setting | None = None
        client = self._world.client
        self._own_window = int(client.ra_max[0]), int(client.ra_whole[0])

    def run_until(self, t_s: float) -> None:
        self._simulation.run_until(t_s)

    def osc(self, index: int) -> OscFigures:
        """The figures of one OSC."""
        osc = self._world.osc
        return OscFigures(
            read=self._direction(2 * index, int(osc.reads[index])),
            write=self._direction(2 * index + 1, int(osc.writes[index])),
            dirty_bytes=int(osc.dirty[index]) * PAGE,
            grant_bytes=int(osc.grant_bytes[index]),
        )

    def mount(self) -> MountFigures:
        """The applications' calls of client zero; every call is as large as the largest for its squares.

        Every open and close takes as long as an answer of the metadata server.
        """
        client = self._world.client
        read, write = (
            _calls(
                int(client[f"{side}_calls"][0]),
                int(client[f"{side}_min"][0]),
                int(client[f"{side}_max"][0]),
                int(client[f"{side}_bytes"][0]),
            )
            for side in ("read", "write")
        )
        usec = int(client.metadata_us[0])
        opened, closed = (
            _calls(count, usec, usec, count * usec) for count in (int(client.opens[0]), int(client.closes[0]))
        )
        names = ("fsyncs", "fsync_min", "fsync_max", "fsync_us", "fsync_squares")
        return MountFigures(read, write, opened, closed, Sums(*(int(client[name][0]) for name in names)))

    def metadata(self) -> MetadataFigures:
        """Opens look something up; nothing else is simulated here."""
        mount = self.mount()
        return MetadataFigures(looked=mount.open, closed=mount.close)

    def apply_metadata(self, rpcs: int, mod_rpcs: int, statahead: int) -> None:
        """Opens and closes take as long whatever these values are."""

    def apply_readahead(self, setting: Setting) -> None:
        """The window of a file and the size up to which files are read whole; the other limits are not simulated.

        The first setting is that of a fresh mount. It stands for the cluster's own window.
        """
        self._fresh = self._fresh or setting
        window = min(setting["ahead_file"], setting["ahead_total"]) * PAGES_PER_MIB
        whole = setting["ahead_whole"] * PAGES_PER_MIB
        client = self._world.client
        client.ra_max[0], client.ra_whole[0] = self._own_window if setting == self._fresh else (window, whole)

    def apply(self, index: int, setting: Setting) -> None:
        """Put values in force as they are."""
        dirty_pages = setting["dirty"] * PAGES_PER_MIB
        apply_knobs(self._world, index, setting["pages"], setting["flight"], dirty_pages)

    def _direction(self, row: int, in_flight: int) -> Direction:
        world: Any = self._world
        sums = world.sums[row]
        return Direction(
            size=_sums(sums, BYTES_MIN, BYTES_MAX, BYTES, BYTES_SQUARES),
            usec=_sums(sums, USEC_MIN, USEC_MAX, USEC, USEC_SQUARES),
            in_flight=in_flight,
            pages_bins=world.pages_histogram[row].tolist(),
            flight_bins=world.flight_histogram[row].tolist(),
        )


def _sums(sums: Any, low: int, high: int, total: int, squares: int) -> Sums:
    return Sums(int(sums[COUNT]), int(sums[low]), int(sums[high]), int(sums[total]), int(sums[squares]))


def _calls(count: int, low: int, high: int, total: int) -> Sums:
    return Sums(count, low, high, total, total * high)
