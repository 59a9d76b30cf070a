"""CARAT with one thing improved at a time, so that each improvement's worth is a row of a table; and all together."""

from __future__ import annotations

from penstock.decide import score
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.policies.carat import CaratPolicy
from penstock.decision import Outlook
from penstock.window import Window


class Log2Policy(CaratPolicy):
    """The printed score over knobs by their logarithm: 256 requests in flight no longer outweigh everything."""

    name = "carat-log2"

    def scores(self, kept: score.Survivors, outlook: Outlook, window: Window) -> score.Floats:
        """As printed, with log2 before min-max."""
        return score.printed(score.by_logarithm(kept), outlook.direction)


class VetoPolicy(CaratPolicy):
    """Leaves a target alone that does something its model was not trained on."""

    name = "carat-veto"
    vetoes = True


class HistoryPolicy(CaratPolicy):
    """A model that looks back eight intervals for writes instead of one."""

    name = "carat-history"
    model_kind = "printed-history"


class SoftPolicy(CaratPolicy):
    """A model of soft labels, calibrated: near the line a measured gain is only a hint."""

    name = "carat-soft"
    model_kind = "printed-soft"


class FullPolicy(CaratPolicy):
    """The printed score over our own model: richer features, longer history, soft labels, calibrated."""

    name = "carat-full"
    model_kind = "forest"


class BudgetPolicy(CaratPolicy):
    """Shares the cache inside the node's budget and to the MiB, in proportion to what targets need."""

    name = "carat-budget"
    cache_as_printed = False


class TunedPolicy(Log2Policy):
    """The best combination of the above."""

    name = "carat-tuned"
    model_kind = "forest"
    cache_as_printed = False
    vetoes = True


class CachePolicy(Policy):
    """Stage 2 alone, as printed: Algorithm 2 at its own triggers, and the RPC knobs left as they are."""

    name = "cache-printed"
    tunes_cache = True
    cache_as_printed = True

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        """Stay: the tuner adds the cache's limits where a stage begins."""
        return Proposal(window.setting, "hold", "only the cache is tuned")


class FittedCachePolicy(CachePolicy):
    """Stage 2 alone, inside the node's budget."""

    name = "cache-fitted"
    cache_as_printed = False


_ALL: tuple[type[Policy], ...] = (
    Log2Policy, VetoPolicy, HistoryPolicy, SoftPolicy, FullPolicy, BudgetPolicy, TunedPolicy, CachePolicy,
    FittedCachePolicy,
)  # fmt: skip
POLICIES: dict[str, type[Policy]] = {each.name: each for each in _ALL}
