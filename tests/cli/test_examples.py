"""Every verb's help fits a terminal and ends with an example on one line that works when pasted.

The examples are pasted into one directory in the order a new user would take them: what one leaves, others read.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import darshan
import pytest
from click.testing import CliRunner
from tests.rigs.served import wait_for, why_not

from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.startup import LOG_FILE
from penstock.cli.main import cli
from penstock.emulate.mount import unmount
from penstock.plan.write.ior_results import IorRun, write_csv

EXAMPLES, FIXTURES = Path(__file__).parents[2] / "examples", Path(__file__).parents[1] / "fixtures"
# What is pasted with less to do than the help shows: the same code runs.
SHORTER = {
    "--seconds 2": "--seconds 1",
    "--scale 0.05": "--scale 0.01",
    "simulate surface ": "simulate surface --seconds 1 ",
    # Rows that need no search, or a search among quicker runs; `evaluate all` has those that the help names.
    "--only in-place-updates": "--only algorithm-2-overshoot",
    "--only table-v": "--only random-1m",
    "plan profile ": "plan profile --limit 10ms ",
    # A trial takes hours where it is worth something.
    "--on 10m --off 10m --for 8h": "--on 2s --off 2s --for 12s",
    # The folder that nodes share is a file system's.
    "/shared/penstock": "shared",
}
# These print no data: they run until they are told to end.
SERVICES = ("agent run", "simulate serve", "dash")


def verbs(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Every command by its words, groups too."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield " ".join((*path, name)), command
        if isinstance(command, click.Group):
            yield from verbs(command, (*path, name))


ALL = dict(verbs(cli))
LEAVES = {words: command for words, command in ALL.items() if not isinstance(command, click.Group)}


def help_of(words: str) -> list[str]:
    result = CliRunner().invoke(cli, [*words.split(), "--help"], terminal_width=80)
    assert result.exit_code == 0, words
    return result.output.splitlines()


def example_of(words: str) -> str:
    lines = help_of(words)
    line = lines[[text.strip() for text in lines].index("Example:") + 1].strip()
    assert line.startswith(f"penstock {words} ") or line == f"penstock {words}" or words not in LEAVES
    return line


@pytest.mark.parametrize("words", ["", *ALL])
def test_help_fits_eighty_columns_and_shows_an_example(words: str) -> None:
    assert max(map(len, help_of(words))) <= 80
    assert example_of(words).startswith("penstock")


def test_verbs_that_print_data_take_json() -> None:
    without = [words for words, verb in LEAVES.items() if "as_json" not in {p.name for p in verb.params}]
    assert without == [words for words in LEAVES if words in SERVICES]


@pytest.mark.parametrize("words", LEAVES)
def test_example_parses(words: str) -> None:
    arguments = shlex.split(example_of(words))[1 + len(words.split()) :]
    if ">" in arguments:
        arguments = arguments[: arguments.index(">")]
    ALL[words].make_context(words, arguments)


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where everything is pasted: a checkout's examples, and what users bring of their own.

    For the whole session, because tests of other files run in between.
    """
    directory = tmp_path_factory.mktemp("pasted")
    shutil.copytree(EXAMPLES, directory / "examples", ignore=shutil.ignore_patterns("*-results"))
    recordings = directory / "recordings"
    recordings.mkdir()
    for recording in FIXTURES.glob("lustre-latency/*.gz"):
        shutil.copy(recording, recordings)
    (directory / "shared" / "members").mkdir(parents=True)
    logs = Path(darshan.__file__).parent / "examples" / "example_logs"
    shutil.copy(logs / "example.darshan", directory / "app.darshan")
    rng = random.Random(6)
    sizes = itertools.product((1, 2, 4, 8), (1, 4), (512, 1024, 4096), range(3))
    runs = [
        IorRun(nodes, cores, burst * 10**6, None, (5 + nodes * cores * burst / 1000) * rng.gauss(1, 0.02))
        for nodes, cores, burst, _ in sizes
    ]
    (directory / "ior.csv").write_text(write_csv(runs))
    (directory / "share").mkdir(mode=0o700)
    ShareFolder(directory / "share", "n1").prepare()
    return directory


