"""The committed examples still print what they are said to print."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli

ROOT = Path(__file__).parent.parent.parent
OUTPUTS = sorted((ROOT / "examples" / "schedule").glob("*.out"))


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda path: path.stem)
def test_example_prints_its_committed_output(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "100")
    command, _, expected = output.read_text().partition("\n")
    arguments = shlex.split(command.removeprefix("$ penstock "))
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and result.stdout == expected


def test_there_are_examples() -> None:
    assert len(OUTPUTS) == 4
