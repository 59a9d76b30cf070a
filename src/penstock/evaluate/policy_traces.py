"""What a policy does, however it is written: short runs in known worlds, and a mark that is a digest of them.

Two versions of the program that give the same traces have the same mark. So a change that means to keep behaviour
keeps every stored result; one that alters a policy, its model, the guard, the loop or how runs are measured makes
the results of that policy old, and no others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.evaluate.drivers import Course
from penstock.evaluate.trial import Measured, Trial, dump, perform
from penstock.knobs import Setting
from penstock.simulate import BEHAVIOUR
from penstock.simulate.assembly import Job
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.faults import parse_fault
from penstock.units import GIB
from penstock.workload import Workload, parse_workload

WARMUP_S, SEED = 2.0, 7
# More digits than any figure is shown with, fewer than processors and libraries agree on.
DIGITS = 6
# Kept with a run, but no part of what it did: a mark is the same without them.
DERIVED = ("held_back", "work")


@dataclass(frozen=True, slots=True)
class TraceWorld:
    """A world that policies are traced in."""

    workload: str
    seconds: float
    changes: Mapping[str, str] = field(default_factory=dict)
    events: tuple[str, ...] = ()
    original: Setting | None = None
    #: What follows, in equal parts of the time.
    then: tuple[Workload, ...] = ()

    @property
    def name(self) -> str:
        """Its workload and what differs from the cluster's description."""
        changes = (f"{key}={value}" for key, value in self.changes.items())
        original = (f"{knob}={value}" for knob, value in (self.original or {}).items())
        then = (work.name for work in self.then)
        return " ".join([self.workload, *then, *changes, *self.events, *original])

    def trial(self, course: Course) -> Trial:
        """The run of this world under what a course asks for."""
        plan = named_plan(builtin_cluster("c220g5").override(self.changes), self.workload, 1, SEED)
        if self.then:
            plan = replace(plan, jobs=tuple(self._parts()))
        plan = replace(plan, faults=tuple(map(parse_fault, self.events)))
        driven = replace(course, seconds=self.seconds, warmup_s=WARMUP_S, setting=self.original)
        return Trial(plan, driven)

    def _parts(self) -> Iterator[Job]:
        works = (parse_workload(self.workload), *self.then)
        part_s = self.seconds / len(works)
        for number, work in enumerate(works):
            start_s = WARMUP_S + number * part_s if number else 0.0
            yield Job(work, 0, start_s, WARMUP_S + (number + 1) * part_s)


#: One stream of random writes over a file that fits the dirty limit.
REWRITING = replace(parse_workload("s_wr_rn_1m"), name="rewriting", file_bytes=GIB)
WORLDS = (
    TraceWorld("s_rd_rn_1m", 60.0),
    TraceWorld("f_wr_sq_1m", 30.0, {"ram_gb": "8"}),
)
OTHERS = {
    # It groups targets, measures, remembers and is guarded, which takes more to see.
    "weir": (
        *WORLDS,
        TraceWorld("f_rd_rn_1m", 60.0, {"ost_count": "2"}),
        TraceWorld("s_rd_rn_16m", 60.0, {"round_trip_us": "2000"}),
        TraceWorld("s_rd_rn_1m", 60.0, events=("slow:ost=0:at=10:for=20:factor=4",)),
        TraceWorld("f_rd_rn_1m", 60.0, original=Setting(pages=1024, flight=1)),
        # What is rewritten in memory waits unsent when the reader comes back.
        TraceWorld("s_rd_rn_16m", 60.0, {"ost_count": "1"}, then=(REWRITING, parse_workload("s_rd_rn_16m"))),
    ),
    # It simulates 99 futures of every interval.
    "oracle": (TraceWorld("s_rd_rn_1m", 1.0),),
}


def worlds_of(policy: str | None) -> tuple[TraceWorld, ...]:
    """Where a policy is traced; None is a run without tuning."""
    return OTHERS.get(policy or "", WORLDS)


def figures(measured: Measured) -> str:
    """A digest of what was measured and where the knobs were, without the words of the decisions."""
    document = dump(replace(measured, decided=()))
    for name in DERIVED:
        del document[name]
    return hashlib.sha256(json.dumps(_rounded(document), sort_keys=True).encode()).hexdigest()[:24]


def mark_of(traces: Mapping[str, str]) -> str:
    """The mark of a policy whose runs gave these figures, by the names of their worlds."""
    about = json.dumps([BEHAVIOUR, sorted(traces.items())])
    return hashlib.sha256(about.encode()).hexdigest()[:16]


def traced_mark(course: Course) -> str:
    """The mark of what drives a course: its policy, with its model and guard. It is found by running the traces."""
    tuner = Course(0.0, 0.0, policy=course.policy, guard=course.guard, model=course.model)
    return mark_of({world.name: figures(perform(world.trial(tuner))) for world in worlds_of(course.policy)})


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
