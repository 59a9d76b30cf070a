"""A simulated client that only works on metadata, as the served tree needs it."""

from __future__ import annotations

from penstock.emulate.served_client import MetadataFigures, MountFigures, OscFigures, Sums
from penstock.knobs import Setting
from penstock.simulate.metadata.metadata_client import Done
from penstock.simulate.metadata.metadata_probe import MetadataWorld


class SimulatedMetadataClient:
    """Client number zero of simulated metadata. Its data paths are idle."""

    def __init__(self, world: MetadataWorld) -> None:
        self._world = world
        self._client = world.members[0]

    def run_until(self, t_s: float) -> None:
        self._world.engine.run_until(t_s)

    def osc(self, index: int) -> OscFigures:
        """Nothing was read or written."""
        return OscFigures()

    def mount(self) -> MountFigures:
        """What applications opened."""
        client, opens = self._client, self._world.work.what == "epoch"
        return (
            MountFigures(open=_sums(client.app_looked), close=_sums(client.closed))
            if opens
            else MountFigures()
        )

    def metadata(self) -> MetadataFigures:
        """The metadata server's side, and what applications asked for."""
        client, what = self._client, self._world.work.what
        changed = _sums(client.changed)
        return MetadataFigures(
            looked=_sums(client.looked),
            asked=Sums() if what == "epoch" else _sums(client.app_looked),
            created=changed if what == "create" else Sums(),
            unlinked=changed if what == "unlink" else Sums(),
            closed=_sums(client.closed),
            pinged=_sums(client.pinged),
        )

    def apply_metadata(self, rpcs: int, mod_rpcs: int, statahead: int) -> None:
        """Put values in force as they are."""
        self._client.set(Setting(rpcs=rpcs, mod_rpcs=mod_rpcs, statahead=statahead))

    def apply(self, index: int, setting: Setting) -> None:
        """Idle data paths do as much at any setting."""

    def apply_readahead(self, setting: Setting) -> None:
        """So does the readahead of files that nobody reads."""


def _sums(done: Done) -> Sums:
    if not done.count:
        return Sums()
    return Sums(done.count, int(done.least_usec), int(done.most_usec), int(done.usec), int(done.usec_squares))
