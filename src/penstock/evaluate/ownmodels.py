"""Models trained on the evaluated cluster itself, with seeds that are not used for evaluation.

A learned policy with a model of another cluster is evaluated together with that model's mismatch. So experiments can
use a model of their own: the 12 single-stream workloads on the same cluster, by the papers' protocol (a random
setting after every probe), fitted with the policy's recipe. For policies that use a survey, the same workloads run
with held settings.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.campaign.engines import local_engine
from penstock.campaign.program import version
from penstock.campaign.shards import in_order
from penstock.errors import UsageError, require_extra
from penstock.evaluate.tuners import find_policy
from penstock.output_files import replace_file
from penstock.simulate import BEHAVIOUR
from penstock.simulate.assembly import Plan
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import Cluster
from penstock.workload import SINGLE_STREAM

if TYPE_CHECKING:
    from penstock.train.table import TraceTable

# Far from the seeds used for evaluation, for the shipped model and for searches.
FIRST_SEED = 910_001
RUNS = 3
RUN_S = 200.0
# With application labels a sample is a setting held for 16 probes, so runs are as many times as long.
LABEL_HOLD = 16
HELD_S = 3.5
# The same number of trees as the shipped models.
ROUNDS, LEAVES, FOLDS = 150, 31, 2
#: The sources that make a model from runs. A model counts by its content, so one that is made again by other sources
#: and turns out equal keeps every result.
SOURCES = ("predict", "train")

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class OwnWorld:
    """The training setup: a cluster, the number of runs per workload, and their duration."""

    cluster: Cluster
    runs: int = RUNS
    seconds: float = RUN_S

    def plan(self, workload: str, number: int) -> Plan:
        """One run's world."""
        return named_plan(self.cluster, workload, seed=FIRST_SEED + number)

    def digest(self, kind: str) -> str:
        """A digest of everything that determines a model of this kind; of the simulator, what it does."""
        cluster = self.cluster.model_dump(exclude_defaults=True)
        how = [FIRST_SEED, self.runs, self.seconds, HELD_S, ROUNDS, LEAVES, FOLDS, LABEL_HOLD]
        about = [kind, BEHAVIOUR, cluster, how, version(*SOURCES)]
        return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:16]


def own_models(
    world: OwnWorld, policies: Sequence[str], directory: Path, workers: int, say: Say
) -> dict[str, str]:
    """The model file of every policy that uses one. Missing files are made; policies of one kind share a file."""
    kinds: dict[str, list[str]] = {}
    for policy in policies:
        if policy not in ("default", "best-static", "oracle") and find_policy(policy).uses_model:
            kinds.setdefault(find_policy(policy).model_kind, []).append(policy)
    paths = {kind: directory / f"{kind}-{world.digest(kind)}.json" for kind in kinds}
    missing = {kind: path for kind, path in paths.items() if not path.exists()}
    if missing:
        directory.mkdir(parents=True, exist_ok=True)
        _make(world, missing, workers, say)
    return {policy: str(paths[kind]) for kind, members in kinds.items() for policy in members}


def _make(world: OwnWorld, missing: Mapping[str, Path], workers: int, say: Say) -> None:
    if "survey" in missing:
        replace_file(missing["survey"], _survey(world, workers, say))
    forests = {kind: path for kind, path in missing.items() if kind != "survey"}
    if not forests:
        return
    try:
        from penstock.predict import modelfile
        from penstock.train.build import build_model
        from penstock.train.fit import RECIPES, fit_all
        from penstock.train.fitdata import source_of
        from penstock.train.recipe import adapted
        from penstock.train.samples import APPLICATION
        from penstock.train.table import join
    except ImportError as error:
        raise require_extra("train", error) from None
    runs = [(workload, number) for number in range(world.runs) for workload in SINGLE_STREAM]
    tables: dict[int, TraceTable] = {}
    for kind, path in forests.items():
        if kind not in RECIPES:
            raise UsageError(f"there is no recipe for a {kind} model")
        hold = LABEL_HOLD if RECIPES[kind]().label == APPLICATION else 1
        if hold not in tables:
            say(f"{world.cluster.name}: {len(runs)} runs of {world.seconds * hold:g} s to train on")
            with local_engine(workers, "spawn") as engine:
                tables[hold] = join(list(in_order(engine, partial(_walked, world, hold), runs)))
        table = tables[hold]
        recipe = adapted(replace(RECIPES[kind](), folds=FOLDS), 0, None, ROUNDS, LEAVES)
        fits = list(fit_all(table, recipe, lambda text, kind=kind: say(f"{kind}: {text}")))  # type: ignore[misc]
        origin = f"{len(runs)} simulated runs of {world.cluster.name}, seeds {FIRST_SEED} on"
        replace_file(path, modelfile.dump(build_model(fits, source_of(table), recipe, origin)))


def _walked(world: OwnWorld, hold: int, run: tuple[str, int]) -> TraceTable:
    """The rows of one run by the papers' protocol, each setting held for so many probes."""
    from penstock.ports import Ports
    from penstock.simulate.probe import Probe
    from penstock.simulate.simulation import Simulation
    from penstock.spaces import LUSTRE
    from penstock.train.collect import Walk, tabulate, walk

    workload, number = run
    probe = Probe(Simulation(world.plan(workload, number)))
    probes = max(3, round(world.seconds / 0.5)) * hold
    how = Walk(LUSTRE.candidates(), probes, 0.5, f"own/{workload}/{number}", hold)
    return tabulate(workload, number + 1, list(walk(Ports(probe, probe, probe), how)))


def _survey(world: OwnWorld, workers: int, say: Say) -> bytes:
    """The same workloads with settings held: what a policy that asks a survey learns of this cluster."""
    from penstock.predict import surveyfile
    from penstock.train.survey import make_survey, measure_plan

    plans = [
        (f"{workload}/{number}", world.plan(workload, number))
        for workload in SINGLE_STREAM
        for number in range(world.runs)
    ]
    say(f"{world.cluster.name}: a survey of {len(plans)} cases")
    with local_engine(workers, "spawn") as engine:
        held = list(in_order(engine, partial(measure_plan, seconds=HELD_S, seed=FIRST_SEED), plans))
    source = f"{len(plans)} runs of {world.cluster.name}, seeds {FIRST_SEED} on"
    return surveyfile.dump(make_survey([one for one in held if one is not None], source, {"seconds": HELD_S}))
