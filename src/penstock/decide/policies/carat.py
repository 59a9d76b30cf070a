"""CARAT as printed: Algorithm 1 for the RPC knobs, Algorithm 2 for the cache.

The model uses six metrics and their changes over one interval (k = 1), trained on hard labels. Tau is 0.8, the score
is linear, and there is no veto. Where the paper leaves a choice open, docs/reference/policies.md says what was
decided. Files in `benchmarks/ablations` improve one thing at a time.
"""

from __future__ import annotations

from penstock.decide import score
from penstock.decide.policies._base import Policy, Proposal
from penstock.decision import Outlook
from penstock.decision_reasons import Reason
from penstock.window import Window


class CaratPolicy(Policy):
    """Chooses the highest printed score among candidates with a probability above tau. If there is none, it stays."""

    name = "carat"
    uses_model = True
    model_kind = "printed"
    tunes_cache = True
    vetoes = False

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """One interval of Algorithm 1. Without survivors the setting in force stays."""
        if outlook is None:
            return Proposal(window.setting, Reason.NO_MODEL, "there is no model to ask")
        kept = score.survivors(outlook)
        if not kept:
            return _nobody(window, outlook)
        scores = self.scores(kept, outlook, window)
        at = score.best(scores)
        chosen = kept.setting(at)
        return Proposal(
            window.setting.replace(chosen),
            Reason.SCORE,
            f"{len(kept)} candidates promise more {outlook.direction} throughput; {chosen} scores highest",
            {"survivors": len(kept), "score": float(scores[at]), "bytes_per_s": window.moved_per_s},
            float(kept.p[at]),
        )

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        """The score of each survivor. Subclasses override it."""
        return score.printed(kept, outlook.direction)


def _nobody(window: Window, outlook: Outlook) -> Proposal:
    top = max(outlook.probabilities, default=0.0)
    sentence = f"no candidate promises more {outlook.direction} throughput (best {top:.2f})"
    return Proposal(window.setting, Reason.NO_CANDIDATE, sentence, {"best_probability": top}, top)


POLICY = CaratPolicy
