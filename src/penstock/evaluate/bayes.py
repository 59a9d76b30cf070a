"""Online Bayesian search: optuna proposes a setting, it is held for a few windows, and the best one is kept.

This is what a site could do with an off-the-shelf optimiser. It is for experiments only, because an agent would need
optuna.
"""

from __future__ import annotations

import statistics
from random import Random
from typing import Any

from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.errors import require_extra
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


class BayesPolicy(Policy):
    """A tree-structured Parzen estimator over the RPC knobs. It starts again when throughput has clearly changed."""

    name = "bayes"
    windows_per_trial = 3
    trials = 30
    drift_ratio = 1.5

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._study: Any = _study(rng)
        self._trial: Any = None
        self._rates: list[float] = []
        self._done: list[tuple[float, Setting]] = []
        self._skip = 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Measure the setting in force. After some windows report it to the study and ask for the next setting."""
        if window.moved_per_s <= 0 or self._skip > 0:
            self._skip = max(0, self._skip - 1)
            return Proposal(window.setting, Reason.SETTLING, "the interval of a change is not judged")
        self._rates.append(_rate(window))
        if len(self._rates) < self.windows_per_trial:
            return Proposal(window.setting, Reason.MEASURING, "measuring the setting in force")
        rate, self._rates = statistics.fmean(self._rates), []
        if len(self._done) >= self.trials:
            return self._hold(window, rate)
        self._learn(window, rate)
        if len(self._done) >= self.trials:
            best = max(self._done, key=lambda pair: pair[0])[1]
            return self._go(window, best, Reason.BEST, f"{self.trials} settings tried; {best} was best")
        return self._ask(window)

    def _learn(self, window: Window, rate: float) -> None:
        self._done.append((rate, window.setting.only(*self.space.searched)))
        if self._trial is not None:
            self._study.tell(self._trial, rate)

    def _ask(self, window: Window) -> Proposal:
        trial: Any = self._study.ask()
        self._trial = trial
        chosen = {
            k: self.space[k].values[trial.suggest_int(k, 0, len(self.space[k].values) - 1)]
            for k in self.space.searched
        }
        return self._go(window, Setting(chosen), Reason.TRY, f"trying {Setting(chosen)}")

    def _hold(self, window: Window, rate: float) -> Proposal:
        best = max(pair[0] for pair in self._done)
        if max(rate, best) > self.drift_ratio * min(rate, best):
            self._study, self._trial, self._done = _study(self.rng), None, []
            return Proposal(
                window.setting, "drift", "throughput has left the range of the search: searching anew"
            )
        return Proposal(window.setting, Reason.HOLDING, "holding the best found")

    def _go(self, window: Window, setting: Setting, reason: str, sentence: str) -> Proposal:
        self._skip = 1
        return Proposal(window.setting.replace(setting), reason, sentence)


def _rate(window: Window) -> float:
    """The application's throughput, if the client shows it."""
    moved = window.rate("app.read_bytes") + window.rate("app.write_bytes")
    return moved if moved > 0 else window.moved_per_s


def _study(rng: Random) -> Any:
    try:
        import optuna
    except ImportError as error:
        raise require_extra("train", error) from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=rng.randrange(2**31))
    return optuna.create_study(direction="maximize", sampler=sampler)
