"""CARAT with one improvement at a time, so that experiments can show what each is worth, and with all of them."""

from __future__ import annotations

from penstock.decide import score
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.window import Window


class Log2Policy(CaratPolicy):
    """The printed score with logarithms of the knobs.

    Without them, 256 requests in flight outweigh everything else.
    """

    name = "carat-log2"

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        return score.printed(score.by_logarithm(kept), outlook.direction)


class VetoPolicy(CaratPolicy):
    """Leaves a target alone whose work the model was not trained on."""

    name = "carat-veto"
    vetoes = True


class HistoryPolicy(CaratPolicy):
    """Uses a model that looks back eight intervals for writes, instead of one."""

    name = "carat-history"
    model_kind = "printed-history"


class SoftPolicy(CaratPolicy):
    """Uses a calibrated model trained on soft labels: a gain close to the 15 % threshold counts as half a success."""

    name = "carat-soft"
    model_kind = "printed-soft"


class FullPolicy(CaratPolicy):
    """The printed score with our own model: more features, longer history, soft labels, calibration."""

    name = "carat-full"
    model_kind = "forest"


class BudgetPolicy(CaratPolicy):
    """Divides the cache to the MiB within the node's budget, by what targets need."""

    name = "carat-budget"
    cache_as_printed = False


class TunedPolicy(Log2Policy):
    """The combination of these improvements that did best."""

    name = "carat-tuned"
    model_kind = "forest"
    cache_as_printed = False
    vetoes = True


class CachePolicy(Policy):
    """Tunes the cache only, as printed (Algorithm 2 with its own triggers). The RPC knobs stay as they are."""

    name = "cache-printed"
    tunes_cache = True
    cache_as_printed = True

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Propose no change. The tuner adds cache limits when an active stage begins."""
        return Proposal(window.setting, "hold", "only the cache is tuned")


class FittedCachePolicy(CachePolicy):
    """Tunes the cache only, within the node's budget."""

    name = "cache-fitted"
    cache_as_printed = False


_ALL: tuple[type[Policy], ...] = (
    Log2Policy, VetoPolicy, HistoryPolicy, SoftPolicy, FullPolicy, BudgetPolicy, TunedPolicy, CachePolicy,
    FittedCachePolicy,
)  # fmt: skip
POLICIES: dict[str, type[Policy]] = {each.name: each for each in _ALL}
