"""Who runs, for how long and how often; the options of an experiment, and the command line that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.errors import UsageError, did_you_mean
from penstock.evaluate.drivers import Course
from penstock.evaluate.experiments import EXPERIMENTS
from penstock.evaluate.rows import Head
from penstock.evaluate.trial import WARMUP_S, Trial
from penstock.knobs import Setting
from penstock.simulate.assembly import Plan
from penstock.simulate.cluster import Cluster

BEST_STATIC = "best-static"
OWN, SHIPPED = "own", "shipped"


@dataclass(frozen=True, slots=True)
class Terms:
    """Who runs, for how long, and on which seeds: `seed`, `seed` + 1 and so on, `seeds` of them.

    The first policy is evaluated, the others are compared with it. `seconds` is the measured time of a run or of a
    phase. `guard` switches the agent's guard on or off; None is each policy's own choice. `model` is a file.
    """

    policies: tuple[str, ...]
    seconds: float = 120.0
    seed: int = 0
    seeds: int = 1
    guard: bool | None = None
    model: str | None = None

    @property
    def policy(self) -> str:
        return self.policies[0]

    @property
    def all_seeds(self) -> range:
        """The seeds to measure on. The best static setting is chosen on other seeds."""
        return range(self.seed, self.seed + self.seeds)

    def course(self, policy: str | None, setting: Setting | None = None) -> Course:
        """A policy that starts at the default after the warm-up; for None or `default` a setting that is held
        throughout, the system's own where none is given.
        """
        if policy in (None, "default"):
            return Course(self.seconds, WARMUP_S, setting)
        return Course(self.seconds, WARMUP_S, policy=policy, guard=self.guard, model=self.model)


@dataclass(frozen=True, slots=True)
class Request(Terms):
    """One experiment on one cluster.

    `only` restricts the rows. `cluster_words` are the command-line options that describe the cluster. `model` may be
    `own`; then the field `own` has the file of every policy that uses a model.
    """

    cluster: Cluster = field(kw_only=True)
    only: tuple[str, ...] = ()
    cluster_words: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)

    def pick(self, names: Sequence[str]) -> tuple[str, ...]:
        """The rows asked for, all where none are named."""
        for name in self.only:
            if name not in names:
                raise UsageError(f"--only {name}: not one of {', '.join(names)}{did_you_mean(name, names)}")
        return tuple(name for name in names if not self.only or name in self.only)

    def trial(self, plan: Plan, policy: str, best: Setting | None = None) -> Trial:
        """A run under a policy that starts at the default after the warm-up.

        The best static setting is held throughout.
        """
        if policy == BEST_STATIC:
            return self.held(plan, best)
        course = self.course(policy)
        return Trial(plan, replace(course, model=self.own.get(policy)) if course.model == OWN else course)

    def held(self, plan: Plan, setting: Setting | None) -> Trial:
        """A run at one setting; None is the system's own."""
        return Trial(plan, self.course(None, setting))

    def command(self, experiment: str, only: str | None = None, policies: Iterable[str] | None = None) -> str:
        """The command that repeats this, or one row of it."""
        words = [
            "penstock",
            "evaluate",
            experiment,
            *(self.cluster_words or ("--cluster", self.cluster.name)),
        ]
        for policy in policies if policies is not None else self.policies:
            words += ["--policy", policy]
        words += ["--seconds", f"{self.seconds:g}", "--seed", str(self.seed)]
        words += ["--seeds", str(self.seeds)] if self.seeds > 1 else []
        words += ["--guard", "on" if self.guard else "off"] if self.guard is not None else []
        words += ["--model", self.model] if self.model is not None else []
        option = "--list" if EXPERIMENTS[experiment].lists else "--only"
        for row in self.only if only is None else (only,):
            words += [option, row]
        return shlex.join(words)

    def about(self, experiment: str) -> Head:
        """The head of a document."""
        return {
            "set": experiment,
            "cluster": self.cluster.name,
            "policy": self.policy,
            "seconds": self.seconds,
            "seed": self.seed,
            "seeds": self.seeds,
            "only": list(self.only),
            "command": self.command(experiment),
        }

    def lasting(self, seconds: float) -> Request:
        """The same with other times."""
        return replace(self, seconds=seconds)
