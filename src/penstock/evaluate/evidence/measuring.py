"""Measures rows: takes known ones from the file, simulates the others, and stores each as soon as it is done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from penstock.decide.policies import policy_class
from penstock.evaluate import budgets
from penstock.evaluate.drivers import Course
from penstock.evaluate.evidence import cases, digest, replays
from penstock.evaluate.evidence.asks import BEST, DEFAULT, HELD, Ask, Found, RowFile
from penstock.evaluate.lab import Lab
from penstock.evaluate.ownmodels import OwnWorld, own_models
from penstock.evaluate.request import OWN
from penstock.evaluate.search import CHOICE_SEED, Race, race
from penstock.evaluate.trial import Measured, Trial
from penstock.knobs import Setting
from penstock.predict import shipped
from penstock.simulate.cluster import find_cluster

#: Held settings that a search must find first. `own:WORK` is the best static setting of one workload.
CHOSEN = (BEST, "best-single", "best-split")
CHOICE = "choice"
#: The cluster that describes the machines the traces were recorded on.
TRACED = "c220g5"
_SHIPPED = {"forest": shipped.MODEL, "survey": shipped.SURVEY, "printed": shipped.PRINTED}

Say = Callable[[str], None]


class Evidence:
    """Provides rows. A row is used only if its digest (`made_by`) matches the present code."""

    def __init__(self, lab: Lab, rows: RowFile, models: Path, say: Say, traces: Path | None = None) -> None:
        self._lab, self._rows, self._models = lab, rows, models
        self._say, self._traces = say, traces

    def measure(self, asks: Sequence[Ask]) -> dict[Ask, Found]:
        """Every row asked for."""
        open_ = [ask for ask in dict.fromkeys(asks) if self._rows.find(ask, made_by(ask)) is None]
        if open_:
            self._say(f"{len(asks) - len(open_)} of {len(asks)} rows are known")
            self._replay([ask for ask in open_ if ask.experiment == replays.EXPERIMENT])
            trials = self.trials([ask for ask in open_ if ask.experiment != replays.EXPERIMENT])
            wanted: dict[str, list[Ask]] = {}
            for ask, trial in trials.items():
                wanted.setdefault(trial.key, []).append(ask)
            for trial, measured in self._lab.as_done("rows", list(trials.values())):
                for ask in wanted.pop(trial.key, ()):
                    self._rows.keep(ask, made_by(ask), reduced(ask, trial.course, measured))
        return {ask: self._known(ask) for ask in asks}

    def _known(self, ask: Ask) -> Found:
        found = self._rows.find(ask, made_by(ask))
        assert found is not None
        return found

    def _replay(self, asks: Sequence[Ask]) -> None:
        models = self._own([replace(ask, cluster=TRACED) for ask in asks if ask.model == OWN])
        for ask in asks:
            assert self._traces is not None, "replay needs the traces"
            model = models[TRACED, ask.label] if ask.model == OWN else None
            found = replays.replayed(ask, self._traces, model)
            self._rows.keep(ask, made_by(ask), found)

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
        unique = list(dict.fromkeys(asks))
        missing = [ask for ask in unique if self._rows.find(ask, made_by(ask)) is None]
        for ask in missing:
            case = cases.case_of(ask)
            if ask.experiment == "budgets":
                plan = replace(case.plan(0), seed=CHOICE_SEED)
                self._keep_choice(ask, budgets.search(self._lab, plan, case.course(), cases.budget_mib(ask)))
            else:
                found = race(self._lab, {"": Race([case.plan(0)], case.rounds)}, case.seconds)[""].setting
                self._keep_choice(ask, (found["pages"], found["flight"]))
        return {ask: self._known(ask).setting or () for ask in unique}

    def _keep_choice(self, ask: Ask, setting: tuple[int, ...]) -> None:
        self._say(f"{ask.experiment} {ask.cluster} {ask.case}: the best is {setting[:2]}")
        self._rows.keep(ask, made_by(ask), Found(0.0, 0.0, 0.0, 0.0, setting=setting))

    def _own(self, asks: Sequence[Ask]) -> dict[tuple[str, str], str]:
        found: dict[tuple[str, str], str] = {}
        for cluster in dict.fromkeys(ask.cluster for ask in asks):
            policies = list(dict.fromkeys(ask.label for ask in asks if ask.cluster == cluster))
            world = OwnWorld(find_cluster(cluster))
            made = own_models(world, policies, self._models, self._lab.workers, self._say)
            found |= {(cluster, policy): path for policy, path in made.items()}
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


def made_by(ask: Ask) -> str:
    """The digest for a row: the simulated world, and the sources and the model of what tunes it."""
    if ask.experiment == replays.EXPERIMENT:
        if ask.label in replays.RECORDED:
            return ask.cluster
        without = () if ask.guard == "on" else (digest.GUARD,)
        program = digest.mark(("penstock.evaluate.replay",), without)
        return f"{program}-{_decided_by(replace(ask, cluster=TRACED))}"
    world = _world_mark(replace(ask, label="", model="", guard=""))
    if ask.label == CHOICE or is_chosen(ask):
        return f"{world}-{_searched_by(choice_of(ask))}"
    return world if is_held(ask.label) else f"{world}-{_decided_by(ask)}"


@cache
def _world_mark(place: Ask) -> str:
    return digest.world_mark(cases.case_of(place).plan(place.seed), place.seconds)


@cache
def _searched_by(choice: Ask) -> str:
    """The digest of a search for a held setting: the world it is made in, the program, and the case's rounds."""
    modules = (
        "penstock.evaluate.search",
        *(("penstock.evaluate.budgets",) if choice.experiment == "budgets" else ()),
    )
    rounds = repr(cases.case_of(choice).rounds)
    about = [_world_mark(replace(choice, label="")), digest.mark(modules), rounds]
    return hashlib.sha256("/".join(about).encode()).hexdigest()[:16]


def _decided_by(ask: Ask) -> str:
    """The digest of a policy and its model."""
    policy = policy_class(ask.label)
    program = digest.policy_mark(policy.__module__, ask.guard == "on")
    if not policy.uses_model:
        return program
    kind = policy.model_kind
    return f"{program}-{_own_mark(ask.cluster, kind) if ask.model == OWN else _shipped_mark(kind)}"


@cache
def _own_mark(cluster: str, kind: str) -> str:
    return OwnWorld(find_cluster(cluster)).digest(kind)


@cache
def _shipped_mark(kind: str) -> str:
    return hashlib.sha256(files("penstock.predict").joinpath(_SHIPPED[kind]).read_bytes()).hexdigest()[:16]


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
    app = budgets.settled(run, course.seconds) if ask.experiment == "budgets" else run.app_mbps
    last = run.path[-1].setting if run.path else None
    setting = (last["pages"], last["flight"]) if last is not None else None
    held = course.limits_mib if course.policy is None else None
    return Found(app, sum(run.wire), read, write, phases, held or setting)
