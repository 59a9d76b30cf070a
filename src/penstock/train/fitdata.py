"""What a model is fitted on, whatever it was read from: samples a direction, and what its file says of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from penstock.errors import UsageError
from penstock.predict.featuresets import FULL, of_knobs
from penstock.spaces import LUSTRE
from penstock.train.apply import run_names
from penstock.train.fit import Recipe
from penstock.train.mountsamples import mount_samples, read_windows
from penstock.train.mountsurvey import is_campaign
from penstock.train.samples import APPLICATION, Samples, samples
from penstock.train.table import TraceTable, read_tables
from penstock.window import DIRECTIONS

# Two intervals in a row are all that a sample of a held setting has.
CAMPAIGN_HISTORY = 1


@dataclass(frozen=True, slots=True)
class SampleSource:
    """Where samples come from: how many rows, their sha256, the runs, and the knobs that were turned."""

    rows: int
    sha256: str
    runs: Sequence[str]
    space: str
    knobs: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class FitData:
    """Samples of both directions, with the recipe that fits them."""

    found: Mapping[str, Samples]
    source: SampleSource
    recipe: Recipe


def read_fit_data(directories: Sequence[Path], recipe: Recipe) -> FitData:
    """Tables, or campaigns on mounts; these have features of their own, so they do not mix."""
    campaigns = [directory for directory in directories if is_campaign(directory)]
    if not campaigns:
        return of_table(read_tables(directories), recipe)
    if len(campaigns) < len(directories):
        raise UsageError("campaigns on mounts make a model of their own: no other --data beside them")
    if recipe.label == APPLICATION:
        raise UsageError(
            "--label application is for the Lustre client's random walk, not for campaigns on mounts"
        )
    if recipe.features is not FULL:
        raise UsageError("the printed recipes need counters that mounts do not have: use --recipe forest")
    return of_campaigns(directories, recipe)


def of_table(table: TraceTable, recipe: Recipe) -> FitData:
    """A table of one kind of client."""
    found = {
        way: samples(table, way, recipe.history[way], recipe.features, recipe.label) for way in DIRECTIONS
    }
    return FitData(found, source_of(table), recipe)


def of_campaigns(directories: Sequence[Path], recipe: Recipe) -> FitData:
    """Campaigns on one kind of mount. A direction in which all settings are alike teaches nothing: left out."""
    held = read_windows(directories)
    space = held.space
    history = {way: min(recipe.history[way], CAMPAIGN_HISTORY) for way in DIRECTIONS}
    recipe = replace(recipe, history=history, features=of_knobs(*space.searched))
    found = {way: mount_samples(held, way, history[way], recipe.features) for way in DIRECTIONS}
    known = {way: one if 0 < one.label.sum() < len(one) else one.none() for way, one in found.items()}
    knobs = {knob_id: space[knob_id].values for knob_id in space.searched}
    return FitData(known, SampleSource(held.count, held.digest, held.runs, space.name, knobs), recipe)


def source_of(table: TraceTable) -> SampleSource:
    """What a table says of itself."""
    keys = np.stack([table.iteration, table.ost, table.observation_no])
    content = hashlib.sha256("\n".join(table.workload.tolist()).encode())
    content.update(keys.tobytes())
    content.update(np.ascontiguousarray(table.values).tobytes())
    knobs = {knob: LUSTRE[knob].values for knob in ("pages", "flight")}
    return SampleSource(len(table), content.hexdigest(), run_names(table), LUSTRE.name, knobs)
