"""Intervals as lines of JSON and back, exactly: floats keep all their digits, and names are written once.

A line that is an object defines something that later lines name by its number (a target, the names of a window's
metrics or knobs, a knob space), or begins a run. A line that is a list is an interval.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.agent.advice_lines import advice_fields, read_advice
from penstock.agent.deciding import Forgotten, IntervalDecisions, IntervalInput, KnownSpace
from penstock.decide.fleet_advice import FleetAdvice
from penstock.decide.guard import NodeView
from penstock.decision import Decision
from penstock.decision_reasons import Reason
from penstock.errors import DataError, KnobError
from penstock.knobs import Acts, Knob, KnobSpace, Role, Scope, Setting
from penstock.knobs.target_kind import DATA_PATH
from penstock.snapshot import Target
from penstock.spaces import declare
from penstock.target_kinds import KINDS
from penstock.window import Void, VoidReason, Window

_encode = json.JSONEncoder(separators=(",", ":")).encode
_NO_SPACE = -1
_QUIET = NodeView()


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """One interval as it was recorded, and what is needed to decide about it again and to compare.

    `check` stands for all decisions, those to keep included, and `decided` is how many there were. Of `acting`
    intervals every change is in the log, except those of the targets in `lost`.
    """

    interval: IntervalInput
    node: NodeView
    spaces: Mapping[Target, KnobSpace]
    check: int
    decided: int
    acting: bool
    lost: frozenset[Target]
    #: Whether the model was asked through compiled code.
    compiled: bool = False


def checksum(decisions: Sequence[Decision]) -> int:
    """A number that differs, as good as surely, where any of these decisions does."""
    words = (f"{one.id}{one.reason}{'' if one.wanted == one.before else one.wanted}" for one in decisions)
    return zlib.crc32("\n".join(words).encode())


class IntervalWriter:
    """Turns intervals into lines. A new one, with nothing defined, belongs to the head of every file."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[Hashable, int]] = {}
        self._fresh: list[str] = []
        # Spaces are told apart by identity, so they must not go while their number is in use.
        self._kept: list[KnobSpace] = []
        self._last: dict[Target, Window | Void] = {}
        self._originals: dict[Target, Setting] = {}
        self._advice: FleetAdvice | None = None

    def lines(
        self, decided: IntervalDecisions, carried_out: Sequence[Decision], known: KnownSpace
    ) -> list[str]:
        """The interval, after what it needs to have defined."""
        self._fresh = []
        rows = [self._row(window, known(window.target)) for window in decided.interval.windows]
        node, lost = decided.node, [d.target for d in carried_out if d.reason == Reason.NOT_LOGGED]
        rare = {
            "node": None
            if node == _QUIET
            else [node.dirty_budget_mib, node.memory_available_ratio, node.elsewhere_mib],
            "originals": [self._original(one) for one in decided.interval.windows if self._is_new(one)],
            "forgotten": [[self._target(one.target), one.gone] for one in decided.interval.forgotten],
            "lost": [self._target(target) for target in lost],
            "compiled": decided.compiled,
        }
        head = [
            decided.interval.now_s,
            checksum(decided.decisions),
            len(decided.decisions),
            int(bool(carried_out)),
        ]
        said: dict[str, Any] = {key: value for key, value in rare.items() if value}
        if decided.interval.advice != self._advice:
            self._advice = decided.interval.advice
            said["advice"] = advice_fields(self._advice)
        line = _encode([*head, rows, said])
        return [*self._fresh, line]

    def _row(self, window: Window | Void, space: KnobSpace | None) -> list[Any]:
        """Where a window begins is left out if the target's last one ended there; so are counters at rest."""
        target, of = self._target(window.target), self._space(space)
        last, self._last[window.target] = self._last.get(window.target), window
        t0_s = None if last is not None and last.t1_s == window.t0_s else window.t0_s
        if isinstance(window, Void):
            return [target, of, t0_s, window.t1_s, window.reason.name]
        if isinstance(last, Window) and last.metrics == window.metrics and last.setting == window.setting:
            return [target, of, t0_s, window.t1_s]
        knobs, names = tuple(window.setting), tuple(window.metrics)
        shape = [self._number("knobs", knobs, knobs), self._number("metrics", names, names)]
        values = (*window.setting.values(), *window.metrics.values())
        return [target, of, t0_s, window.t1_s, *shape, *values]

    def _is_new(self, window: Window | Void) -> bool:
        """Whether a target's original is another one than the last that was written down."""
        return isinstance(window, Window) and window.original != self._originals.get(window.target)

    def _original(self, window: Window | Void) -> list[int]:
        assert isinstance(window, Window)
        target, original = self._target(window.target), window.original
        if original is None:
            del self._originals[window.target]
            return [target]
        self._originals[window.target] = original
        return [target, self._number("knobs", tuple(original), tuple(original)), *original.values()]

    def _target(self, target: Target) -> int:
        said = (target.name, target.fs, target.resource, target.mount)
        return self._number("target", target, said if target.kind is DATA_PATH else (*said, target.kind.name))

    def _space(self, space: KnobSpace | None) -> int:
        if space is None:
            return _NO_SPACE
        if (found := self._numbers.get("space", {}).get(space)) is not None:
            return found
        self._kept.append(space)
        return self._number("space", space, _space_fields(space))

    def _number(self, kind: str, key: Hashable, said: Any) -> int:
        numbers = self._numbers.setdefault(kind, {})
        found = numbers.get(key)
        if found is None:
            found = numbers[key] = len(numbers)
            self._fresh.append(_encode({kind: said}))
        return found


