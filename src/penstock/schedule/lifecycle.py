"""The life of a job in the ledger: advised, started, ended, and how to recover from lost events."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import ConfigError
from penstock.schedule.advice import Advice, Rule, SiteScene, advise_together
from penstock.schedule.answer import Answer, answer_text, parse_answer
from penstock.schedule.command import Commands, named_commands, ost_commands, pool_name
from penstock.schedule.health import UNKNOWN_HEALTH, Health
from penstock.schedule.job import Job
from penstock.schedule.layout import Layout
from penstock.schedule.ledger import Grant, Ledger, LedgerContent
from penstock.schedule.queue import QueuedJob
from penstock.schedule.site import PlatformSection

TRY_FOR_S = 7 * 86400.0
"""For so long after a job's end `reconcile` tries to give back what the end could not."""


@dataclass(frozen=True, slots=True)
class Desk:
    """The place where advice is given: the platform, and the running jobs from its site file."""

    platform: PlatformSection
    fixed: tuple[Job, ...] = ()
    layout: Callable[[], Layout | None] = lambda: None
    """Reads the layout that the next job's directory has now; None where that cannot be read."""
    health: Health = UNKNOWN_HEALTH
    apply: bool = False
    """Whether a start goes on to change that layout, which its end then has to undo."""
    seed: int | None = None
    """Of rules that draw at random; None: by the names of the jobs."""

    def advise(self, job: Job, book: LedgerContent | None = None) -> Answer:
        """The answer for `job`, given all running jobs. A job that already runs is refused."""
        return self._answer(job, book, None if self._holders(job, book) else self.layout())

    def _holders(self, job: Job, book: LedgerContent | None) -> tuple[Grant, ...]:
        return book.holders(job.directory) if book else ()

    def advise_together(self, jobs: Sequence[Job], book: LedgerContent | None = None) -> tuple[Answer, ...]:
        """The answers for jobs that are announced together. Where to put back a layout is not looked up."""
        running = self.running(book)
        found = advise_together(self._scene(jobs, running), jobs)
        return tuple(
            self._complete(job, book, (advice, running), None)
            for job, advice in zip(jobs, found, strict=True)
        )

    def _answer(self, job: Job, book: LedgerContent | None, before: Layout | None) -> Answer:
        running = self.running(book)
        advice = advise_together(self._scene([job], running), [job])[0]
        return self._complete(job, book, (advice, running), before)

    def _scene(self, jobs: Sequence[Job], running: tuple[Job, ...]) -> SiteScene:
        names = Counter(one.name for one in (*running, *jobs))
        for job in jobs:
            if names[job.name] > 1:
                raise ConfigError(f"next: a job called {job.name!r} is running already, or announced twice")
        platform = self.platform
        closed = {*platform.unusable, *self.health.unusable}
        worst = platform.worst_slowdown or math.inf
        rule = Rule(platform.allocation, platform.placement, worst, self.seed)
        return SiteScene(platform.resources, platform.compute_nodes, running, closed, self.health.load, rule)

    def _complete(
        self,
        job: Job,
        book: LedgerContent | None,
        found: tuple[Advice, tuple[Job, ...]],
        before: Layout | None,
    ) -> Answer:
        """The advice with names and commands."""
        platform = self.platform
        advice, running = found
        names = tuple(resource_name(platform, resource) for resource in advice.resources)
        placed = replace(job, resources=advice.resources)
        if platform.kind != "ost":
            return Answer(advice, names, len(running), named_commands(names, platform.kind))
        left = [grant.job for grant in book.left] if book else []
        pool = pool_name(job.name, {one.pool for one in (*running, *left) if one.pool})
        commands = ost_commands(placed, platform.fsname, pool, before)
        if holders := self._holders(job, book):
            # The directory has another job's layout. The layout before that job is the one to restore.
            original = parse_answer(holders[0].answer).commands.undo[0]
            commands = replace(commands, undo=(original, *commands.undo[1:]), save=())
        return Answer(advice, names, len(running), commands)

    def running(self, book: LedgerContent | None) -> tuple[Job, ...]:
        """The running jobs of the site file and of the ledger. If both name a job, the ledger's entry counts."""
        jobs = {job.name: job for job in self.fixed}
        for job in book.running if book else ():
            if any(resource >= self.platform.resources for resource in job.resources):
                raise ConfigError(f"ledger: job {job.name!r} uses resources the platform does not have")
            jobs[job.name] = job
        return tuple(jobs.values())

    def start(self, job: Job, ledger: Ledger) -> Started:
        """Advise and record in one step. A job that already runs gets the answer from its start.

        Only one job at a time may change a directory. If a running job has changed it, this job leaves it alone.
        """
        mentioned = job.directory is not None and ledger.mentions(job.directory)
        earlier = self._holders(job, ledger.read()) if mentioned else ()
        before = None if earlier else self.layout()
        with ledger.locked() as book:
            known = book.find(job.name)
            if known is not None:
                return Started(known.job, parse_answer(known.answer), again=True)
            holders = self._holders(job, book)
            if earlier and not holders:
                # It was restored while we came here, and this was recorded afterwards. Now it can be read.
                before = self.layout()
            answer = self._answer(job, book, before)
            sharer = next((one.job.name for one in holders if book.find(one.job.name) == one), None)
            restorable = before is not None or bool(holders)
            can = self.apply and self.platform.kind == "ost" and job.directory and restorable and not sharer
            started = replace(
                job,
                belief=None,
                resources=answer.advice.resources,
                pool=answer.commands.pool,
                # On disk before anything is changed, so that the end of the job knows what to undo.
                applied=self.platform.apply if can else None,
            )
            book.start(Grant(started, time.time(), answer_text(answer)))
            return Started(started, answer, sharer=sharer)

    def start_together(self, jobs: Sequence[Job], ledger: Ledger) -> tuple[Answer, ...]:
        """Advise on several jobs and record them in one step. Those that already run get the answer from their start.

        Nothing is applied, so their ends have nothing to undo.
        """
        with ledger.locked() as book:
            fresh = [job for job in jobs if book.find(job.name) is None]
            answers = self.advise_together(fresh, book) if fresh else ()
            for job, answer in zip(fresh, answers, strict=True):
                resources, pool = answer.advice.resources, answer.commands.pool
                started = replace(job, belief=None, resources=resources, pool=pool)
                book.start(Grant(started, time.time(), answer_text(answer)))
            grants = {grant.job.name: grant for grant in book.grants}
            return tuple(parse_answer(grants[job.name].answer) for job in jobs)


