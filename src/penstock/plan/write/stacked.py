"""A stack of simple models for real machines.

Each member predicts the logarithm of a rate: of the whole job, of a node, of a process, or plain seconds. A tree
cannot extrapolate, so the choice of the rate determines what is predicted for larger scales: does a node keep its
rate (local disks), or does the total stop growing (shared disks)?

Two sets of weights are learnt. For questions inside the measured scales all members are blended, with weights from
held-out patterns. For questions beyond them one kind of growth is chosen, by holding larger scales out: either the
job's rate stays, or what each node and process does. A mixture of the two would be wrong either way, and more so the
larger the scale. The three rates of the second kind agree on growth and differ in how they smooth, so they are
blended. Beyond the scales the members do not see products with the number of nodes either, through which a tree takes
16 nodes of 16 processes for 8 nodes of 32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.plan.write.folds import Fold, extrapolation_folds, grouped_folds

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
# The columns every stack begins with; the rates' loads are among them.
BASE = ("log(m)", "log(n)", "log(K)", "log(T)", "log(m*n)", "log(n*K)", "log(m*n*K)", "log(T/K)")
RATES: Mapping[str, str | None] = {
    "seconds": None,
    "job": "log(m*n*K)",
    "node": "log(n*K)",
    "process": "log(K)",
}
TREES = ("forest", "extra", "boosting")
LEARNERS = (*TREES, "ridge")
MEMBERS = tuple(f"{rate}/{learner}" for rate, learner in product(RATES, LEARNERS))
LEAST_WEIGHT = 0.01
# Errors below this count as equal when weights are learnt, because they are measurement noise.
NOISE = 0.05
ROUNDS = 20
# How strongly the weights of the learners of one rate are pulled towards equal weights.
LEANING = 0.1
# A rate is judged by how often it is close. An error several times this large is a miss, however large it is.
NEAR = 0.5
# The rate whose total stays the same for more nodes; by all others the same work of a process takes the same time.
SHARED = "job"
# Folds come in the order of the scales they saw and count by this power of their number. One that saw a single scale
# knows nothing of growth, and one that saw all but the largest is most like the question.
FOLD_POWER = 2
# An idea that misses so much more of the held-out scales than the best is believed e times less.
TEMPERATURE = 0.1


@dataclass(frozen=True, slots=True)
class MemberKind:
    """How members are fitted: columns they do not see, trees of a forest, boosted models of an average."""

    left_out: tuple[str, ...]
    forest_trees: int
    boosted_models: int


INSIDE = MemberKind((), 60, 1)
# Beyond the scales small differences decide which rate is chosen. So many trees make them independent of the seed.
BEYOND = MemberKind(("log(m*n)", "log(m*n*K)"), 500, 3)


def _learner(name: str, kind: MemberKind) -> Any:
    from sklearn import ensemble, linear_model

    makers: Mapping[str, Callable[[], Any]] = {
        "forest": lambda: ensemble.RandomForestRegressor(
            kind.forest_trees, min_samples_leaf=2, max_features=0.5, random_state=0
        ),
        "extra": lambda: ensemble.ExtraTreesRegressor(
            kind.forest_trees, min_samples_leaf=2, max_features=0.7, random_state=0
        ),
        "boosting": lambda: ensemble.VotingRegressor(
            [(str(seed), _boosted(seed)) for seed in range(kind.boosted_models)]
        ),
        "ridge": lambda: linear_model.Ridge(1.0),
    }
    return makers[name]()


def _boosted(seed: int) -> Any:
    from sklearn import ensemble

    return ensemble.GradientBoostingRegressor(n_estimators=100, max_depth=4, subsample=0.7, random_state=seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Member:
    """One learner for one rate, on the columns that carry information."""

    load: int | None
    columns: Ints
    model: Any

    def predict(self, rows: Floats) -> Floats:
        """Logarithms of seconds."""
        said = np.asarray(self.model.predict(rows[:, self.columns]), dtype=np.float64)
        return said if self.load is None else said + rows[:, self.load]


def _member(name: str, data: tuple[Floats, Floats], kind: MemberKind) -> _Member:
    rows, seconds = data
    rate, learner = name.split("/")
    column = RATES[rate]
    load = None if column is None else BASE.index(column)
    target = np.log(seconds) if load is None else np.log(seconds) - rows[:, load]
    columns = informative(rows)
    # Left out after repetitions are gone, for on a system of one target its load is one of these products again.
    columns = np.array([one for one in columns if one not in {BASE.index(name) for name in kind.left_out}])
    return _Member(load, columns, _learner(learner, kind).fit(rows[:, columns], target))


def informative(rows: Floats) -> Ints:
    """The columns that vary and do not repeat an earlier one. Without a description of the system, few are left.

    >>> informative(np.array([[1.0, 5.0, 2.0, 3.0], [2.0, 5.0, 3.0, 5.0]]))
    array([0, 3])
    """
    moved = np.round(rows - rows[0], 9)
    kept: list[int] = []
    for column in range(rows.shape[1]):
        own = moved[:, column]
        if own.any() and not any(np.array_equal(own, moved[:, other]) for other in kept):
            kept.append(column)
    return np.array(kept or [0], dtype=np.int64)


class Stack:
    """Fitted members with their weights, inside and beyond the scales they have seen."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = dict(weights)
        self.mean_: Floats = np.zeros(0)
        self._inside: dict[str, _Member] = {}
        self._beyond: dict[str, _Member] = {}
        self._largest = 0.0

    def fit(self, rows: Floats, seconds: Floats) -> Stack:
        """Learn the weights where none were given, and the members that have one."""
        data = (rows, seconds)
        if not self.weights:
            self.weights = learn_weights(rows, seconds)
        self._inside = {name: _member(name, data, INSIDE) for name in self._own("inside")}
        # Intervals beyond the scales ask the trees of every idea, chosen or not.
        named = {*self._own("beyond"), *(name for name in MEMBERS if name.split("/")[1] in TREES)}
        self._beyond = {name: _member(name, data, BEYOND) for name in MEMBERS if name in named}
        self.mean_ = rows.mean(axis=0)
        self._largest = float(rows[:, 0].max())
        return self

    def _own(self, where: str) -> dict[str, float]:
        """The weights by member, `inside` or `beyond` the scales."""
        begin = f"{where}:"
        return {
            name.removeprefix(begin): weight
            for name, weight in self.weights.items()
            if name.startswith(begin)
        }

    def predict(self, rows: Floats) -> Floats:
        """Seconds."""
        said = np.empty(len(rows))
        beyond = rows[:, 0] > self._largest + 1e-9
        for where, members, asked in (
            ("inside", self._inside, ~beyond),
            ("beyond", self._beyond, beyond),
        ):
            if asked.any():
                own = self._own(where)
                total = sum(weight * members[name].predict(rows[asked]) for name, weight in own.items())
                said[asked] = total / sum(own.values())
        return np.asarray(np.exp(said))

    def by_member(self, rows: Floats) -> Floats:
        """Logarithms of seconds by member, beyond the scales; nan for a member that is neither weighed nor a tree."""
        unknown = np.full(len(rows), np.nan)
        return np.column_stack(
            [self._beyond[name].predict(rows) if name in self._beyond else unknown for name in MEMBERS]
        )

    def disagreement(self, rows: Floats) -> Floats:
        """How far the weighed members lie apart, as a standard deviation of logarithms."""
        inside = [self._inside[name].predict(rows) for name in self._own("inside")]
        beyond = [self._beyond[name].predict(rows) for name in self._own("beyond")]
        return np.asarray(np.stack([*inside, *beyond]).std(axis=0))


