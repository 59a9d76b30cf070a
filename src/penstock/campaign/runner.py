"""Runs a campaign: sends unfinished shards to an engine, and stops if too many fail."""

from __future__ import annotations

from collections.abc import Callable

from penstock.actuate.lock import StateLock
from penstock.campaign.ledger import MOST_FAILED, CampaignLedger, Standing
from penstock.campaign.shards import Engine, run_shards, unfinished
from penstock.campaign.shardwork import perform_shard
from penstock.campaign.spec import Specification
from penstock.errors import PenstockError

Say = Callable[[CampaignLedger], None]


class CampaignCancelledError(PenstockError):
    """The campaign was asked to stop."""


def run_campaign(specification: Specification, engine: Engine[str, str], say: Say) -> Standing:
    """Run the unfinished shards and return the progress.

    A run that was interrupted at any point is continued by the next.

    The next run tries failed shards again. If more than 5 % of the shards fail, the campaign ends at once, because
    then the work itself must be wrong.
    """
    ledger = CampaignLedger(specification.directory)
    ledger.create(specification)
    lock = StateLock(specification.directory)
    try:
        ledger.forget_stop()
        _run(ledger, engine, {shard.key: specification.task(shard) for shard in specification.shards}, say)
    finally:
        ledger.forget_stop()
        lock.release()
    return ledger.standing()


def _run(ledger: CampaignLedger, engine: Engine[str, str], shards: dict[str, str], say: Say) -> None:
    def tick() -> None:
        if ledger.stop_is_asked():
            raise CampaignCancelledError(f"{ledger.directory}: cancelled; run it again to go on")

    left = unfinished(shards, ledger)
    ledger.note(started=len(left))
    if not left:
        return
    with engine:
        for _ in run_shards(engine, perform_shard, left, ledger, tick):
            say(ledger)
            if len(ledger.failures) > MOST_FAILED * len(shards):
                raise PenstockError(
                    f"{ledger.directory}: failed: {len(ledger.failures)} of {len(shards)} shards, more than "
                    f"{100 * MOST_FAILED:.0f} %; the first: {ledger.failures[0]}"
                )