@dataclass(frozen=True, slots=True)
class Started:
    """A job on its resources, with the answer from its start.

    `again`: it was already running. `sharer`: a running job that has changed the layout of the same directory.
    """

    job: Job
    answer: Answer
    again: bool = False
    sharer: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A job that ended, the commands that undo its changes, and the number of jobs still running.

    `shared`: the directory has the layout of another running job by now.
    """

    grant: Grant
    commands: Commands
    running_jobs: int
    shared: bool = False

    @property
    def job(self) -> Job:
        """The job that ended."""
        return self.grant.job

    @property
    def is_hopeless(self) -> bool:
        """Whether restoring was tried for so long that it should be given up."""
        return self.grant.ended_s is not None and time.time() - self.grant.ended_s > TRY_FOR_S


def end_job(name: str, ledger: Ledger) -> Ended:
    """Record that a job ended. Until `settle` the ledger keeps what must be restored."""
    with ledger.locked() as book:
        return _ended(book.end(name), book)


def _ended(grant: Grant, book: LedgerContent) -> Ended:
    commands = parse_answer(grant.answer).commands
    shared = any(book.find(one.job.name) == one for one in book.holders(grant.job.directory))
    return Ended(grant, commands, len(book.grants), shared)


def settle(ended: Ended, ledger: Ledger) -> None:
    """Record that everything of a job that ended was given back."""
    if ended.job.applied is not None:
        with ledger.locked() as book:
            book.undone(ended.grant)


def forget_change(job: Job, ledger: Ledger) -> None:
    """Record that a running job's start changed nothing on the file system after all."""
    with ledger.locked() as book:
        book.unapplied(job.name)


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The result of a comparison with the scheduler: jobs that had ended, still run, or were never recorded.

    `left` are all ended jobs that may still have something to restore.
    """

    ended: tuple[Ended, ...]
    left: tuple[Ended, ...]
    running: tuple[str, ...]
    unrecorded: tuple[str, ...]


def reconcile(ledger: Ledger, ask: Callable[[], Sequence[QueuedJob]]) -> Reconciled:
    """End every job of the ledger that the scheduler no longer knows.

    The ledger is read before the scheduler is asked, so a job that starts meanwhile is left alone. Jobs are matched
    by id, or by name if the ledger has only the name.
    """
    before = ledger.read().grants
    alive = [job for job in ask() if job.holds_resources]
    ids = {job.id for job in alive}
    names = {job.name for job in alive}
    ended = []
    with ledger.locked() as book:
        for grant in before:
            # Users choose names, so a name says nothing about a job whose id is known.
            lives = grant.job.name in ids or (grant.job.uid is None and grant.job.name in names)
            if not lives and book.find(grant.job.name) == grant:
                book.end(grant.job.name)
                ended.append(grant)
        running = tuple(job.name for job in book.running)
        gone = tuple(_ended(grant, book) for grant in ended)
        left = tuple(_ended(grant, book) for grant in book.left)
    named = {grant.job.name for grant in before if grant.job.uid is None}
    unrecorded = tuple(job.id for job in alive if job.id not in running and job.name not in named)
    return Reconciled(gone, left, running, unrecorded)


def resource_name(platform: PlatformSection, resource: int) -> str:
    """The administrator's name of a resource."""
    if platform.names:
        return platform.names[resource]
    if platform.kind == "ost":
        return f"{platform.fsname}-OST{resource:04x}"
    return f"{platform.kind}-{resource}"
