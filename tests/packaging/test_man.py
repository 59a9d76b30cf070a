"""The manual page renders without a warning and knows every verb and option of the agent."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from penstock.cli.agent import AgentGroup, agent
from penstock.errors import ExitCode


@pytest.fixture(scope="module")
def page(packaging: Path, tool: Callable[[str, str], str]) -> str:
    """The page as a terminal of 80 columns shows it."""
    command = [
        tool("man", "man-db"),
        "--warnings",
        "-E",
        "UTF-8",
        "-l",
        str(packaging / "man/penstock-agent.8"),
    ]
    environment = {**os.environ, "MANWIDTH": "80", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stderr == ""
    return done.stdout


def test_man_page_fits_a_terminal(page: str) -> None:
    assert all(len(line) <= 80 for line in page.splitlines())


def test_man_page_names_every_verb(page: str) -> None:
    for verb in AgentGroup.verbs:
        assert f"\n       {verb}" in page or f", {verb}" in page, verb


def test_man_page_names_every_option_of_run(page: str) -> None:
    run = agent.get_command(click.Context(agent), "run")
    assert run is not None
    for parameter in run.params:
        assert parameter.opts[0] in page, parameter.opts[0]


def test_man_page_names_every_exit_code(page: str) -> None:
    status = " ".join(page[page.index("EXIT STATUS") :].split())
    for code in ExitCode:
        assert f"{int(code)} " in status