class IntervalReader:
    """Turns lines back into intervals; raises `DataError` for a line that no writer wrote."""

    def __init__(self) -> None:
        self._known: dict[str, list[Any]] = {"target": [], "knobs": [], "metrics": [], "space": []}
        self._last: dict[Target, Window | Void] = {}
        self._originals: dict[Target, Setting] = {}
        self._advice: FleetAdvice | None = None

    def read(self, line: Any) -> RecordedInput | None:
        """The interval of a line; None where it only defines something."""
        try:
            if isinstance(line, dict):
                self._define(line)
                return None
            return self._interval(line)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError, KnobError):
            raise DataError("not a line of a recording") from None

    def _define(self, line: Mapping[str, Any]) -> None:
        for kind, said in line.items():
            self._known[kind].append(_DEFINED.get(kind, tuple)(said))

    def _interval(self, line: list[Any]) -> RecordedInput:
        now_s, check, decided, acting, rows, rare = line
        spaces: dict[Target, KnobSpace] = {}
        targets = self._known["target"]
        for at, *said in rare.get("originals", ()):
            self._take_original(targets[at], said)
        windows = tuple(self._windows(rows, spaces))
        forgotten = tuple(Forgotten(targets[at], bool(gone)) for at, gone in rare.get("forgotten", ()))
        node = NodeView(*rare["node"]) if "node" in rare else _QUIET
        lost = frozenset(targets[at] for at in rare.get("lost", ()))
        if "advice" in rare:
            self._advice = read_advice(rare["advice"])
        interval = IntervalInput(float(now_s), windows, forgotten, self._advice)
        compiled = bool(rare.get("compiled"))
        return RecordedInput(interval, node, spaces, int(check), int(decided), bool(acting), lost, compiled)

    def _windows(self, rows: Sequence[list[Any]], spaces: dict[Target, KnobSpace]) -> Iterator[Window | Void]:
        for at, of, t0_s, t1_s, *rest in rows:
            target = self._known["target"][at]
            if of != _NO_SPACE:
                spaces[target] = self._known["space"][of]
            begins_s = self._last[target].t1_s if t0_s is None else t0_s
            self._last[target] = window = self._window(target, begins_s, t1_s, rest)
            yield window

    def _take_original(self, target: Target, said: list[int]) -> None:
        if not said:
            del self._originals[target]
            return
        knobs = self._known["knobs"][said[0]]
        self._originals[target] = Setting(dict(zip(knobs, said[1:], strict=True)))

    def _window(self, target: Target, t0_s: float, t1_s: float, rest: list[Any]) -> Window | Void:
        if not rest:
            last = self._last[target]
            if isinstance(last, Void):
                raise DataError("not a line of a recording")
            return replace(last, t0_s=t0_s, t1_s=t1_s, original=self._originals.get(target))
        if isinstance(rest[0], str):
            return Void(target, t0_s, t1_s, VoidReason[rest[0]])
        knobs, names = self._known["knobs"][rest[0]], self._known["metrics"][rest[1]]
        values = rest[2:]
        setting = Setting(dict(zip(knobs, values[: len(knobs)], strict=True)))
        metrics = dict(zip(names, values[len(knobs) :], strict=True))
        return Window(target, t0_s, t1_s, setting, metrics, self._originals.get(target))


def _named_target(said: Sequence[str]) -> Target:
    """A target; recordings made before targets carried a kind do not say it."""
    name, fs, resource, mount, *kind = said
    return Target(name, fs, resource, mount, KINDS[kind[0]] if kind else DATA_PATH)


def _space_fields(space: KnobSpace) -> dict[str, Any]:
    return {
        "name": space.name,
        "declared_with": dict(space.declared_with),
        "opted_in": sorted(space.opted_in),
        "offered": [dict(setting) for setting in space.offered],
        "knobs": [
            [
                *(k.id, k.values, k.default, k.unit, k.floor, k.ceiling, k.scope, k.acts, k.role, k.step),
                *(k.limits, k.under, k.tried),
            ]
            for k in space.knobs
        ],
    }


def _space(said: Mapping[str, Any]) -> KnobSpace:
    return replace(
        declare(said["name"], said["declared_with"]),
        knobs=tuple(_knob(*fields) for fields in said["knobs"]),
        opted_in=frozenset(said["opted_in"]),
        offered=tuple(Setting(setting) for setting in said["offered"]),
    )


def _knob(knob_id: str, values: list[int], *rest: Any) -> Knob:
    default, unit, floor, ceiling, scope, acts, role, step, *later = rest
    bounds = (default, unit, floor, ceiling, Scope(scope), Acts(acts))
    # Recordings of earlier versions end with the step, or with what a knob limits.
    limits, *others = later or [()]
    known = (tuple(limits), *others)
    return Knob(knob_id, tuple(values), *bounds, Role(role) if role is not None else None, step, *known)


_DEFINED: Mapping[str, Callable[[Any], Any]] = {"target": _named_target, "space": _space}
