"""A job's life in the ledger: advised, started, ended, and what to do when events were lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import ConfigError
from penstock.schedule.advice import Occupancy, advise
from penstock.schedule.answer import Answer, answer_text, parse_answer
from penstock.schedule.command import Commands, named_commands, ost_commands, pool_name
from penstock.schedule.health import UNKNOWN_HEALTH, Health
from penstock.schedule.job import Job
from penstock.schedule.layout import Layout
from penstock.schedule.ledger import Grant, Ledger, LedgerContent
from penstock.schedule.queue import QueuedJob
from penstock.schedule.site import PlatformSection


@dataclass(frozen=True, slots=True)
class Desk:
    """Where advice is given: the platform, and the running jobs that its site file names."""

    platform: PlatformSection
    fixed: tuple[Job, ...] = ()
    before: Layout | None = None
    """The layout that the next job's directory has now, where it could be read."""
    health: Health = UNKNOWN_HEALTH
    apply: bool = False
    """Whether a start goes on to change that layout, which its end then has to undo."""

    def advise(self, job: Job, book: LedgerContent | None = None) -> Answer:
        """The answer for `job` among everybody who runs now. Refuses a job that runs already."""
        running = self.running(book)
        if any(one.name == job.name for one in running):
            raise ConfigError(f"next: a job called {job.name!r} is running already")
        platform = self.platform
        closed = {*platform.unusable, *self.health.unusable}
        occupancy = Occupancy(platform.resources, running, closed, self.health.load)
        worst = platform.worst_slowdown or math.inf
        advice = advise(occupancy, job, platform.compute_nodes, worst)
        names = tuple(resource_name(platform, resource) for resource in advice.resources)
        placed = replace(job, resources=advice.resources)
        return Answer(advice, names, len(running), self._commands(placed, names, running))

    def _commands(self, job: Job, names: Sequence[str], running: Sequence[Job]) -> Commands:
        if self.platform.kind != "ost":
            return named_commands(names, self.platform.kind)
        pool = pool_name(job.name, {one.pool for one in running if one.pool})
        return ost_commands(job, self.platform.fsname, pool, self.before)

    def running(self, book: LedgerContent | None) -> tuple[Job, ...]:
        """The site file's jobs and the ledger's; the ledger's word counts where both name a job."""
        jobs = {job.name: job for job in self.fixed}
        for job in book.running if book else ():
            if any(resource >= self.platform.resources for resource in job.resources):
                raise ConfigError(f"ledger: job {job.name!r} uses resources the platform does not have")
            jobs[job.name] = job
        return tuple(jobs.values())

    def start(self, job: Job, ledger: Ledger) -> Started:
        """Advise and record in one step. A job that runs already gets the answer it got at its start."""
        with ledger.locked() as book:
            known = book.find(job.name)
            if known is not None:
                return Started(known.job, parse_answer(known.answer))
            answer = self.advise(job, book)
            can = self.apply and self.platform.kind == "ost" and job.directory and self.before is not None
            started = replace(
                job,
                belief=None,
                resources=answer.advice.resources,
                pool=answer.commands.pool,
                # On disk before anything changes: whoever ends the job knows what to undo.
                applied=self.platform.apply if can else None,
            )
            book.start(Grant(started, time.time(), answer_text(answer)))
            return Started(started, answer)


@dataclass(frozen=True, slots=True)
class Started:
    """A job on its resources, and the answer it was given when it started."""

    job: Job
    answer: Answer


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that left, the commands that undo what its start changed, and how many jobs still run."""

    job: Job
    commands: Commands
    running_jobs: int


def end_job(name: str, ledger: Ledger) -> Ended:
    """Record that a job ended."""
    with ledger.locked() as book:
        grant = book.end(name)
        return Ended(grant.job, parse_answer(grant.answer).commands, len(book.grants))


@dataclass(frozen=True, slots=True)
class Reconciled:
    """What a comparison with the scheduler found: jobs that had left, still run, or were never recorded."""

    ended: tuple[Ended, ...]
    running: tuple[str, ...]
    unrecorded: tuple[str, ...]


def reconcile(ledger: Ledger, ask: Callable[[], Sequence[QueuedJob]]) -> Reconciled:
    """End every job of the ledger that the scheduler does not hold any more.

    The ledger is read before the scheduler is asked, so a job that starts meanwhile is left alone. Jobs are
    recognised by id, or by name where the ledger knows them by that.
    """
    before = ledger.read().grants
    alive = [job for job in ask() if job.holds_resources]
    known = {job.id for job in alive} | {job.name for job in alive}
    ended = []
    with ledger.locked() as book:
        for grant in before:
            if grant.job.name not in known and book.find(grant.job.name) == grant:
                book.end(grant.job.name)
                ended.append(grant)
        running = tuple(job.name for job in book.running)
    left = tuple(Ended(g.job, parse_answer(g.answer).commands, len(running)) for g in ended)
    unrecorded = tuple(job.id for job in alive if not {job.id, job.name} & set(running))
    return Reconciled(left, running, unrecorded)


def resource_name(platform: PlatformSection, resource: int) -> str:
    """What the administrator calls a resource."""
    if platform.names:
        return platform.names[resource]
    if platform.kind == "ost":
        return f"{platform.fsname}-OST{resource:04x}"
    return f"{platform.kind}-{resource}"