def learn_weights(rows: Floats, seconds: Floats) -> dict[str, float]:
    """Weights by name (`inside:` or `beyond:` a member), each set summing to one."""
    return study(rows, seconds).weights


@dataclass(frozen=True, slots=True, eq=False)
class StackStudy:
    """Every member's errors on folds it did not see, inside the scales and beyond them."""

    inside: list[Floats]
    beyond: list[Floats]

    @property
    def weights(self) -> dict[str, float]:
        """The weights that all folds together ask for; inside ones serve where nothing larger was held out."""
        inside = blended(self.inside)
        found = {}
        for where, weights in (
            ("inside", inside),
            ("beyond", one_growth(self.beyond) if self.beyond else inside),
        ):
            named = zip(MEMBERS, weights, strict=True)
            found.update({f"{where}:{name}": float(weight) for name, weight in named if weight > 0})
        return found


def study(rows: Floats, seconds: Floats, seed: int = 0) -> StackStudy:
    """Hold patterns out, and larger scales."""
    inside = member_errors(rows, seconds, grouped_folds(rows[:, :3], seed), INSIDE)
    beyond = member_errors(rows, seconds, extrapolation_folds(rows[:, 0]), BEYOND)
    return StackStudy(inside, beyond)


Weighing = Callable[[Sequence[Floats]], Floats]


def blended(folds: Sequence[Floats]) -> Floats:
    """Weights of all members together, from their errors on each fold."""
    return robust_weights(np.vstack(folds))


