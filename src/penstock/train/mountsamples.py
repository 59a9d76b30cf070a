"""Campaigns on mounts as samples to fit a model on: what another setting brought instead of the one in force.

A held setting never changes, so no three intervals in a row show what a change brings. But the same work ran under
all settings of a round, the default among them, within half a minute: an interval at one of them, with the one before
it, is followed by an interval at each other one, drawn at random. A round is held out of a fit as a whole.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from penstock.decide.work import dominant
from penstock.errors import DataError
from penstock.knobs import KnobSpace, Setting
from penstock.predict.featuresets import FeatureSet
from penstock.snapshot import Target
from penstock.train.mountsurvey import read_campaigns
from penstock.train.samples import GAIN, Samples
from penstock.window import Window

_TARGET = Target("held", "held")
# A round is one of these: a campaign, a kind of work, and its number there.
Round = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class CampaignWindows:
    """The intervals of some campaigns: by round and setting, in the order in which they were seen."""

    space: KnobSpace
    rounds: Mapping[Round, Mapping[Setting, Sequence[Window]]]
    digest: str

    @property
    def count(self) -> int:
        """How many intervals there are."""
        return sum(len(seen) for settings in self.rounds.values() for seen in settings.values())

    @property
    def runs(self) -> list[str]:
        """The rounds' names."""
        return ["/".join(map(str, name)) for name in self.rounds]


@dataclass(frozen=True, slots=True)
class _Triple:
    """Two intervals in a row at one setting, and one of the same round at another."""

    run: int
    before: Window
    middle: Window
    last: Window


def read_windows(directories: Sequence[Path]) -> CampaignWindows:
    """All intervals of some campaigns."""
    space, found = read_campaigns(directories)
    rounds: dict[Round, dict[Setting, list[Window]]] = {}
    content = hashlib.sha256()
    for name, document in found.items():
        if not document.get("windows"):
            raise DataError(
                f"campaign {name}: holds no intervals; an older version made it: collect it again"
            )
        content.update(json.dumps(document["windows"], sort_keys=True).encode())
        try:
            for row in document["windows"]:
                window = _window(row, space)
                place = (name, str(row["workload"]), int(row["round"]))
                rounds.setdefault(place, {}).setdefault(window.setting, []).append(window)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"campaign {name}: an interval is damaged: {error!r}") from None
    return CampaignWindows(space, rounds, content.hexdigest())


def mount_samples(found: CampaignWindows, direction: str, history: int, features: FeatureSet) -> Samples:
    """All samples of a direction: intervals in which it moved the most, and again moved something at the last."""
    moved = f"{direction}.bytes"
    triples = [
        triple
        for triple in _triples(found)
        if dominant(triple.middle) == direction
        and min(triple.middle.rate(moved), triple.last.rate(moved)) > 0
    ]
    gain = np.array([triple.last.rate(moved) / triple.middle.rate(moved) for triple in triples])
    ids = features.knob_ids
    asked = np.array([[float(triple.last.setting[knob_id]) for knob_id in ids] for triple in triples])
    past = features.past_of_windows(
        [(triple.before, triple.middle) for triple in triples], direction, history
    )
    return Samples(
        direction=direction,
        middle=np.arange(len(triples), dtype=np.int64),
        run=np.array([triple.run for triple in triples], dtype=np.int64),
        label=gain > GAIN,
        gain=gain,
        past=past,
        candidate=features.candidate(asked.reshape(-1, len(ids))),
    )


def _triples(found: CampaignWindows) -> Iterator[_Triple]:
    rng = Random("rounds")
    for run, settings in enumerate(found.rounds.values()):
        for setting, seen in settings.items():
            for before, middle in pairwise(seen):
                for other, there in settings.items():
                    if other != setting:
                        yield _Triple(run, before, middle, rng.choice(there))


def _window(row: Mapping[str, Any], space: KnobSpace) -> Window:
    setting = Setting({knob_id: int(row["setting"][knob_id]) for knob_id in space.searched})
    seconds = float(row["seconds"])
    if not seconds > 0:
        raise ValueError(f"an interval of {seconds} s")
    metrics = {str(name): float(value) for name, value in row["metrics"].items()}
    return Window(_TARGET, 0.0, seconds, setting, metrics)
