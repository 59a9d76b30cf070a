"""`weir` that judges the second window after every change: no waiting for old requests and queued pages to leave."""

from __future__ import annotations

from penstock.decide.objective import Rates
from penstock.decide.policies.weir import WeirPolicy
from penstock.decide.weir_state import State
from penstock.knobs import Setting
from penstock.window import Window


class NoWaiting(WeirPolicy):
    """One interval is passed over, as everywhere, and no more."""

    name = "no-waiting"

    def _arrive(self, place: Setting, window: Window, rates: Rates) -> None:
        super()._arrive(place, window, rates)
        self._draining = 0
        self._enter(State.SETTLING, 1)


POLICY = NoWaiting
