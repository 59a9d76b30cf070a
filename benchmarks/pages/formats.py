"""Reference of the JSON that commands print, from what they print: each is run when the page is made."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.pages.markdown import code, fence, page
from benchmarks.pages.shapes import shape
from tests.rigs.agents import AgentProcess, agent
from tests.rigs.served import served, wait_for

from penstock.agent.log import read_log
from penstock.agent.startup import LOG_FILE
from penstock.cli.main import cli
from penstock.events import dump

EXAMPLES = Path(__file__).parents[2] / "examples"
LEAD = """\
Every command below was run when this page was made; keys, types and examples are those of its answer. With
`--json` a command prints one document on stdout and nothing else there. Keys may be added in later versions;
those that are here stay. Units are in the names: `_s` seconds, `_us` microseconds, `_bytes` bytes, `_mbps` 10^6
bytes per second, `_ratio` a part of 1. What is not known is `null`, never 0."""
OFFLINE = (
    "simulate run --workload s_rd_rn_1m --policy weir --seconds 3 --warmup 1 --json",
    "evaluate scenarios {examples}/scenario.toml --policy climb --no-search --seconds 3 --json",
    "plan write --system titan --nodes 128 --cores 4 --burst 100MB --adapt --json",
    "schedule allocate {examples}/schedule/set.json --allocation bestbdw --json",
    "schedule simulate {examples}/schedule/set.json --allocation nsys --placement greedy-non-clairvoyant --json",
    "schedule advise {examples}/schedule/site.toml --json",
    "model show default --json",
)
CLIENT = ("snapshot --json", "agent check --json")
AGENT = ("agent status --json", "agent explain last --json", "agent report --json")
AFTER = ("agent replay --json", "agent verify --json", "agent restore --json")
EVENTS = """\
`/var/lib/penstock/decisions.jsonl` holds one JSON document a line. A decision is there before its knob moves;
the line `outcome` that follows says what became of it. A decision holds all it was made from."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A command and the document it printed."""

    command: str
    document: Any


@functools.cache
def samples() -> tuple[tuple[Sample, ...], tuple[Any, ...]]:
    """What all commands print, and the events of the agent's log, one of each kind."""
    with tempfile.TemporaryDirectory(prefix="penstock-pages-") as place:
        with _on_a_client(Path(place)) as (online, log):
            offline = [_ask(words.format(examples=EXAMPLES)) for words in OFFLINE]
        events = {event.kind: dump(event) for event in read_log(log)}
    return (*online, *_named(offline)), tuple(events.values())


def text() -> str:
    """The page."""
    answers, events = samples()
    parts = [LEAD]
    for answer in answers:
        title = " ".join(answer.command.split()[:2]).replace(" --json", "")
        parts += [
            f"## {code(f'penstock {title}')}",
            fence(f"penstock {answer.command}"),
            shape(answer.document),
        ]
    parts += ["## The decision log", EVENTS]
    for event in events:
        parts += [f"### Event {code(event['event'])}", shape(event)]
    return page("JSON formats", *parts)


def _named(answers: list[Sample]) -> list[Sample]:
    """With the paths a reader would type."""
    return [Sample(each.command.replace(f"{EXAMPLES}", "examples"), each.document) for each in answers]


@contextlib.contextmanager
def _on_a_client(place: Path) -> Iterator[tuple[list[Sample], Path]]:
    """What commands print on a served client, before, beside and after an agent that tunes it."""
    answers: list[Sample] = []
    state = place / "state"
    where = {"PENSTOCK_ROOT": str(place / "client"), "PENSTOCK_STATE_DIR": str(state)}
    with served(place / "client", plain=True) as client, _environment(where):
        answers += [_ask(words) for words in CLIENT]
        with agent(client, state, "--mode", "tune", "--policy", "climb") as running:
            wait_for(lambda: _judged(running))
            answers += [_ask(words) for words in AGENT]
            running.stop()
        answers += [_ask(words) for words in AFTER]
    yield answers, state / LOG_FILE


def _judged(running: AgentProcess) -> bool:
    return len(running.events("decision")) > 2


@contextlib.contextmanager
def _environment(names: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(names)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _ask(words: str) -> Sample:
    """Run a command in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        cli.main(words.split(), prog_name="penstock", standalone_mode=False)
    return Sample(
        words, json.loads(printed.getvalue().replace(os.environ.get("PENSTOCK_ROOT", "/client"), "/"))
    )
