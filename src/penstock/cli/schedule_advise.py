"""`penstock schedule advise` and `guide`: resources for the next job, and heuristics for what is known."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from penstock.cli.options import FiniteRange, console, emit_json, json_option
from penstock.errors import ConfigError, PenstockError, UsageError
from penstock.units import counted

if TYPE_CHECKING:
    from penstock.schedule.advice import Advice
    from penstock.schedule.answer import Answer
    from penstock.schedule.guide import Guidance
    from penstock.schedule.health import Health
    from penstock.schedule.job import Job
    from penstock.schedule.layout import Layout
    from penstock.schedule.ledger import Ledger
    from penstock.schedule.lfs import Owner
    from penstock.schedule.lifecycle import Desk, Ended, Started
    from penstock.schedule.site import JobSection, PlatformSection, SiteSection

MOST_OPTIONS = 12
# What a platform's resources are called, by its kind.
KIND_NAMES = {"ost": "OST", "io-node": "I/O node", "burst-buffer": "burst buffer"}


@click.command(epilog="Example: penstock schedule advise examples/schedule/site.toml --ledger jobs.jsonl")
@click.argument("site_file", metavar="SITE.toml", type=click.Path(path_type=Path))
@click.option("--ledger", "ledger_file", type=click.Path(path_type=Path), help="Jobs that came and went.")
@click.option("--start", is_flag=True, help="Record in the ledger that the next job runs as advised.")
@click.option("--end", "ended", metavar="JOB", help="Record that JOB has ended; advise nothing.")
@click.option("--list", "listed", is_flag=True, help="Show the ledger's jobs; advise nothing.")
@click.option("--reconcile", "reconciled", is_flag=True, help="End jobs that do not run any more.")
@click.option(
    "--jobs",
    "jobs_file",
    type=click.Path(path_type=Path),
    help="What runs: squeue or sacct output, or ids, one a line; - is stdin.  [default: ask squeue]",
)
@click.option("--slurm", "from_slurm", is_flag=True, help="The job is that of the Slurm hook that runs this.")
@click.option("--apply", "apply_it", is_flag=True, help="Also run the commands, or those that undo them.")
@click.option(
    "--exports",
    type=click.Path(path_type=Path),
    help="Directory for the job's environment, read by the task prolog.",
)
@click.option(
    "--compare",
    "compare_hours",
    type=FiniteRange(0, min_open=True),
    is_flag=False,
    flag_value=24.0,
    metavar="[HOURS]",
    help="Replay the ledger's last hours under every rule; advise nothing.  [24 where HOURS is left out]",
)
@click.option("--page", type=click.Path(path_type=Path), help="With --compare: also as a page with plots.")
@click.option("--seed", type=int, help="Of rules that draw at random.  [default: by the jobs' names]")
@json_option
def advise(
    site_file: Path,
    ledger_file: Path | None,
    start: bool,
    ended: str | None,
    listed: bool,
    reconciled: bool,
    jobs_file: Path | None,
    from_slurm: bool,
    apply_it: bool,
    exports: Path | None,
    compare_hours: float | None,
    page: Path | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """How many and which I/O resources the next job of SITE.toml should use, and why.

    Several [[next]] are decided on together, by the rule that [platform] allocation and placement name.
    """
    from penstock.schedule.ledger import Ledger
    from penstock.schedule.site import load_site

    _check_options(
        {
            "--start": start,
            "--end": ended is not None,
            "--list": listed,
            "--reconcile": reconciled,
            "--compare": compare_hours is not None,
        },
        ledger_file,
    )
    if page is not None and compare_hours is None:
        raise UsageError("--page belongs to --compare")
    if jobs_file is not None and not reconciled:
        raise UsageError("--jobs belongs to --reconcile")
    if apply_it and (listed or not (start or ended or reconciled)):
        raise UsageError("--apply belongs to --start, --end and --reconcile")
    site = load_site(site_file)
    ledger = Ledger(ledger_file) if ledger_file else None
    after = _After(apply_it, exports)
    if ledger is not None and ended is not None:
        _end(ledger, ended, after, as_json)
    elif ledger is not None and listed:
        _list(ledger, as_json)
    elif ledger is not None and reconciled:
        _reconcile(ledger, jobs_file, after, as_json)
    elif ledger is not None and compare_hours is not None:
        from penstock.cli.schedule_week import compare_rules

        compare_rules(site, ledger, compare_hours, page, as_json)
    else:
        _advise((site, site_file, from_slurm, seed), ledger if start else None, ledger, after, as_json)


@dataclasses.dataclass(frozen=True, slots=True)
class _After:
    """What follows a start or an end: commands on the file system, and a file for the task prolog."""

    apply_it: bool
    exports: Path | None

    def started(self, started: Started, ledger: Ledger, platform: PlatformSection) -> None:
        from penstock.schedule.applying import apply_answer, write_exports
        from penstock.schedule.lifecycle import forget_change

        if self.exports is not None:
            # This comes first: even if the file system does not answer, the job knows its OSTs.
            write_exports(self.exports, started.answer, platform.kind)
        if not self.apply_it or started.job.directory is None:
            return
        if started.job.applied is not None:
            if not apply_answer(started, platform.apply, _say):
                forget_change(started.job, ledger)
            return
        where = started.job.directory
        if started.sharer is not None:
            _say(f"not applied: {where} has the layout of job {started.sharer}, which is running")
        elif not started.again:
            _say(f"not applied: the layout of {where} cannot be read here, or not be restored")

    def ended(self, left: Ended) -> None:
        from penstock.schedule.applying import remove_exports

        if self.exports is not None:
            remove_exports(self.exports, left.job.name)

    def undone(self, left: Ended, ledger: Ledger) -> bool:
        """Whether nothing of the job is left to give back."""
        from penstock.schedule.applying import undo_answer
        from penstock.schedule.lifecycle import settle

        if not self.apply_it or left.job.applied is None:
            return left.job.applied is None
        if not (undone := undo_answer(left, _say)) and not left.is_hopeless:
            return False
        if not undone:
            _say(f"job {left.job.name}: given up: undo it by hand: {'; '.join(left.commands.undo)}")
        settle(left, ledger)
        return True


def _say(message: str) -> None:
    click.echo(f"penstock: {message}", err=True)


def _check_options(verbs: dict[str, bool], ledger_file: Path | None) -> None:
    given = [name for name, there in verbs.items() if there]
    if given and ledger_file is None:
        raise UsageError(f"{given[0]} needs --ledger")
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")


def _advise(
    source: tuple[SiteSection, Path, bool, int | None],
    start: Ledger | None,
    ledger: Ledger | None,
    after: _After,
    as_json: bool,
) -> None:
    from penstock.schedule.lfs import layout_if_readable
    from penstock.schedule.lifecycle import Desk
    from penstock.schedule.site import job_of

    site, site_file, from_slurm, seed = source
    sections, owner = _next(site, site_file, from_slurm)
    jobs = [job_of(section, site.platform, site_file.parent) for section in sections]
    job = jobs[0]
    if owner is not None:
        job = dataclasses.replace(job, uid=owner.uid, gid=owner.gid)
    fixed = tuple(job_of(one, site.platform, site_file.parent) for one in site.running)

    def layout() -> Layout | None:
        return layout_if_readable(job.directory, owner) if site.platform.kind == "ost" else None

    desk = Desk(site.platform, fixed, layout, _health(site), after.apply_it, seed)
    if len(jobs) > 1:
        _advise_together(desk, jobs, (start, ledger, after), as_json)
        return
    if start is not None:
        started = desk.start(job, start)
        after.started(started, start, site.platform)
        answer = started.answer
    else:
        answer = desk.advise(job, ledger.read() if ledger else None)
    if as_json:
        emit_json(answer.document())
    else:
        _print_answer(answer, site.platform.kind)


def _advise_together(
    desk: Desk, jobs: Sequence[Job], books: tuple[Ledger | None, Ledger | None, _After], as_json: bool
) -> None:
    """Advise on jobs that are announced together. Their layouts are not changed: that is for each one's own start."""
    start, ledger, after = books
    if after.apply_it:
        raise UsageError("--apply is for one job: several [[next]] are advised or started, not applied")
    if start is not None:
        answers = desk.start_together(jobs, start)
    else:
        answers = desk.advise_together(jobs, ledger.read() if ledger else None)
    if as_json:
        counts = {answer.advice.job: len(answer.names) for answer in answers}
        emit_json({"allocation": counts, "jobs": [answer.document() for answer in answers]})
        return
    for answer in answers:
        _print_answer(answer, desk.platform.kind)