def one_growth(folds: Sequence[Floats]) -> Floats:
    """Weights for the trees of one kind of growth: that of the rate that was close most often.

    >>> errors = np.ones((4, len(MEMBERS)))
    >>> errors[:, 9] = 0.0
    >>> MEMBERS[int(one_growth([errors]).argmax())]
    'node/extra'
    """
    judged = judged_ideas(folds)
    weights = np.zeros(len(MEMBERS))
    for one, share in zip(judged, growth_shares([one.rate for one in judged], beliefs(judged)), strict=True):
        weights[one.places] = share * one.weights
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())


def beliefs(judged: Sequence[JudgedIdea]) -> Floats:
    """How much each idea is believed, from what it misses; the sum is one."""
    found = np.exp([-one.missed / TEMPERATURE for one in judged])
    return np.asarray(found / found.sum())


def growth_shares(rates: Sequence[str], belief: Floats) -> Floats:
    """The shares of the ideas in a forecast: those that grow as the most believed one does, by their belief.

    >>> growth_shares(["seconds", "job", "node"], np.array([0.3, 0.1, 0.6])).round(3).tolist()
    [0.333, 0.0, 0.667]
    """
    shared = np.array([rate == SHARED for rate in rates])
    alike = np.where(shared == shared[int(belief.argmax())], belief, 0.0)
    return np.asarray(alike / alike.sum())


@dataclass(frozen=True, slots=True, eq=False)
class JudgedIdea:
    """One rate: its trees' places among the members, their weights, and how much of the folds it misses."""

    rate: str
    places: list[int]
    weights: Floats
    missed: float


def judged_ideas(folds: Sequence[Floats]) -> list[JudgedIdea]:
    """Every rate by its trees' errors on each fold."""
    errors, share = np.vstack(folds), fold_shares(folds)
    found = []
    for rate in RATES:
        places = [MEMBERS.index(f"{rate}/{learner}") for learner in TREES]
        weights = robust_weights(errors[:, places], share, LEANING)
        missed = float(share @ (1 - np.exp(-np.abs(errors[:, places] @ weights) / NEAR)))
        found.append(JudgedIdea(rate, places, weights, missed))
    return found


def fold_shares(folds: Sequence[Floats]) -> Floats:
    """What each row counts; the sum is one."""
    weights = np.arange(1, len(folds) + 1, dtype=np.float64) ** FOLD_POWER
    parts = zip(folds, weights / weights.sum(), strict=True)
    return np.concatenate([np.full(len(part), weight / len(part)) for part, weight in parts])


def crossed(errors: Sequence[Floats], weigh: Weighing = blended) -> list[Floats]:
    """The stack's errors on each fold with weights that the other folds ask for; one fold alone has equal ones."""
    found = []
    for number, part in enumerate(errors):
        others = [other for place, other in enumerate(errors) if place != number]
        weights = weigh(others) if others else np.full(len(MEMBERS), 1 / len(MEMBERS))
        found.append(np.asarray(part @ weights))
    return found


def member_errors(rows: Floats, seconds: Floats, folds: Sequence[Fold], kind: MemberKind) -> list[Floats]:
    """For each fold, its test rows' errors by member."""
    found = []
    for fold in folds:
        data = (rows[fold.train], seconds[fold.train])
        members = [_member(name, data, kind) for name in MEMBERS]
        truth = np.log(seconds[fold.test])
        found.append(np.column_stack([member.predict(rows[fold.test]) - truth for member in members]))
    return found


def robust_weights(errors: Floats, share: Floats | None = None, leaning: float = 0.0) -> Floats:
    """Non-negative weights that sum to one and minimise the mean absolute error of the sum.

    `share` is the weight of each row (equal without it). `leaning` pulls the weights towards equal ones.
    """
    from scipy.optimize import nnls

    rows, count = errors.shape
    share = np.full(rows, 1 / rows) if share is None else share
    weights: Floats = np.full(count, 1 / count)
    # A heavy extra equation makes the weights sum to one; reweighting turns squares into absolute values.
    heavy = 1e3
    drawn = np.eye(count) * np.sqrt(leaning)
    wanted = np.concatenate([np.zeros(rows), [heavy], drawn.sum(axis=1) / count])
    for _ in range(ROUNDS):
        scale = np.sqrt(share / np.maximum(np.abs(errors @ weights), NOISE))
        system = np.vstack([errors * scale[:, None], np.full((1, count), heavy), drawn])
        weights = np.asarray(nnls(system, wanted)[0])
        weights /= weights.sum()
    weights[weights < LEAST_WEIGHT] = 0.0
    return np.asarray(weights / weights.sum())
