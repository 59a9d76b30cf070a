"""`simulate run --model`, and that some rows of an experiment are no verdict on all of them."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.cli.main import cli
from penstock.errors import PenstockError
from penstock.evaluate.report import build

RUN = ["simulate", "run", "--workload", "s_rd_rn_1m", "--seconds", "3", "--json"]


def test_model_file_is_asked_by_the_policy(tmp_path: Path) -> None:
    shipped = resources.files("penstock.predict").joinpath("printed.json").read_bytes()
    (tmp_path / "mine.json").write_bytes(shipped)
    (tmp_path / "bad.json").write_bytes(shipped[:1000])
    with_it = CliRunner().invoke(cli, [*RUN, "--policy", "carat", "--model", "mine.json"])
    without = CliRunner().invoke(cli, [*RUN, "--policy", "carat"])
    figure = '"app_mbps": '
    assert with_it.stdout.split(figure)[1].split(",")[0] == without.stdout.split(figure)[1].split(",")[0]
    bad = CliRunner().invoke(cli, [*RUN, "--policy", "carat", "--model", "bad.json"])
    assert isinstance(bad.exception, PenstockError)
    assert "bad.json" in str(bad.exception)


@pytest.mark.parametrize("words", [[], ["--policy", "climb"], ["--policy", "best-static"]])
def test_model_that_nobody_would_ask_is_refused(words: list[str]) -> None:
    result = CliRunner().invoke(cli, [*RUN, *words, "--model", "mine.json"])
    assert "--model mine.json: give it with a --policy that uses one" in str(result.exception)


@pytest.mark.slow
def test_report_begins_with_the_answer_and_has_every_row(tmp_path: Path) -> None:
    words = ["evaluate", "static", "--only", "s_rd_rn_1m", "--policy", "default", "--policy", "carat"]
    out = ["--seconds", "1", "--workers", "1", "--fresh", "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(cli, [*words, *out])
    assert result.exception is None
    page = (tmp_path / "out" / "report.md").read_text()
    assert "**default** gets 1.00 times what the default gets, over one simulated case" in page
    assert "s_rd_rn_1m" in page
    assert build(json.loads((tmp_path / "out" / "results.json").read_text()))[1] == page