def _health(site: SiteSection) -> Health:
    """The health of the OSTs, if the site file says how to ask. A failure is reported, but is not an error."""
    from penstock.schedule.health import UNKNOWN_HEALTH, Health, read_health, read_load

    if site.lustre is None:
        return UNKNOWN_HEALTH
    about = site.lustre
    try:
        health = read_health(about.mount, site.platform.resources, about.min_free)
        if about.ost_bandwidth is not None:
            load = read_load(about.ost_bandwidth, about.sample)
            known = {index: value for index, value in load.items() if index < site.platform.resources}
            health = Health(health.unusable, known)
    except PenstockError as error:
        _say(f"the OSTs' health is not known: {error}")
        return UNKNOWN_HEALTH
    for index, reason in health.unusable.items():
        _say(f"OST {index} is left out: {reason}")
    return health


def _next(site: SiteSection, site_file: Path, from_slurm: bool) -> tuple[Sequence[JobSection], Owner | None]:
    from penstock.schedule.slurmjob import slurm_job

    if from_slurm:
        found = slurm_job(os.environ, site)
        for complaint in found.complaints:
            _say(complaint)
        return [found.section], found.owner
    if not site.next:
        raise ConfigError(f"{site_file}: key 'next' is missing: there is no job to advise")
    return site.next, None


