"""Runs a campaign: sends unfinished shards to an engine, and stops if too many fail."""

from __future__ import annotations

import json
from collections.abc import Callable

from penstock.actuate.lock import StateLock
from penstock.campaign.engines import Engine, ShardFailedError
from penstock.campaign.ledger import MOST_FAILED, CampaignLedger, Standing
from penstock.campaign.spec import Specification
from penstock.errors import PenstockError

Say = Callable[[CampaignLedger], None]


class CampaignCancelledError(PenstockError):
    """The campaign was asked to stop."""


def run_campaign(specification: Specification, engine: Engine, say: Say) -> Standing:
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
        done = ledger.finished([shard.key for shard in specification.shards])
        tasks = {s.key: specification.task(s) for s in specification.shards if s.key not in done}
        ledger.note(started=len(tasks))
        if tasks:
            _run(ledger, engine, tasks, say, len(specification.shards))
    finally:
        ledger.forget_stop()
        lock.release()
    return ledger.standing()


def _run(ledger: CampaignLedger, engine: Engine, tasks: dict[str, str], say: Say, shards: int) -> None:
    def tick() -> None:
        if ledger.stop_is_asked():
            raise CampaignCancelledError(f"{ledger.directory}: cancelled; run it again to go on")

    failed: dict[str, str] = {}
    with engine:
        for key, answer in engine.each(tasks, tick):
            if isinstance(answer, ShardFailedError):
                failed[key] = str(answer)
                ledger.note(key=key, error=str(answer))
            else:
                ledger.note(**json.loads(answer))
            say(ledger)
            if len(failed) > MOST_FAILED * shards:
                first, why = next(iter(failed.items()))
                raise PenstockError(
                    f"{ledger.directory}: failed: {len(failed)} of {shards} shards, more than "
                    f"{100 * MOST_FAILED:.0f} %; the first: {first}: {why}"
                )
