"""Hill climbing on measured throughput, without a model or training.

The policy measures the setting in force for a few windows. Then it tries the neighbouring settings one by one and
moves to the first that is clearly better. From there it continues, with a longer step in the same direction first.
When no neighbour is better it rests. It starts again when throughput has clearly changed, or after `rest_windows`.
"""

from __future__ import annotations

import statistics
from random import Random

from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.work import unfelt_windows
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.knobs import KnobSpace, Setting
from penstock.window import Window


class ClimbPolicy(Policy):
    """A hill climber with four states: measuring the present setting, trying a neighbour, judging it, resting."""

    name = "climb"

    windows_per_trial = 3
    #: Knobs whose effect shows late are also tried this many values higher at once.
    late_stride = 3
    gain_ratio = 1.05
    drift_ratio = 1.2
    rest_windows = 120

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self.knob_ids = space.searched
        self._here: Setting | None = None
        self._here_rate = 0.0
        self._trial: Setting | None = None
        self._untried: list[Setting] = []
        self._rates: list[float] = []
        self._skip = 0
        self._resting = 0

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        place = window.setting.only(*self.knob_ids)
        if self._trial is not None and place == self._here:
            # The guard refused or reverted the trial, so this neighbour is done.
            self._rates = []
            return self._try_next(window)
        if place != (self._trial or self._here):
            return self._start_over(window, place)
        if window.moved_per_s <= 0:
            return self._stay(window, Reason.IDLE, "nothing was transferred, so there is nothing to learn")
        if self._skip > 0:
            self._skip -= 1
            return self._stay(window, Reason.SETTLING, "the interval of the change itself is not judged")
        self._rates.append(window.moved_per_s)
        if len(self._rates) < self.windows_per_trial:
            return self._stay(window, Reason.MEASURING, f"measuring {place}")
        return self._conclude(window)

    def _conclude(self, window: Window) -> Proposal:
        rate, self._rates = statistics.median(self._rates), []
        if self._trial is not None:
            return self._judge(window, rate)
        return self._at_rest(window, rate) if self._resting else self._look_around(window, rate)

    def resumed(self) -> None:
        """Discard windows from before the pause."""
        self._rates, self._skip = [], 1

    def _start_over(self, window: Window, place: Setting) -> Proposal:
        self._here, self._trial = place, None
        self._rates, self._skip, self._resting = [], 1, 0
        return self._stay(window, Reason.MEASURING, f"measuring {place} before anything is tried")

    def _look_around(self, window: Window, rate: float) -> Proposal:
        assert self._here is not None
        self._here_rate = rate
        self._untried = [*self._leaps(self._here), *self.space.neighbours(self._here, *self.knob_ids)]
        return self._try_next(window)

    def _try_next(self, window: Window) -> Proposal:
        assert self._here is not None
        if not self._untried:
            self._trial, self._resting, self._skip = None, self.rest_windows, 1
            return self._go(window, self._here, Reason.TOP, f"no neighbour of {self._here} is better")
        self._trial = self._untried.pop(0)
        self._skip = self._windows_until_felt(self._trial, window.seconds)
        return self._go(window, self._trial, Reason.TRY, f"trying {self._trial}, next to {self._here}")

    def _windows_until_felt(self, trial: Setting, window_s: float) -> int:
        """The number of windows to skip after a change: one, or more if it acts on newly opened files only."""
        assert self._here is not None
        return max(1, unfelt_windows(self.space, self._here, trial, window_s))

    def _leaps(self, here: Setting) -> list[Setting]:
        """Settings with one late-acting knob raised by several values."""
        found = []
        for knob_id in self.space.late:
            values = self.space[knob_id].values
            index = self.space[knob_id].nearest(here[knob_id]) + self.late_stride
            if index < len(values):
                found.append(here.replace({knob_id: values[index]}))
        return found

    def _judge(self, window: Window, rate: float) -> Proposal:
        assert self._here is not None
        assert self._trial is not None
        if rate < self.gain_ratio * self._here_rate:
            return self._try_next(window)
        came_from, self._here, self._here_rate = self._here, self._trial, rate
        further = self._same_direction(came_from, self._here)
        neighbours = self.space.neighbours(self._here, *self.knob_ids)
        self._untried = [s for s in (further, *neighbours) if s is not None and s != came_from]
        return self._try_next(window)

    def _same_direction(self, came_from: Setting, here: Setting) -> Setting | None:
        for knob_id in self.knob_ids:
            knob = self.space[knob_id]
            old, new = knob.nearest(came_from[knob_id]), knob.nearest(here[knob_id])
            stride = new + 2 * (new - old)
            if new != old and 0 <= stride < len(knob.values):
                return here.replace({knob_id: knob.values[stride]})
        return None

    def _at_rest(self, window: Window, rate: float) -> Proposal:
        self._resting -= self.windows_per_trial
        drifted = max(rate, self._here_rate) > self.drift_ratio * min(rate, self._here_rate)
        if drifted or self._resting <= 0:
            self._resting = 0
            return self._look_around(window, rate)
        return self._stay(window, Reason.RESTING, f"holding {self._here}, the best found")

    def _stay(self, window: Window, reason: str, sentence: str) -> Proposal:
        return Proposal(window.setting, reason, sentence, self._evidence(window))

    def _go(self, window: Window, place: Setting, reason: str, sentence: str) -> Proposal:
        return Proposal(window.setting.replace(place), reason, sentence, self._evidence(window))

    def _evidence(self, window: Window) -> dict[str, float]:
        return {"bytes_per_s": window.moved_per_s, "best_bytes_per_s": self._here_rate}


POLICY = ClimbPolicy