def _end(ledger: Ledger, name: str, after: _After, as_json: bool) -> None:
    from penstock.schedule.lifecycle import end_job

    left = end_job(name, ledger)
    after.ended(left)
    # Null where its start changed nothing: there is nothing to undo then.
    undone = None if left.job.applied is None else after.undone(left, ledger)
    freed = list(left.job.resources)
    if as_json:
        undo = list(left.commands.undo)
        emit_json(
            {"ended": name, "freed": freed, "running": left.running_jobs, "undo": undo, "undone": undone}
        )
        return
    click.echo(
        f"{name} has ended and leaves {counted(len(freed), 'resource')}; running: {counted(left.running_jobs, 'job')}"
    )
    _print_undo(left)


def _print_undo(left: Ended) -> None:
    for line in left.commands.undo:
        click.echo(f"Undo: {line}")


def _list(ledger: Ledger, as_json: bool) -> None:
    grants = ledger.read().grants
    if as_json:
        jobs = [
            {
                "name": grant.job.name,
                "resources": list(grant.job.resources),
                "compute_nodes": grant.job.compute_nodes,
                "directory": grant.job.directory,
                "pool": grant.job.pool,
                "started_s": grant.started_s,
            }
            for grant in grants
        ]
        emit_json({"jobs": jobs})
        return
    for grant in grants:
        click.echo(f"{grant.job.name}: {','.join(map(str, grant.job.resources))}")
    click.echo(f"running: {counted(len(grants), 'job')}")


def _reconcile(ledger: Ledger, jobs_file: Path | None, after: _After, as_json: bool) -> None:
    from penstock.schedule.lifecycle import reconcile
    from penstock.schedule.queue import ask_slurm, load_jobs

    found = reconcile(ledger, ask_slurm if jobs_file is None else lambda: load_jobs(jobs_file))
    for gone in found.ended:
        after.ended(gone)
    waiting = [left.job.name for left in found.left if not after.undone(left, ledger)]
    if as_json:
        ended = [
            {"name": left.job.name, "freed": list(left.job.resources), "undo": list(left.commands.undo)}
            for left in found.ended
        ]
        emit_json(
            {
                "ended": ended,
                "running": list(found.running),
                "unrecorded": list(found.unrecorded),
                "not_undone": waiting,
            }
        )
        return
    for left in found.ended:
        freed = counted(len(left.job.resources), "resource")
        click.echo(f"{left.job.name} does not run any more and leaves {freed}")
        _print_undo(left)
    for name in waiting:
        click.echo(f"{name}: its layout or pool is still to be given back (--apply does that)")
    click.echo(
        f"running: {counted(len(found.running), 'job')}; {len(found.unrecorded)} more without a record"
    )


