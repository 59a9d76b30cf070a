"""How a policy goes by what other nodes say: it takes up what is proven elsewhere, and explores only if it may.

A node's word is worth one trial here. Where that trial contradicts it, nothing that this node alone says is tried
again; after a few such trials nothing that any node says is, whoever claims to agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from penstock.decide.guard.limits import CERTAIN
from penstock.decide.objective import gain_log2
from penstock.knobs import Setting

if TYPE_CHECKING:
    from penstock.decide.fleet_advice import ProvenElsewhere, WorkAdvice
    from penstock.decide.guard.offer import Offer
    from penstock.decide.value import Prospect

# A setting that another node proved is contradicted where it surely gains less than this here.
CONTRADICTED_LOG2 = 0.03
# What is proven elsewhere is tried only if it would gain so much more than the best setting measured here.
LEAST_MORE_LOG2 = 0.03
# So many settings that others had proved may do harm here or bring nothing before no other one is tried.
MOST_MISLED = 3


@dataclass(slots=True)
class Following:
    """What one policy was advised, and what it tells other nodes.

    `wants` says that it would try something if it might, `explored` that it did and has nothing left to try.
    """

    advice: WorkAdvice | None = None
    wants: bool = False
    explored: bool = False
    #: The settings that were tried because other nodes had proved them, and whose word that was.
    followed: dict[Setting, str] = field(default_factory=dict)

    @property
    def may_explore(self) -> bool:
        """Whether settings may be tried that nobody has proved."""
        return self.advice is None or self.advice.may_explore

    def next(self, offer: Offer, found: Prospect) -> ProvenElsewhere | None:
        """What to try next because it is proven elsewhere; None if there is nothing, or not now."""
        if self.advice is None or not self.advice.proven:
            return None
        if len(self._misled(offer)) >= MOST_MISLED:
            return None
        best = next((one for one in self.advice.proven if self._is_worth_trying(one, offer, found)), None)
        if best is None or offer.refusal(best.setting) is not None:
            return None
        self.followed[best.setting] = best.node
        return best

    def _is_worth_trying(self, told: ProvenElsewhere, offer: Offer, found: Prospect) -> bool:
        places = found.belief.candidates.places
        if (
            told.setting not in places
            or offer.work.known.knows(told.setting, 2)
            or offer.is_barred(told.setting)
        ):
            return False
        if told.agree < 2 and told.node in self._misled(offer):
            return False
        return told.gain_log2 - float(found.prices[places[told.setting]]) > found.over + LEAST_MORE_LOG2

    def _misled(self, offer: Offer) -> list[str]:
        """Whose word proved wrong here, once for each setting."""
        return [node for setting, node in self.followed.items() if is_contradicted(setting, offer)]


def is_contradicted(setting: Setting, offer: Offer) -> bool:
    """Whether a setting did harm here lately, or surely gains nothing worth having."""
    record = offer.work
    banned = record.banned.get(setting)
    if banned is not None and offer.turn.now_s < banned.until_s:
        return True
    one, original = record.known.measured.get(setting), record.reference.level
    if one is None or one.level.count < 2 or original.count == 0:
        return False
    error = math.hypot(one.level.error, original.error) / math.log(2)
    gain = gain_log2(one.level.mean, original.mean, offer.limits.objective)
    return gain + CERTAIN * error < CONTRADICTED_LOG2
