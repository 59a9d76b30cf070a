"""Settings to choose from, with what everybody asks of them: values by knob, places, and how far apart they lie."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, overload

from penstock.knobs.knob import Role
from penstock.knobs.setting import Setting

if TYPE_CHECKING:
    # Nobody who only reads or sets knobs shall pay for loading numpy.
    import numpy as np
    from numpy.typing import NDArray

    from penstock.knobs.space import KnobSpace

    Floats = NDArray[np.float64]

# Targets share a few sets; what started far from all of them is rare.
_KEPT = 64


class Candidates(Sequence[Setting]):
    """Settings of the same knobs of one space, in a fixed order. Arrays have a row a candidate and are read-only.

    Coordinates are base-2 logarithms of the values, because knobs act by ratio; a value of 0 counts as 1. Any setting
    that holds these knobs has coordinates, whether it is a candidate or not.
    """

    def __init__(self, space: KnobSpace, settings: Iterable[Setting]) -> None:
        self.space = space
        self.settings = tuple(settings)
        self.ids = tuple(self.settings[0]) if self.settings else space.searched
        self.places: Mapping[Setting, int] = {setting: place for place, setting in enumerate(self.settings)}
        self._likeness: dict[float, Floats] = {}
        self._wider: dict[tuple[Setting, ...], Candidates] = {}

    @overload
    def __getitem__(self, place: int) -> Setting: ...
    @overload
    def __getitem__(self, place: slice) -> Candidates: ...
    def __getitem__(self, place: int | slice) -> Setting | Candidates:
        if isinstance(place, slice):
            return Candidates(self.space, self.settings[place])
        return self.settings[place]

    def __len__(self) -> int:
        return len(self.settings)

    def __contains__(self, setting: object) -> bool:
        return setting in self.places

    def __repr__(self) -> str:
        return f"<{len(self)} candidates of {self.space.name}: {', '.join(self.ids)}>"

    @cached_property
    def values(self) -> Floats:
        """The knobs' values, a column a knob in the order of `ids`."""
        return _fixed(_table(self.settings, self.ids))

    @cached_property
    def coordinates(self) -> Floats:
        """Where every candidate lies."""
        return _fixed(self.locate(self.settings))

    @cached_property
    def in_flight_bytes(self) -> Floats:
        """What every candidate allows to be on its way at once; 1 throughout where they do not say both how many
        requests and how large ones.
        """
        import numpy as np

        knobs = (self.space.of_role(role) for role in (Role.REQUEST_SIZE, Role.IN_FLIGHT))
        if not all(knob is not None and knob.id in self.ids for knob in knobs):
            return _fixed(np.ones(len(self)))
        return _fixed(np.array([self.space.in_flight_bytes(s) for s in self.settings], dtype=np.float64))

    def column(self, role: Role) -> Floats:
        """The values of the knob that plays a role; 1 throughout where none does."""
        import numpy as np

        knob = self.space.of_role(role)
        if knob is None or knob.id not in self.ids:
            return np.ones(len(self))
        return self.values[:, self.ids.index(knob.id)]

    def locate(self, settings: Sequence[Mapping[str, int]]) -> Floats:
        """The coordinates of any settings, a row each; they may hold other knobs as well."""
        import numpy as np

        return np.log2(np.maximum(_table(settings, self.ids), 1.0))

    def nearest(self, settings: Sequence[Mapping[str, int]]) -> NDArray[np.intp]:
        """The place of the candidate next to each of any settings; among equals the first."""
        found: NDArray[np.intp] = _apart(self.locate(settings), self.coordinates).argmin(axis=1)
        return found

    def and_beside(self, settings: Iterable[Setting]) -> Candidates:
        """These candidates, then those of the settings that are none of them: their places go on where these end."""
        beside = tuple(setting for setting in settings if setting not in self)
        found = self._wider.get(beside)
        if found is None:
            if len(self._wider) >= _KEPT:
                self._wider.clear()
            found = self._wider[beside] = Candidates(self.space, (*self.settings, *beside))
        return found

    def likeness(self, reach_log2: float) -> Floats:
        """How much every two candidates have in common: 1 for itself, 0.6 at a distance of one reach, near 0 afar."""
        import numpy as np

        found = self._likeness.get(reach_log2)
        if found is None:
            found = np.exp(-0.5 * _apart(self.coordinates, self.coordinates) / reach_log2**2)
            self._likeness[reach_log2] = _fixed(found)
        return found


def _table(settings: Sequence[Mapping[str, int]], ids: Sequence[str]) -> Floats:
    import numpy as np

    rows = [[setting[knob_id] for knob_id in ids] for setting in settings]
    return np.array(rows, dtype=np.float64).reshape(-1, len(ids))


def _apart(some: Floats, others: Floats) -> Floats:
    """Squared distances."""
    found: Floats = ((some[:, None, :] - others[None, :, :]) ** 2).sum(axis=2)
    return found


def _fixed(table: Floats) -> Floats:
    table.setflags(write=False)
    return table
