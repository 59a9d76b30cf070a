"""One run of an experiment: its inputs, and the figures that are kept. Both are stored as plain JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from penstock.agent.plugins import source_file
from penstock.evaluate.drivers import Course, Decided
from penstock.evaluate.simulated import Run, Share, Trail, run
from penstock.evaluate.simulated_client import INTERVAL_S
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan

WARMUP_S = 5.0
#: Fields of a course that came later. At these values they are no part of the key, so that stored results stay valid.
ADDED: Mapping[str, object] = {"switches": (), "until_done": False}
#: Figures that other runs than fixed work do not have. Marks are made of all figures, so they are not written empty.
FIXED_WORK = ("done_s", "writing")


@dataclass(frozen=True, slots=True)
class Trial:
    """A world and how it is driven. Equal trials have equal results."""

    plan: Plan
    course: Course

    @property
    def key(self) -> str:
        """A hash of everything that determines the result, except the program itself.

        A model file counts by its content, wherever it lies.
        """
        document: Any = {"plan": plain(self.plan), "course": plain(self.course)}
        for name, usual in ADDED.items():
            if getattr(self.course, name) == usual:
                del document["course"][name]
        policy = source_file(self.course.policy) if self.course.policy is not None else None
        if policy is not None and policy.is_file():
            document[str(policy)] = _digest(policy)
        model = Path(self.course.model) if self.course.model is not None else None
        if model is not None and model.is_file():
            document["course"]["model"] = _digest(model)
        return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class PathStep:
    """The time from which the first client's target on an OST held a setting."""

    t_s: float
    ost: int
    setting: Setting


@dataclass(frozen=True, slots=True)
class Measured:
    """The figures kept of a run. Rates are application rates in 10^6 bytes per second for all clients together.

    `read` and `write` have one rate per interval; `clients` has one pair of rates per client. `late_moves` counts
    settings changed in the second half, on all clients. `jobs` are in the order of the plan; `targets` are those that
    hold their files, by client and OST. `wire` is what went over the wire, read and written. Times in `decided` count
    from the end of the warm-up, as does `done_s`, when fixed work was done. `writing` is kept of such work: the share
    of its tasks that wrote at the end of each interval. `held_back` counts windows by rule
    (`penstock.decide.holding_back`). `work` has a series for each client: its rate in every interval, less what only
    filled the page cache, plus what left it.
    """

    app_mbps: float
    rpc_mbps: float
    changes: int
    late_moves: int
    clients: tuple[tuple[float, float], ...]
    read: tuple[float, ...]
    write: tuple[float, ...]
    path: tuple[PathStep, ...]
    jobs: tuple[Share, ...] = ()
    targets: Mapping[tuple[int, int], Share] = field(default_factory=dict)
    wire: tuple[float, float] = (0.0, 0.0)
    decided: tuple[Decided, ...] = ()
    events: int = 0
    held_back: Mapping[str, int] = field(default_factory=dict)
    work: tuple[tuple[float, ...], ...] = ()
    done_s: float | None = None
    writing: tuple[float, ...] = ()

    @property
    def series(self) -> tuple[float, ...]:
        """Both directions, interval by interval."""
        return tuple(read + write for read, write in zip(self.read, self.write, strict=True))

    @property
    def work_mbps(self) -> float:
        """All that was moved over the time until the work was done; the usual rate if there was no such moment."""
        if self.done_s is None:
            return self.app_mbps
        return sum(self.series) * INTERVAL_S / self.done_s

    def mean(self, from_s: float, to_s: float) -> float:
        """The mean rate over a part of the measured time, whole intervals only."""
        part = self.series[round(from_s / INTERVAL_S) : round(to_s / INTERVAL_S)]
        return sum(part) / len(part) if part else 0.0


def perform(trial: Trial) -> Measured:
    return _kept(run(trial.plan, trial.course), trial.course)


def _kept(done: Run, course: Course) -> Measured:
    figures, trail = done.total.figures, done.trail
    lasted_s = done.total.seconds
    middle_s = course.warmup_s + lasted_s / 2
    per_client = [
        tuple(sum(column) / lasted_s / 1e6 for column in zip(*way, strict=True))
        for way in (trail.read_bytes, trail.write_bytes)
    ]
    first = [move for move in trail.moves if move.client == 0]
    return Measured(
        figures["app_mbps"],
        figures["rpc_mbps"],
        done.changes,
        sum(move.t_s > middle_s for move in trail.moves),
        tuple(zip(*per_client, strict=True)),
        tuple(round(sum(each) / INTERVAL_S / 1e6, 2) for each in trail.read_bytes),
        tuple(round(sum(each) / INTERVAL_S / 1e6, 2) for each in trail.write_bytes),
        tuple(PathStep(round(m.t_s - course.warmup_s, 3), m.ost, m.setting) for m in first),
        done.jobs,
        done.targets,
        done.wire_mbps,
        tuple(replace(each, t_s=round(each.t_s - course.warmup_s, 3)) for each in done.decided),
        done.events,
        done.held_back,
        _work(trail),
        done.done_s,
        trail.writing if course.until_done else (),
    )


def _work(trail: Trail) -> tuple[tuple[float, ...], ...]:
    """What was read, sent, or written over before it was sent: over a long time, what applications get."""
    moved = zip(trail.read_bytes, trail.write_bytes, trail.grown_bytes, strict=True)
    rows = (
        tuple(
            round((read + written - grown) / INTERVAL_S / 1e6, 2)
            for read, written, grown in zip(*each, strict=True)
        )
        for each in moved
    )
    return tuple(zip(*rows, strict=True))


def dump(measured: Measured) -> dict[str, Any]:
    """The figures as JSON knows them. What only fixed work has is left out of other runs."""
    document: dict[str, Any] = plain(measured)
    return {
        name: value for name, value in document.items() if name not in FIXED_WORK or value not in (None, [])
    }


def load(document: Mapping[str, Any]) -> Measured:
    fields = dict(document)
    fields["clients"] = tuple((read, write) for read, write in fields["clients"])
    fields["read"], fields["write"] = tuple(fields["read"]), tuple(fields["write"])
    fields["path"] = tuple(PathStep(s["t_s"], s["ost"], Setting(s["setting"])) for s in fields["path"])
    fields["jobs"] = tuple(Share(**job) for job in fields["jobs"])
    fields["targets"] = {_place(place): Share(**share) for place, share in fields["targets"].items()}
    fields["writing"] = tuple(fields.get("writing", ()))
    fields["wire"] = (fields["wire"][0], fields["wire"][1])
    fields["decided"] = tuple(_load_decided(each) for each in fields["decided"])
    fields["work"] = tuple(tuple(series) for series in fields["work"])
    return Measured(**fields)


def _place(text: str) -> tuple[int, int]:
    client, _, ost = text.partition("/")
    return int(client), int(ost)


def _load_decided(document: Mapping[str, Any]) -> Decided:
    settings = {name: Setting(document[name]) for name in ("before", "wanted")}
    return Decided(**{**document, **settings})


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _name(key: Any) -> str:
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)


def plain(value: Any) -> Any:
    """Dataclasses, configurations and settings as what JSON knows."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, Mapping):
        return {_name(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return hashlib.sha256(value.tobytes()).hexdigest()
    if is_dataclass(value) and not isinstance(value, type):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value
