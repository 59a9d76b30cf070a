"""Ours: measure what flows here, ask what it might be elsewhere, and remember.

A weir is built into a stream to measure it and, by the same means, to regulate it. The policy holds a belief
about every setting (see `penstock.decide.belief`): a survey's forecast of expected gains, corrected by what this
target itself was measured to bring. It tries the setting that promises the largest expected improvement,
measures it for a few windows, gives up early on what is clearly worse, and rests at the best one when no other
promises enough. What was learned about one kind of work is kept for when that work returns.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from random import Random

import numpy as np

from penstock.decide.belief import Belief, Forecast, Measured, believe, grid_of, unsteadiness
from penstock.decide.guard.record import useful_bytes_per_s
from penstock.decide.policies._base import RPC_KNOBS, Policy, Proposal
from penstock.decide.work import Work, drains, echo_windows, work_of
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window

KEPT_EPISODES = 8
# A target may rest at one setting for weeks.
KEPT_RATES = 240


@dataclass(slots=True, eq=False)
class Episode:
    """One kind of work and everything learned about it."""

    work: Work
    forecast: Forecast = field(default_factory=Forecast)
    measured: dict[Setting, Measured] = field(default_factory=dict)
    refused: dict[Setting, int] = field(default_factory=dict)
    trials: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Prospect:
    """What is believed, the best setting measured and what it brings; what to try and what it is hoped to add."""

    belief: Belief
    home: int | None
    over: float
    best: int
    hope: float

    @property
    def gain(self) -> float:
        """What the setting to try is expected to bring over the best one measured."""
        return float(self.belief.mean[self.best]) - self.over


class WeirPolicy(Policy):
    """A state machine over windows: measure here, try the most promising, keep the best, notice change."""

    name = "weir"
    uses_model = True
    model_kind = "survey"
    guarded = True
    in_crews = True

    first_windows = 6
    least_windows = 3
    most_windows = 12
    noise_aim = 0.06
    rest_windows = 40
    worth_log2 = 0.02
    worth_more_log2 = 0.012
    hopeless = 0.7
    fair_log2 = 0.1
    sure_read = 0.65
    sure_write = 1.0
    return_log2 = 0.03
    drift_log2 = 0.3
    drift_windows = 6
    patience = 8
    doubt = 4.0
    gap_s = 1.0

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self._now = 0
        self._episode: Episode | None = None
        self._past: list[Episode] = []
        self._place: Setting | None = None
        self._wish: Setting | None = None
        self._rates: deque[float] = deque(maxlen=KEPT_RATES)
        self._latest: deque[float] = deque(maxlen=self.drift_windows)
        self._skip = 1
        self._resting = 0
        self._odd = 0
        self._refusals = 0
        self._denied = 0
        self._seen_s = -math.inf
        self._doubtful = False
        self._measuring = ""

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Take in a window; now and then, decide where to go next."""
        self._now += 1
        if window.t0_s - self._seen_s > self.gap_s:
            self._resume()
        self._seen_s = window.t1_s
        rate = useful_bytes_per_s(window)
        if outlook is None or not outlook.gains:
            return _wait(window, "no-forecast", "there is no forecast to compare with")
        place = self._at(window.setting)
        if drains(window):
            return _wait(window, "draining", "what was written before is still on its way")
        episode = self._find_episode(window, place, rate)
        if place != self._place:
            self._arrive(place, episode.work, echo_windows(window))
        if self._skip > 0:
            self._skip -= 1
            return _wait(window, "settling", "the first interval at a setting is not judged")
        self._learn(episode, place, rate, outlook)
        found = self._due(episode, place)
        if found is None:
            return _wait(window, "measuring", self._measuring)
        return self._choose(window, episode, found)

    def _resume(self) -> None:
        """After a pause the first interval is not judged, and the work may be another."""
        self._skip, self._odd, self._doubtful = 1, 0, True
        self._rates.clear()
        self._latest.clear()

    def _at(self, setting: Setting) -> Setting:
        """The place of a setting; where it is still the same one, the very same object, whose hash is known."""
        place = setting.only(*RPC_KNOBS)
        return self._place if self._place is not None and place == self._place else place

    def _arrive(self, place: Setting, work: Work, echo: int) -> None:
        # What is dirty was queued under the setting before: writes take longer to show a change.
        self._place, self._skip = place, (1 if work.kind == "read" else 2) + echo
        self._rates.clear()
        self._latest.clear()
        self._measuring = f"measuring {place}"
        self._resting, self._odd, self._refusals, self._denied = 0, 0, 0, 0

    def _learn(self, episode: Episode, place: Setting, rate: float, outlook: Outlook) -> None:
        self._rates.append(rate)
        known = episode.measured.get(place)
        if known is None:
            known = episode.measured[place] = Measured()
        known.take(rate, self._now)
        rates = known.rate_log2 + np.asarray(outlook.gains)
        episode.forecast.take(place, outlook.candidates, rates, np.asarray(outlook.spreads))

    def _due(self, episode: Episode, place: Setting) -> Prospect | None:
        """What to decide on, once this setting was measured long enough."""
        if self._resting > 0:
            self._resting -= 1
            # Rested, one more trial is as cheap as an earlier one was.
            episode.trials -= self._resting == 0 and episode.trials > 1
            return self._prospect(episode, place) if self._resting == 0 else None
        enough = self._windows_needed(episode)
        if len(self._rates) >= (enough if episode.trials else min(enough, self.first_windows)):
            return self._prospect(episode, place)
        found = self._prospect(episode, place) if not episode.trials else None
        if found is not None and self._beyond_doubt(episode, found):
            return found
        if 3 * len(self._rates) < enough or not self._falls_behind(episode, place):
            return None
        return found or self._prospect(episode, place)

    def _beyond_doubt(self, episode: Episode, found: Prospect) -> bool:
        """Whether something promises so much that it matters little what exactly this setting brings."""
        noise = unsteadiness(episode.measured) / math.sqrt(len(self._rates))
        return found.hope > 0 and found.gain > self.doubt * noise

    def _falls_behind(self, episode: Episode, place: Setting) -> bool:
        """Whether this setting clearly brings less than another one did."""
        best = _best_measured(episode, without=place)
        return best > 0 and float(np.mean(self._rates)) < self.hopeless * best

    def _windows_needed(self, episode: Episode) -> int:
        """The unsteadier the work, the longer a setting is measured."""
        noise = unsteadiness(episode.measured)
        return min(max(round((noise / self.noise_aim) ** 2), self.least_windows), self.most_windows)

    def _choose(self, window: Window, episode: Episode, found: Prospect) -> Proposal:
        """The most promising setting, or the best one measured."""
        if found.hope > self.worth_log2 + self.worth_more_log2 * episode.trials:
            return self._try(window, episode, found)
        return self._settle(window, episode, found)

    def _prospect(self, episode: Episode, place: Setting) -> Prospect:
        """What is known and what to try.

        A trial disturbs, so a hunch is not enough. More in flight also takes from whoever shares the servers: readers
        try it for a clear gain only; writers, whose servers never wait for requests, not beyond the default.
        """
        belief = believe(episode.forecast, episode.measured, self._now)
        grid = grid_of(belief.candidates)
        known = sorted(grid.places[setting] for setting in episode.measured if setting in grid.places)
        home = max(known, key=lambda i: float(belief.mean[i])) if known else None
        over = float(belief.mean[home]) if home is not None else -math.inf
        reads, here = episode.work.kind == "read", _window(place)
        most = math.inf if reads else max(_window(self.space.default), here)
        sure = self.sure_read if reads else self.sure_write
        least = np.where(grid.window_pages > here, self.fair_log2, self.worth_log2)
        hopeless = belief.mean - over < np.maximum(least, sure * belief.deviation)
        hopeless |= grid.window_pages > most
        hopeless[known] = True
        for setting, until in episode.refused.items():
            if until > self._now and setting in grid.places:
                hopeless[grid.places[setting]] = True
        if hopeless.all():
            return Prospect(belief, home, over, 0, 0.0)
        hopes = np.where(hopeless, 0.0, belief.improvement(over))
        best = int(np.argmax(hopes))
        return Prospect(belief, home, over, best, float(hopes[best]))

    def _try(self, window: Window, episode: Episode, found: Prospect) -> Proposal:
        wish = found.belief.candidates[found.best]
        if not self._may_ask(episode, wish):
            return _stay(window, "refused", f"{wish} was refused too often")
        chance = found.belief.chance(found.best, found.over)
        sentence = f"{wish} promises {2**found.gain:.2f} times the best measured so far (chance {chance:.2f})"
        evidence = {
            "gain_log2": found.gain,
            "deviation_log2": float(found.belief.deviation[found.best]),
            "best_log2": found.over,
            "trials": episode.trials,
        }
        return Proposal(window.setting.replace(wish), "promising", sentence, evidence, chance)

    def _settle(self, window: Window, episode: Episode, found: Prospect) -> Proposal:
        if found.home is None or self._good_enough(found.belief, found.home):
            self._resting = self.rest_windows
            return _stay(window, "resting", f"nothing promises enough over {self._place}")
        wish = found.belief.candidates[found.home]
        if not self._may_ask(episode, wish):
            return _stay(window, "refused", f"{wish} was refused too often")
        sentence = f"{wish} brought the most of what was measured here"
        evidence = {"best_log2": found.over, "bytes_per_s": float(np.mean(self._rates or [0.0]))}
        return Proposal(window.setting.replace(wish), "best-measured", sentence, evidence, 1.0)

    def _good_enough(self, belief: Belief, home: int) -> bool:
        """Whether the setting in force is as good as the best one, as far as anybody can tell."""
        if self._place not in belief.candidates:
            return False
        here = float(belief.mean[belief.candidates.index(self._place)])
        return float(belief.mean[home]) - here < self.return_log2

    def _may_ask(self, episode: Episode, wish: Setting) -> bool:
        """Count a wish; one that is never granted is left alone for a while."""
        if wish != self._wish:
            self._wish, self._refusals = wish, 0
            episode.trials += wish not in episode.measured
        self._refusals += 1
        if self._refusals <= self.patience:
            return True
        episode.refused[wish] = self._now + 120
        # Where nothing is granted (an open circuit breaker), asking becomes rarer and rarer.
        self._denied += 1
        self._refusals, self._resting = 0, self.least_windows << min(self._denied, 5)
        return False

    def _find_episode(self, window: Window, place: Setting, rate: float) -> Episode:
        """The work at hand: what it was, unless a few windows in a row say otherwise."""
        work = work_of(window)
        episode = self._episode
        if episode is None:
            return self._begin(work)
        fits = episode.work.like(work)
        if not fits and self._odd == 0:
            self._latest.clear()
        self._latest.append(rate)
        if self._doubtful and self._skip == 0:
            self._doubtful = False
            return episode if fits and self._explains(episode, place) else self._recall(work, place)
        if fits and not self._drifted(episode, place):
            self._odd = 0
            return episode
        self._odd += 1
        return episode if self._odd < 2 else self._recall(work, place)

    def _drifted(self, episode: Episode, place: Setting) -> bool:
        """Whether the last windows here are clearly not what this setting brought before."""
        known = episode.measured.get(place)
        if known is None or known.count < 2 * self.drift_windows or len(self._latest) < self.drift_windows:
            return False
        apart = abs(math.log2(max(sum(self._latest) / len(self._latest), 1.0)) - known.rate_log2)
        if apart <= self.drift_log2:
            return False
        return apart > 3.0 * unsteadiness(episode.measured) / math.sqrt(self.drift_windows)

    def _explains(self, episode: Episode, place: Setting) -> bool:
        """Whether what a setting brings now is no surprise after what an episode taught."""
        belief = believe(episode.forecast, episode.measured, self._now)
        if place not in belief.candidates:
            return True
        at = belief.candidates.index(place)
        apart = abs(math.log2(max(float(np.mean(self._latest)), 1.0)) - float(belief.mean[at]))
        return apart < max(self.drift_log2, 2.0 * unsteadiness(episode.measured))

    def _recall(self, work: Work, place: Setting) -> Episode:
        """An earlier episode that looks like this one, or a new one."""
        for episode in reversed(self._past):
            other = episode is not self._episode
            if other and episode.work.like(work) and self._explains(episode, place):
                self._past.remove(episode)
                self._past.append(episode)
                return self._enter(episode)
        return self._begin(work)

    def _begin(self, work: Work) -> Episode:
        episode = Episode(work)
        self._past = [*self._past[1 - KEPT_EPISODES :], episode]
        return self._enter(episode)

    def _enter(self, episode: Episode) -> Episode:
        self._episode, self._odd, self._resting = episode, 0, 0
        self._rates.clear()
        self._wish = None
        return episode


def _window(setting: Setting) -> int:
    """The pages a setting allows in flight."""
    return setting["pages"] * setting["flight"]


def _best_measured(episode: Episode, without: Setting) -> float:
    return max((m.mean for s, m in episode.measured.items() if s != without and m.count >= 2), default=0.0)


def _stay(window: Window, reason: str, sentence: str) -> Proposal:
    return Proposal(window.setting, reason, sentence)


def _wait(window: Window, reason: str, sentence: str) -> Proposal:
    return Proposal(window.setting, reason, sentence, decided=False)


POLICY = WeirPolicy
