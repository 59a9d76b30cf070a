"""Measures rows. Runs that were made with the same behaviour are taken from the user's cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import cases, replays
from benchmarks.evidence.asks import BEST, DEFAULT, HELD, Ask, Found, policy_of

from penstock.evaluate import budgets
from penstock.evaluate.drivers import Course
from penstock.evaluate.lab import Lab
from penstock.evaluate.ownmodels import RUN_S, OwnWorld, own_models
from penstock.evaluate.request import OWN
from penstock.evaluate.search import CHOICE_SEED, Race, race
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.simulate.cluster import find_cluster

#: Held settings that a search must find first. `own:WORK` is the best static setting of one workload.
CHOSEN = (BEST, "best-split")
CHOICE = "choice"
#: The cluster that describes the machines the traces were recorded on.
TRACED = "c220g5"

Say = Callable[[str], None]


class Evidence:
    """Provides rows. `traces` are the recordings that replay needs, `train_s` the length of the runs that models of
    the cluster are trained on.
    """

    def __init__(
        self, lab: Lab, models: Path, say: Say, traces: Path | None = None, train_s: float = RUN_S
    ) -> None:
        self._lab, self._models, self._train_s = lab, models, train_s
        self._say, self._traces = say, traces

    def measure(self, asks: Sequence[Ask]) -> dict[Ask, Found]:
        """Every row asked for."""
        found = self._replayed([ask for ask in dict.fromkeys(asks) if ask.experiment == replays.EXPERIMENT])
        trials = self.trials([ask for ask in dict.fromkeys(asks) if ask not in found])
        for ask, run in self._lab.answer("rows", trials).items():
            found[ask] = reduced(ask, trials[ask].course, run)
        return {ask: found[ask] for ask in asks}

    def _replayed(self, asks: Sequence[Ask]) -> dict[Ask, Found]:
        models = self._own([replace(ask, cluster=TRACED) for ask in asks if ask.model == OWN])
        found = {}
        for ask in asks:
            assert self._traces is not None, "replay needs the traces"
            model = models[TRACED, ask.label] if ask.model == OWN else None
            found[ask] = replays.replayed(ask, self._traces, model)
        return found

    def trials(self, asks: Sequence[Ask]) -> dict[Ask, Trial]:
        """What is simulated for each row: settings that must be searched for, and models, are made first."""
        choices = self._choices([choice_of(ask) for ask in asks if is_chosen(ask)])
        models = self._own([ask for ask in asks if ask.model == OWN])
        trials = {}
        for ask in asks:
            case = cases.case_of(ask)
            if is_held(ask.label):
                course = _held(ask, case.course(), choices)
            else:
                model = models[ask.cluster, ask.label] if ask.model == OWN else None
                course = cases.policy_course(ask, model)
            trials[ask] = Trial(case.plan(ask.seed), course)
        return trials

    def _choices(self, asks: Sequence[Ask]) -> dict[Ask, tuple[int, ...]]:
        """The settings that searches find. Each search is made once, on a seed of its own."""
        return {ask: self._choice(ask) for ask in dict.fromkeys(asks)}

    def _choice(self, ask: Ask) -> tuple[int, ...]:
        case = cases.case_of(ask)
        if ask.experiment == "budgets":
            plan = replace(case.plan(0), seed=CHOICE_SEED)
            return budgets.search(self._lab, plan, case.course(), cases.budget_mib(ask))
        found = race(self._lab, {"": Race([case.plan(0)], case.rounds)}, case.seconds)[""].setting
        self._say(f"{ask.experiment} {ask.cluster} {ask.case}: the best is {found}")
        return found["pages"], found["flight"]

    def _own(self, asks: Sequence[Ask]) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for cluster in dict.fromkeys(ask.cluster for ask in asks):
            labels = {policy_of(ask.label): ask.label for ask in asks if ask.cluster == cluster}
            world = OwnWorld(find_cluster(cluster), seconds=self._train_s)
            made = own_models(world, list(labels), self._models, self._lab.workers, self._say)
            found |= {(cluster, labels[policy]): path for policy, path in made.items()}
        return found


def is_held(label: str) -> bool:
    """Whether a row holds a setting throughout."""
    return label in (*HELD, "equal", "best-split") or label.startswith("own:")


def is_chosen(ask: Ask) -> bool:
    """Whether the setting of a row comes from a search. The best of recorded settings is known."""
    searched = ask.label in CHOSEN or ask.label.startswith("own:")
    return searched and ask.experiment != replays.EXPERIMENT


def choice_of(ask: Ask) -> Ask:
    """The search that a row needs, one for all seeds."""
    if ask.label.startswith("own:"):
        return Ask("static", ask.cluster, ask.label.removeprefix("own:"), CHOICE, min(ask.seconds, 60.0), 0)
    return Ask(ask.experiment, ask.cluster, ask.case, CHOICE, ask.seconds, 0)


def _held(ask: Ask, course: Course, choices: Mapping[Ask, tuple[int, ...]]) -> Course:
    if ask.label == DEFAULT:
        return course
    if ask.label == "equal":
        return replace(course, limits_mib=budgets.equal_shares(cases.budget_mib(ask)))
    chosen = choices[choice_of(ask)]
    if ask.label == "best-split":
        return replace(course, limits_mib=chosen)
    return replace(course, setting=Setting(pages=chosen[0], flight=chosen[1]))


def reduced(ask: Ask, course: Course, run: Measured) -> Found:
    """The figures kept of a run, with the last setting of the first client's target.

    For budgets the first third is left out; see `budgets`.
    """
    count = cases.case_of(ask).phases
    each_s = course.seconds / count
    phases = tuple(run.mean(i * each_s, (i + 1) * each_s) for i in range(count)) if count > 1 else ()
    read, write = (sum(client[way] for client in run.clients) for way in (0, 1))
    app = budgets.settled(run, course.seconds) if ask.experiment == "budgets" else run.work_mbps
    last = run.path[-1].setting if run.path else None
    setting = (last["pages"], last["flight"]) if last is not None else None
    held = course.limits_mib if course.policy is None else None
    return Found(app, sum(run.wire), read, write, phases, held or setting)
