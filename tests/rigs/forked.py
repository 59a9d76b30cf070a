"""The `penstock` command in many processes at once, each forked from one that has it loaded already.

That one process serves all tests of a test run, so each command brings the environment of the test that starts it.
"""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from pathlib import Path

_PRELOAD = ["penstock.cli.schedule_advise", "penstock.schedule.lifecycle", "tests.rigs.forked"]


@contextmanager
def command_server(preload: Sequence[str] = _PRELOAD) -> Iterator[ForkServerContext]:
    """What starts the processes; it loads the modules once, before the first of them."""
    context = get_context("forkserver")
    context.set_forkserver_preload(list(preload))
    yield context


def start_command(context: ForkServerContext, arguments: Sequence[str], output: Path) -> ForkServerProcess:
    """`penstock ARGUMENTS` in a process of its own; both its outputs go to `output`."""
    process = context.Process(
        target=_main, args=(list(arguments), str(output), dict(os.environ)), daemon=True
    )
    process.start()
    return process


def _main(arguments: list[str], output: str, environment: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with Path(output).open("w", encoding="utf-8") as stream:
        sys.stdout = sys.stderr = stream
        sys.argv = ["penstock", *arguments]
        runpy.run_module("penstock", run_name="__main__")
