"""The decisions of a log made again from the windows beside it, and compared with what the log says.

Policy and guard carry what they learned from one interval to the next. So only a run that was recorded from its start
can be replayed, and only as far as the recording goes without a gap.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from penstock import __version__
from penstock.agent.compiling import walk_compiled
from penstock.agent.deciding import decide
from penstock.agent.interval_lines import RecordedInput, checksum
from penstock.agent.log import decision_event, read_log
from penstock.agent.model_choice import LAST_GOOD
from penstock.agent.plugins import find_policy
from penstock.agent.run_start import RunStart, code_digest
from penstock.agent.window_recording import FORMAT, RecordingGap, RunBegins, read_windows
from penstock.decide.guard import Guard
from penstock.decide.tuner import Tuner
from penstock.decision import Decision
from penstock.errors import DataError, MissingError, PenstockError
from penstock.events import DecisionEvent, StartEvent, dump, parse
from penstock.ports import Predictor

# What makes a decision; the rest of a line is when it was written and what became of it.
COMPARED = (
    "id",
    "unit",
    "work",
    "before",
    "wanted",
    "reason",
    "sentence",
    "evidence",
    "confidence",
    "model",
    "history",
    "outlook",
)


NO_COMPILER = "the model was asked through compiled code then, and numba is not here: last digits may differ"


class ReplayVerdict(StrEnum):
    """What came of a decision when it was made again."""

    SAME = "same"
    DIFFERS = "differs"
    NOT_IN_LOG = "not in the log"
    NOT_REPLAYED = "not replayed"


@dataclass(frozen=True, slots=True)
class Remade:
    """One decision: as the log has it, as it was made again, and the fields in which they differ."""

    verdict: ReplayVerdict
    t_s: float
    target: str
    logged: DecisionEvent | None
    again: DecisionEvent | None
    fields: tuple[str, ...] = ()


@dataclass(slots=True)
class RunReplay:
    """One run of an agent."""

    start: RunStart
    #: Intervals of the run that were recorded, and how many of them gave the same decisions, those to keep included.
    intervals: int = 0
    same: int = 0
    decided: int = 0
    #: From where to where it was replayed, by the clock of the decisions.
    from_s: float = math.inf
    until_s: float = -math.inf
    #: When the first interval with other decisions ended.
    differs_at_s: float | None = None
    #: Why nothing is concluded from this run: it was recorded in an older format, or other code decided then.
    not_judged: str = ""
    #: Why a part of the run cannot be replayed.
    gaps: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decisions: list[Remade] = field(default_factory=list)

    @property
    def exact(self) -> bool:
        """Whether everything that was replayed came out the same."""
        wrong = (ReplayVerdict.DIFFERS, ReplayVerdict.NOT_IN_LOG)
        return self.same == self.intervals and not any(one.verdict in wrong for one in self.decisions)


@dataclass(frozen=True, slots=True)
class Deciders:
    """Who decides in one run."""

    tuner: Tuner
    guard: Guard
    predictor: Predictor | None


#: Policy and guard of a run, what to note about them, and why they cannot be judged by; raises where they cannot be
#: had any more.
Build = Callable[[RunStart], tuple[Deciders, list[str], str]]
Logged = dict[tuple[str, float], DecisionEvent]


class Replayer:
    """Makes the decisions of one log again, run by run."""

    def __init__(self, log: Path, windows: Path, build: Build) -> None:
        if not log.exists():
            raise MissingError(f"{log}: no decision log")
        self._windows, self._build = windows, build
        #: The log's decisions by run, which its seed names; None where the log does not say how the run began.
        self._logged = _decisions(log)
        #: Why nothing is concluded from the whole log; empty where its windows were recorded beside it.
        self.not_judged = ""
        if not windows.exists():
            formats = _formats(log)
            if not formats or FORMAT in formats:
                raise MissingError(
                    f"{windows}: no such recording; "
                    "the log alone does not hold what was seen between two decisions"
                )
            self.not_judged = f"written in format {max(formats)}, this version reads decisions of {FORMAT}"
        self._deciders: Deciders | None = None

    def runs(self) -> list[RunReplay]:
        """Every run that was recorded, the oldest first."""
        found: list[RunReplay] = []
        for one in read_windows(self._windows) if not self.not_judged else ():
            if isinstance(one, RunBegins):
                if not found or found[-1].start.seed != one.start.seed:
                    found.append(RunReplay(one.start))
                self._begin(found[-1], one)
            elif isinstance(one, RecordingGap):
                self._deciders = None
                for run in found[-1:]:
                    run.gaps.append(one.why)
            elif found and self._deciders is not None:
                self._again(found[-1], one, self._deciders)
        for run in found:
            run.decisions += self._left_over(run)
        return found

    def unknown(self) -> list[Remade]:
        """The decisions of runs of which nothing was recorded; to be asked after `runs`."""
        return [
            Remade(ReplayVerdict.NOT_REPLAYED, t_s, name, event, None)
            for of_run in self._logged.values()
            for (name, t_s), event in of_run.items()
        ]

    def _begin(self, run: RunReplay, begins: RunBegins) -> None:
        if begins.format != FORMAT:
            self._deciders = None
            run.not_judged = f"recorded in format {begins.format}, this version reads decisions of {FORMAT}"
        elif begins.interval == 0:
            try:
                self._deciders, run.notes[:], run.not_judged = self._build(begins.start)
            except PenstockError as error:
                self._deciders = None
                run.gaps.append(str(error))
        elif self._deciders is None or run.intervals != begins.interval:
            self._deciders = None
            if not run.gaps:
                run.gaps.append(
                    f"the recording begins {begins.interval} intervals after the start of this run: what policy and "
                    "guard had learned by then is not in it, so its decisions cannot be made again"
                )

    def _again(self, run: RunReplay, recorded: RecordedInput, deciders: Deciders) -> None:
        """Decide about one interval again."""
        tuner, guard = deciders.tuner, deciders.guard
        if not walk_compiled(deciders.predictor, recorded.compiled) and NO_COMPILER not in run.notes:
            run.notes.append(NO_COMPILER)
        for forgotten in recorded.interval.forgotten:
            forgotten.apply(tuner, guard)
        decided = decide(
            tuner, guard, recorded.interval, recorded.spaces.__getitem__, lambda windows, made: recorded.node
        )
        run.from_s, run.until_s = min(run.from_s, recorded.interval.now_s), recorded.interval.now_s
        run.intervals += 1
        run.decided += recorded.decided
        if checksum(decided.decisions) == recorded.check and len(decided.decisions) == recorded.decided:
            run.same += 1
        elif run.differs_at_s is None:
            run.differs_at_s = recorded.interval.now_s
        for decision in decided.decisions:
            if remade := self._compared(run, recorded, decision):
                run.decisions.append(remade)

    def _compared(self, run: RunReplay, recorded: RecordedInput, decision: Decision) -> Remade | None:
        """A decision beside its line in the log; None where the log need not have one."""
        name, t_s = decision.target.name, decision.t_s
        own, lost = self._logged.get(run.start.seed), decision.target in recorded.lost
        logged = (own or {}).pop((name, t_s), None) or self._logged.get(None, {}).pop((name, t_s), None)
        if logged is None:
            # Advice is not repeated in the log, and the log may begin after the run did.
            if not decision.changes or not recorded.acting or lost or own is None:
                return None
            return Remade(ReplayVerdict.NOT_IN_LOG, t_s, name, None, _event(decision))
        again = _event(decision)
        fields = tuple(key for key in COMPARED if getattr(logged, key) != getattr(again, key))
        return Remade(
            ReplayVerdict.DIFFERS if fields else ReplayVerdict.SAME, t_s, name, logged, again, fields
        )

    def _left_over(self, run: RunReplay) -> Iterator[Remade]:
        """What the log has and the replay did not make: another decision, or one that was not recorded."""
        for (name, t_s), event in self._logged.pop(run.start.seed, {}).items():
            if run.from_s <= t_s <= run.until_s:
                yield Remade(ReplayVerdict.DIFFERS, t_s, name, event, None, ("target", "t_s"))
            else:
                yield Remade(ReplayVerdict.NOT_REPLAYED, t_s, name, event, None)


def _decisions(path: Path) -> dict[int | None, Logged]:
    found: dict[int | None, Logged] = {}
    seed, events = None, 0
    for event in read_log(path):
        events += 1
        if isinstance(event, StartEvent):
            seed = event.seed
            found.setdefault(seed, {})
        elif isinstance(event, DecisionEvent):
            found.setdefault(seed, {})[event.target, event.t_s] = event
    if not events:
        raise DataError(f"{path}: not a decision log: no whole line of one in it")
    return found


def _formats(path: Path) -> set[int]:
    """The formats of the runs whose starts a log tells."""
    return {event.format for event in read_log(path) if isinstance(event, StartEvent)}


def _event(decision: Decision) -> DecisionEvent:
    """A decision as it reads from a log."""
    event = parse(json.loads(json.dumps(dump(decision_event(decision, 0.0)))))
    assert isinstance(event, DecisionEvent)
    return event


def rebuild(state_dir: Path, policy: str | None, model: Path | None) -> Build:
    """Builds from what is installed here, the models beside the log, and what is named explicitly.

    Somebody else's code is run only if it is named: a log may come from anywhere.
    """

    def build(start: RunStart) -> tuple[Deciders, list[str], str]:
        name = start.policy
        if name.endswith(".py"):
            if policy is None:
                raise MissingError(f"its policy was the file {name}: name it with --policy")
            name = policy
        notes, not_judged = [], ""
        if code_digest(name) != start.policy_sha256:
            not_judged = f"the code of policy {name} is not what it was then"
        if start.version != __version__:
            notes.append(f"recorded by version {start.version}, replayed by {__version__}")
        predictor = _predictor(start, state_dir, model)
        tuner, guard = start.deciders(find_policy(name), predictor, lambda what: None)
        return Deciders(tuner, guard, predictor), notes, not_judged

    return build


def _predictor(start: RunStart, state_dir: Path, named: Path | None) -> Predictor | None:
    """The very model of a run: the one named, the shipped one, or the last good one in the state directory."""
    if start.model is None:
        return None
    from penstock.predict import kinds

    sources: list[Callable[[], Predictor]] = [
        lambda: kinds.default_predictor(start.model_kind),
        lambda: kinds.load_predictor(start.model_kind, state_dir / LAST_GOOD[start.model_kind]),
    ]
    if named is not None:
        sources.insert(0, lambda: kinds.load_predictor(start.model_kind, named))
    for source in sources:
        with contextlib.suppress(PenstockError, KeyError):
            if (found := source()).digest == start.model:
                return found
    raise MissingError(f"its model, sha256 {start.model[:12]}..., is not here: name its file with --model")