def _print_answer(answer: Answer, kind: str) -> None:
    from penstock.schedule.reasons import sureness

    advice, commands = answer.advice, answer.commands
    screen = console()
    names = ", ".join(answer.names)
    found = counted(len(answer.names), KIND_NAMES.get(kind, f"{kind} resource"))
    screen.print(f"{advice.job}: {found}: {names}", soft_wrap=True)
    first, *others = advice.reason.split("; ")
    screen.print(f"Why ({advice.rule}): {first}", soft_wrap=True, markup=False)
    for other in others:
        screen.print(f"  {other}", soft_wrap=True, markup=False)
    running = counted(answer.running_jobs, "job")
    screen.print(f"I/O-load {advice.io_load_before:.3f} -> {advice.io_load_after:.3f}, {running} running")
    if advice.certainty is not None:
        screen.print(sureness(advice.certainty), soft_wrap=True)
    lines = (
        ("First, save", commands.save),
        ("Do", commands.user),
        ("or, on the MGS", commands.admin[:2]),
        ("and", commands.admin[2:]),
        ("or, in steps", commands.progressive),
        ("Undo", commands.undo[:1]),
        ("and on the MGS", commands.undo[1:]),
    )
    for title, some in lines:
        for line in some:
            screen.print(f"{title + ':':<16}{line}", soft_wrap=True, markup=False)
    if advice.options:
        _print_options(advice)


def _print_options(advice: Advice) -> None:
    from rich.table import Table

    from penstock.schedule.idle_advice import IDLEST

    where = (
        "" if advice.placement == IDLEST else f" on the idlest resources (*: on those of {advice.placement})"
    )
    how = "" if advice.rule == "idle-nodes" else ", as idle-nodes counts"
    table = Table(title=f"What other counts would do{where}{how}")
    for heading in ("count", "share in I/O", "slowdown", "idle nodes: own", "others'", "I/O-load"):
        table.add_column(heading, justify="right")
    used = len(advice.resources)
    # The count that is used is shown even where many others are better.
    near = sorted(advice.options, key=lambda one: (one.count != used, one.idle_nodes))[:MOST_OPTIONS]
    for option in sorted(near, key=lambda option: option.count):
        mark = "*" if option.count == used else ""
        table.add_row(
            f"{mark}{option.count}",
            f"{100 * option.io_share:.1f} %",
            f"{option.slowdown:.2f}",
            f"{option.own_idle_nodes:.2f}",
            f"{option.others_idle_nodes:.2f}",
            f"{option.io_load:.3f}",
        )
    console().print(table)


@click.command(epilog="Example: penstock schedule guide --know nodes,volume,compute,family")
@click.option(
    "--know",
    default="nodes",
    show_default=True,
    help="Comma-separated, of: nodes, volume, compute, best-count, family, curve.",
)
@json_option
def guide(know: str, as_json: bool) -> None:
    """Which heuristics to use, given what is known of the applications (Table II, after our study)."""
    from penstock.schedule.guide import KNOWLEDGE
    from penstock.schedule.guide import guide as recommend

    known = [word.strip() for word in know.split(",") if word.strip()]
    found = recommend(known)
    if as_json:
        words = {word: {"difficulty": how, "what": what} for word, (how, what) in KNOWLEDGE.items()}
        emit_json(dataclasses.asdict(found) | {"known": known, "words": words})
        return
    _print_guidance(found)


def _print_guidance(found: Guidance) -> None:
    from penstock.schedule.guide import KNOWLEDGE

    click.echo(f"Use --allocation {found.allocation} --placement {found.placement}: {found.reason}.")
    for name, facts in found.missing[:1]:
        click.echo(f"{name} would do better; it also needs")
        for fact in facts:
            click.echo(f"  {fact} ({KNOWLEDGE[fact][0]}): {KNOWLEDGE[fact][1]}")
    click.echo(f"For jobs that arrive one by one: {found.one_by_one}.")
    order, places = ", then ".join(found.fallback), ", then ".join(found.placement_fallback)
    click.echo(
        "In a site file ([platform] allocation, placement) a rule that needs more than is known of a job is replaced "
        f"by {order}; a placement by {places}. The answer says what was missing."
    )