def environment(place: Path) -> dict[str, str]:
    binaries = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # One cache for all workers, as a user has one: the marks of policies are found once.
    session = next((above.parent for above in place.parents if above.name.startswith("popen-")), place)
    own = {"PENSTOCK_ROOT": "client", "PENSTOCK_STATE_DIR": "state", "XDG_CACHE_HOME": str(session / "cache")}
    return {**os.environ, **own, "PATH": binaries}


def paste(words: str, place: Path, codes: tuple[int, ...] = (0,)) -> None:
    line = example_of(words)
    for long, short in SHORTER.items():
        line = re.sub(rf"{long}(?!\d)", short, line)
    done = subprocess.run(
        ["bash", "-c", line], cwd=place, env=environment(place), capture_output=True, text=True,
        check=False, timeout=1800,
    )  # fmt: skip
    assert done.returncode in codes, f"{line}\n{done.stderr}"


def start(words: str, place: Path) -> subprocess.Popen[bytes]:
    line = example_of(words)
    return subprocess.Popen(
        ["bash", "-c", f"exec {line}"], cwd=place, env=environment(place), stdout=subprocess.PIPE
    )


def stop(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGTERM)
    try:
        return process.wait(timeout=600)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


LEARNING = (
    "train collect", "train fit", "train compare", "train study",
    "model show", "model check", "model predict", "model evaluate", "model explain",
)  # fmt: skip
CAMPAIGN = ("campaign run", "campaign status", "campaign cancel")
COLLECTIVE = ("plan profile", "plan collective")
BEFORE_THE_AGENT = ("snapshot", "replay", "agent check")
WITH_THE_AGENT = (
    "agent status", "agent top", "agent explain", "agent mode", "agent pause", "agent resume", "agent trial",
    "agent report", "fleet report",
)  # fmt: skip
AFTER_THE_AGENT = ("agent replay", "agent verify", "agent restore", "fleet worth")
CHAINED = (*LEARNING, *CAMPAIGN, *COLLECTIVE, *BEFORE_THE_AGENT, *WITH_THE_AGENT, *AFTER_THE_AGENT, *SERVICES)


@pytest.mark.slow
@pytest.mark.parametrize("words", [words for words in LEAVES if words not in CHAINED])
def test_example_works_when_pasted(words: str, place: Path) -> None:
    paste(words, place)


@pytest.mark.slow
@pytest.mark.parametrize(
    "chain", [LEARNING, CAMPAIGN, COLLECTIVE], ids=["learning", "campaign", "collective writes"]
)
def test_examples_work_one_after_the_other(chain: tuple[str, ...], place: Path) -> None:
    for words in chain:
        paste(words, place)


@pytest.mark.slow
def test_examples_on_a_client_work_on_the_served_one(place: Path) -> None:
    if why_not():
        pytest.skip(why_not() or "")
    serving = start("simulate serve", place)
    try:
        wait_for(lambda: (place / "client").is_mount() or serving.poll() is not None, 300)
        for words in BEFORE_THE_AGENT:
            paste(words, place)
        agent = start("agent run", place)
        try:
            # The first advice: what `explain last` explains.
            wait_for(lambda: '"event":"decision"' in logged(place).replace(" ", ""), 300)
            for words in WITH_THE_AGENT:
                paste(words, place)
        finally:
            assert stop(agent) == 0
        for words in AFTER_THE_AGENT:
            paste(words, place)
    finally:
        code = stop(serving)
        unmount(place / "client")
    assert code == 0


@pytest.mark.slow
def test_example_of_the_web_page_serves_until_it_is_told_to_end(place: Path) -> None:
    serving = start("dash", place)
    try:
        assert serving.stdout is not None
        assert serving.stdout.readline().startswith(b"http://127.0.0.1:")
    finally:
        code = stop(serving)
    assert code == 0


def logged(place: Path) -> str:
    log = place / "state" / LOG_FILE
    return log.read_text() if log.exists() else ""
