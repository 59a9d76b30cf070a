"""`penstock plan profile` and `penstock plan collective`: measures operations and ranks hints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from penstock.cli.options import (
    DURATION,
    SIZE,
    NearestChoice,
    console,
    emit_json,
    json_option,
    seed_option,
    write_text,
)
from penstock.plan.collective.access import PATTERNS
from penstock.plan.collective.launch import THREAD_LEVELS
from penstock.plan.collective.romio import DEFAULT_BUFFER_BYTES
from penstock.units import format_size

if TYPE_CHECKING:
    from penstock.plan.collective.advise import HintAdvice, Ranked
    from penstock.plan.collective.confirm import HintTrial
    from penstock.plan.collective.operation_profile import OperationProfile

SHOWN = 12


def launcher_option(function: Any) -> Any:
    """`--launcher`: how this site starts MPI programs."""
    return click.option(
        "--launcher", metavar="COMMAND", help="How to start MPI, such as 'srun -n {ranks}'; default: mpiexec."
    )(function)


@click.command(epilog="Example: penstock plan profile --dir . --ranks 2 --out site.json")
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path), required=True, help="Where jobs will write."
)
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The profile's file.")
@click.option("--ranks", default="4,8", show_default=True, help="Rank counts to measure at.")
@click.option(
    "--nodes", type=int, default=1, show_default=True, help="Nodes the launcher spreads ranks over."
)
@click.option("--repetitions", type=int, default=7, show_default=True, help="Per point; at least 7.")
@click.option(
    "--limit",
    type=DURATION,
    default="4m",
    show_default=True,
    help="No further repetition after this time; a busy machine gets two at least.",
)
@click.option(
    "--thread-level",
    type=NearestChoice(THREAD_LEVELS),
    default="single",
    show_default=True,
    help="What the job asks MPI for.",
)
@launcher_option
@json_option
def profile(**options: Any) -> None:
    """Measure what collective writes are made of, with real MPI on the target directory.

    Allreduce, Allgather, Alltoall, Alltoallv, the shuffle of a round, first touch of memory, and concurrent
    POSIX writes (first, full, partial). Takes about a minute on a quiet machine, --limit on a busy one. A surrogate
    an operation is chosen by ten-fold cross-validation; the file holds data only.
    """
    from penstock.plan.collective.launch import find_launcher
    from penstock.plan.collective.operation_profile import (
        STEADY_SPREAD,
        WATCHED,
        Measuring,
        measure,
        save_text,
    )
    from penstock.plan.collective.surrogates import choose

    ranks = _whole_numbers(options["ranks"])
    how = Measuring(options["directory"], ranks, options["nodes"], options["repetitions"], options["limit"])
    write_text(options["out"], "")
    try:
        measured = measure(find_launcher(options["launcher"], options["thread_level"]), how, _progress)
        _progress("choosing surrogates by cross-validation")
        chosen = choose(measured)
    except BaseException:
        options["out"].unlink(missing_ok=True)
        raise
    write_text(options["out"], save_text(chosen))
    unsteady = [name for name in WATCHED if chosen.spread(name) > STEADY_SPREAD]
    if unsteady:
        _progress(
            f"unsteady: {', '.join(unsteady)} differ by more than {STEADY_SPREAD:.0%}; the machine is busy"
        )
    if options["as_json"]:
        emit_json({"profile": str(options["out"]), "operations": _operations_table(chosen)})
    else:
        _show_profile(chosen)


def _whole_numbers(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and len(word) < 8 for word in words):
        raise click.BadParameter(f"{text!r} is not a list of whole numbers such as 4,8", param_hint="--ranks")
    return tuple(sorted({int(word) for word in words}))


def _progress(text: str) -> None:
    click.echo(f"penstock: {text}", err=True)


def _operations_table(profile: OperationProfile) -> list[dict[str, Any]]:
    return [
        {
            **choice.model_dump(),
            "samples": len(profile.of(choice.operation)),
            "stability": profile.spread(choice.operation),
        }
        for choice in profile.surrogates
    ]


def _show_profile(profile: OperationProfile) -> None:
    from rich.table import Table

    table = Table("operation", box=None)
    for heading in ("points", "spread", "surrogate", "R2", "RMSE"):
        table.add_column(heading, justify="left" if heading == "surrogate" else "right")
    for row in _operations_table(profile):
        rmse = f"{row['rmse_s'] * 1e6:.3g} us"
        table.add_row(
            row["operation"],
            str(row["samples"]),
            f"{row['stability']:.0%}",
            row["algorithm"],
            f"{row['r2']:.2f}",
            rmse,
        )
    console().print(table)
    console().print("spread: middle half of the repetitions over their median; below 20% is steady.")


@click.command(epilog="Example: penstock plan collective --profile site.json --ranks 2 --bytes-per-rank 4m")
@click.option("--profile", type=click.Path(path_type=Path), help="A file of `plan profile`.")
@click.option(
    "--model",
    type=NearestChoice(("bgq",)),
    help="Instead of a profile: the paper's own model of a Blue Gene/Q, with its nine configurations.",
)
@click.option("--ranks", type=int, help="Ranks that write.")
@click.option("--nodes", type=int, default=1, show_default=True, help="Nodes they run on.")
@click.option("--bytes-per-rank", type=SIZE, help="What each rank writes in one call.")
@click.option("--pattern", type=NearestChoice(PATTERNS), default="contiguous", show_default=True)
@click.option("--block", type=SIZE, help="Strided: bytes a rank writes before the next rank's block.")
@click.option("--gap", type=SIZE, default=0, help="Strided: bytes nobody writes after each block.")
@click.option("--confirm", type=click.IntRange(min=0), default=0, help="Really run the best K, interleaved.")
@click.option(
    "--repetitions",
    type=click.IntRange(min=3),
    default=15,
    show_default=True,
    help="With --confirm, at first.",
)
@click.option(
    "--dir", "directory", type=click.Path(path_type=Path), help="With --confirm; default: the profile's."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Leave hints file and job lines in this directory."
)
@click.option(
    "--thread-level",
    type=NearestChoice(THREAD_LEVELS),
    help="What the job asks MPI for; default: the profile's.",
)
@click.option(
    "--command",
    metavar="TEXT",
    help="Correct promises by comparisons of this command alone; default: of all.",
)
@click.option("--history", "show_history", is_flag=True, help="What was advised, promised and then measured.")
@click.option("--forget", is_flag=True, help="Forget all of it, or that of --command.")
@launcher_option
@seed_option
@json_option
def collective(**options: Any) -> None:
    """Rank collective-buffering hints for a job's write and advise the best.

    Counts of operations are exact, their cost comes from the profile. No hints and the fixed rule (every rank
    aggregates, 1 MiB buffers) are always among the candidates; advice is null where no hints are as good.

    `--model bgq` needs no profile: it has the counts and the nine configurations of the paper's Blue Gene/Q, on a
    machine calibrated to the paper's results. Hints are then `bg_nodes_pset` and `cb_buffer_size`.

    What `penstock run --compare` measured of earlier advice corrects what is promised; --history shows it.
    """
    from penstock.plan.collective.hint_question import HintQuestion, answer_hints

    as_json, out = options.pop("as_json"), options.pop("out")
    show_history, drop = options.pop("show_history"), options.pop("forget")
    model = options.pop("model")
    if show_history and drop:
        raise click.UsageError("--history shows and --forget deletes: name one of them")
    if show_history or drop:
        from penstock.cli.plan_history import past

        past(options["command"], drop, as_json)
        return
    if model is not None:
        from penstock.cli.plan_bgq import rank

        _require(options, ("ranks", "bytes_per_rank"))
        rank(options | {"out": out}, as_json)
        return
    _require(options, ("profile", "ranks", "bytes_per_rank"))
    advice = answer_hints(HintQuestion(**options), _progress)
    if not advice.sure:
        _progress("warning: this profile is unsteady and promises nothing; run --confirm 3")
    if as_json:
        emit_json(document(advice))
    else:
        _show(advice)
    _leave(advice, out)


def _require(options: dict[str, Any], names: tuple[str, ...]) -> None:
    """What a question needs, and --history does not."""
    for name in names:
        if options[name] is None:
            raise click.UsageError(f"Missing option '--{name.replace('_', '-')}'.")


def document(advice: HintAdvice) -> dict[str, Any]:
    subject = advice.chosen or advice.default
    counts = subject.forecast.counts
    found: dict[str, Any] = {
        "default": _entry(advice.default),
        "advice": None if advice.chosen is None else _entry(advice.chosen),
        "ranking": [_entry(one) for one in advice.ranking],
        "operations": {
            name: {"count": cost.times, "seconds": cost.seconds}
            for name, cost in subject.forecast.operations.items()
        },
        "rounds": counts.rounds,
        "writes": counts.writes,
        "sends": counts.sends,
        "reasons": list(advice.reasons),
        "sure": advice.sure,
        "promised": advice.promised,
        "expected": advice.expected,
    }
    if advice.trials:
        found["confirmed"] = [_trial_entry(trial) for trial in advice.trials]
    return found


def _entry(ranked: Ranked) -> dict[str, Any]:
    counts, hints = ranked.forecast.counts, ranked.candidate.hints
    return {
        "name": ranked.candidate.name,
        "cb_nodes": len(counts.aggregators) or None,
        "cb_buffer_size": hints.cb_buffer_size or DEFAULT_BUFFER_BYTES,
        "seconds": ranked.forecast.seconds,
        "first_extra_s": ranked.forecast.first_extra_s,
        "error_ratio": ranked.forecast.error_ratio,
        "collective": counts.collective,
        "hints": hints.given,
    }


def _trial_entry(trial: HintTrial) -> dict[str, Any]:
    return {"name": trial.candidate.name, "median_s": trial.median_s, "seconds": list(trial.seconds)}


def _show(advice: HintAdvice) -> None:
    from rich.table import Table

    ran = {
        trial.candidate.name: (f"{trial.median_s:.4g}", str(len(trial.seconds))) for trial in advice.trials
    }
    table = Table("candidate", box=None)
    measured = ("measured s", "runs") if ran else ()
    for heading in (*measured, "forecast s", "aggregators", "buffer", "rounds", "writes"):
        table.add_column(heading, justify="right")
    first = advice.ranking[:SHOWN]
    for one in (*first, *(one for one in advice.ranking[SHOWN:] if one.candidate.name in ran)):
        entry = _entry(one)
        counts = one.forecast.counts
        table.add_row(
            one.candidate.name,
            *(ran.get(one.candidate.name, ("", "")) if ran else ()),
            f"{one.forecast.seconds:.4g}",
            str(entry["cb_nodes"] or "-"),
            format_size(entry["cb_buffer_size"]),
            str(counts.rounds),
            str(counts.writes),
        )
    screen = console()
    screen.print(table)
    if ran:
        screen.print("measured s: the median of the runs; the advice follows these, not the forecast.")
    for reason in advice.reasons:
        screen.print(f"- {reason}")
    if advice.chosen is None:
        screen.print("advice: set no hints" if advice.sure else "advice: not sure")
    else:
        hints = " ".join(f"{name}={value}" for name, value in advice.chosen.candidate.hints.given.items())
        gain = "" if advice.expected is None else f"   (expected {advice.expected:.2f} times as fast)"
        screen.print(f"advice: {hints}{gain}", soft_wrap=True)


def _leave(advice: HintAdvice, out: Path | None) -> None:
    if out is None:
        return
    if advice.chosen is None:
        _progress("no hints advised: nothing written")
        return
    from penstock.plan.collective.outputs import write_all

    for path in write_all(out, advice.chosen.candidate.hints.given, advice.promised):
        _progress(f"wrote {path}")
