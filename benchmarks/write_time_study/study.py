"""One system's study: campaigns, the chosen models of both methods, and their figures.

`printed` is the paper's method as `plan fit --as-printed` has it, `present` what `plan fit` does. What a search chose
is kept in the user's cache under a digest of the code and of the campaign's size, so an interrupted study goes on
where it stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from benchmarks.write_time_study import campaign as campaign_module
from benchmarks.write_time_study.campaign import (
    TEST_SCALES,
    TRAINING_SCALES,
    Campaign,
    WritePath,
    measure_campaign,
)

from penstock.plan import write as write_package
from penstock.plan.storage import StorageSystem, load_system
from penstock.plan.write.fitted import FittedModel, fit_model
from penstock.plan.write.scale_search import ScaleTrial, refit, search
from penstock.plan.write.stacked import study as study_stack
from penstock.plan.write.techniques import COMPARED, DEFAULTS, KERNELS, STACK, quiet
from penstock.plan.write.terms import trainable
from penstock.plan.write.write_samples import WriteSamples

METHODS = ("printed", "present")
KERNEL_SAMPLES = 1500
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class StudySize:
    """Samples at each training and test scale; campaigns are drawn with `seed` and the next one."""

    per_scale: int
    per_test_scale: int
    seed: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """What one technique's search found: the best trial, and the one on all scales."""

    best: ScaleTrial
    base: ScaleTrial


@dataclass(frozen=True)
class Study:
    """A system, what was measured on it, and the searches that were made, by method and technique."""

    path: WritePath
    training: Campaign
    test: Campaign
    chosen: Mapping[tuple[str, str], Chosen]

    @property
    def system(self) -> StorageSystem:
        return self.path.system

    @property
    def converged(self) -> WriteSamples:
        return self.training.samples.take(self.training.samples.converged)

    def model(self, method: str, technique: str, which: str = "best") -> FittedModel:
        """A chosen or base model, fitted on exactly the samples it was chosen with."""
        trial: ScaleTrial = getattr(self.chosen[method, technique], which)
        return refit(self.converged, trial)

    def kernels(self) -> dict[str, FittedModel]:
        """Kernel machines on a random part of the samples: their cost grows with the cube."""
        part = np.zeros(len(self.converged), dtype=np.bool_)
        part[np.random.default_rng(3).permutation(part.size)[:KERNEL_SAMPLES]] = True
        few = self.converged.take(part)
        return {name: fit_model(name, name, DEFAULTS[name], few) for name in KERNELS}

    def stack(self) -> FittedModel:
        """Our own stack, its weights learnt on the training samples."""
        samples = self.converged
        with quiet():
            found = study_stack(samples.matrix(trainable(self.system.kind, STACK)), samples.seconds, 0)
        return fit_model(STACK, STACK, found.weights, samples)


def run_study(
    name: str, size: StudySize, wanted: Mapping[str, tuple[str, ...]], keep: Path, say: Say
) -> Study:
    """Measure both campaigns and search with the wanted techniques of each method."""
    path = WritePath(load_system(name))
    training = measure_campaign(path, TRAINING_SCALES, size.per_scale, size.seed)
    test = measure_campaign(path, TEST_SCALES, size.per_test_scale, size.seed + 1)
    samples = training.samples.take(training.samples.converged)
    say(f"{name}, seed {size.seed}: {len(samples)} training and {len(test.samples)} test samples")
    chosen = {}
    for method, techniques in wanted.items():
        for technique in techniques:
            place = keep / f"{name}-{method}-{technique}-{_mark(size)}.json"
            found = _read(place)
            if found is None:
                searched = search(samples, technique, printed=method == "printed")
                found = Chosen(searched.best, searched.base)
                _write(place, found)
                say(f"{name}, seed {size.seed}: {method} {technique} done")
            chosen[method, technique] = found
    return Study(path, training, test, chosen)


def everything() -> dict[str, tuple[str, ...]]:
    """All techniques that the paper compares, by both methods."""
    return dict.fromkeys(METHODS, COMPARED)


def _mark(size: StudySize) -> str:
    """A digest of the campaign's size and of all code that a search depends on."""
    digest = hashlib.sha256(json.dumps(asdict(size)).encode())
    sources = [Path(campaign_module.__file__), *sorted(Path(write_package.__path__[0]).glob("*.py"))]
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _read(place: Path) -> Chosen | None:
    if not place.exists():
        return None
    document = json.loads(place.read_text("utf-8"))
    parts = {
        name: ScaleTrial(**(document[name] | {"scales": tuple(document[name]["scales"])}))
        for name in ("best", "base")
    }
    return Chosen(**parts)


def _write(place: Path, found: Chosen) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    beside = place.with_suffix(".new")
    beside.write_text(json.dumps(asdict(found)), "utf-8")
    beside.replace(place)
