"""What a fleet knows is shown, carried to another folder, and forgotten, without harm to what is there."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from penstock.agent.sharing.folder import MEMBERS, ShareFolder
from penstock.agent.sharing.member_format import dump_member
from penstock.agent.sharing.told import DatedGain, MemberFile, MemberWork
from penstock.cli.main import cli
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkKind
from penstock.decide.work import Work
from penstock.errors import DataError, MissingError, PenstockError, UsageError
from penstock.knobs import Setting

HOME, SMALL = Setting(pages=1024, flight=8), Setting(pages=64, flight=16)
READS = WorkKind("scratch", "", Work("read", 20.0), HOME, (0.0, 20.0, -7.0))


@pytest.fixture
def share(tmp_path: Path) -> Path:
    path = tmp_path / "share"
    path.mkdir(mode=0o700)
    folder = ShareFolder(path, "test")
    folder.prepare()
    words = (GainWord.PROVEN, GainWord.PROVEN, GainWord.CONTRADICTED)
    for at, (word, log2) in enumerate(zip(words, (0.6, 0.7, -0.2), strict=True)):
        time_s = time.time() - at * 86400.0 * 10
        gain = DatedGain(ToldGain(log2, 0.02, 40, word), time_s)
        work = MemberWork(READS, "", {SMALL: gain})
        folder.write(MEMBERS, f"n{at}.json", dump_member(MemberFile(f"n{at}", f"1.{at}", (work,))))
    return path


def knowledge(*words: str) -> str:
    result = CliRunner().invoke(cli, ["fleet", "knowledge", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def settings(share: Path, *words: str) -> list[dict[str, Any]]:
    works = json.loads(knowledge(str(share), "--json", *words))["works"]
    return [setting for work in works for setting in work["settings"]]


def test_gains_are_means_over_nodes_with_their_intervals_and_who_agrees(share: Path) -> None:
    (one,) = settings(share)
    assert (one["nodes"], one["agree"], one["contradict"]) == (3, 2, 1)
    assert one["low"] < one["gain"] < one["high"]
    assert one["gain"] == pytest.approx(2 ** ((0.6 + 0.7 - 0.2) / 3))
    assert one["verdict"] == "undecided"
    assert "1 setting contradicted by some node" in knowledge(str(share))


def test_a_page_names_the_work_and_the_node_that_proved(share: Path, tmp_path: Path) -> None:
    knowledge(str(share), "--html", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text()
    assert "scratch: reads of 1 MiB" in text
    assert "<td>n0</td>" in text.replace("\n", "") or ">n0<" in text


def test_what_is_exported_can_be_brought_in_elsewhere_and_replaces_nobody(
    share: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "all.json", tmp_path / "other"
    knowledge(str(share), "--export", str(out))
    other.mkdir(mode=0o700)
    assert settings(other, "--import", str(out)) == settings(share)
    (other / MEMBERS / "n0.json").write_bytes(dump_member(MemberFile("n0", "2.0")))
    (one,) = settings(other, "--import", str(out))
    assert one["nodes"] == 2


def test_what_is_old_or_of_one_version_is_forgotten_on_request(share: Path) -> None:
    (one,) = settings(share, "--forget", "15d")
    assert (one["nodes"], one["contradict"]) == (2, 0)
    (one,) = settings(share, "--forget", "1.0")
    assert (one["nodes"], one["agree"]) == (1, 1)
    assert not (share / MEMBERS / "n2.json").exists()


def test_a_damaged_file_is_named_and_stays_where_it_is(share: Path) -> None:
    (share / MEMBERS / "bad.json").write_bytes(b"\x00")
    said = json.loads(knowledge(str(share), "--json"))
    assert len(said["problems"]) == 1
    assert "passed over" in said["problems"][0]
    assert (share / MEMBERS / "bad.json").exists()


@pytest.mark.parametrize(
    ("words", "error"),
    [((), MissingError), (("--forget", "yesterday"), MissingError)],
)
def test_a_folder_that_nobody_shares_is_refused_and_stays_empty(
    words: tuple[str, ...], error: type[PenstockError], tmp_path: Path
) -> None:
    with pytest.raises(error):
        CliRunner().invoke(cli, ["fleet", "knowledge", str(tmp_path), *words], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_brought_in_or_forgotten_is_refused_and_changes_nothing(
    share: Path, tmp_path: Path
) -> None:
    before = settings(share)
    (tmp_path / "bad.json").write_text(
        '{"schema": "penstock-knowledge-export", "version": 1, "members": [5]}'
    )
    for words, error in (
        (("--import", str(tmp_path / "bad.json")), DataError),
        (("--forget", "yesterday"), UsageError),
    ):
        with pytest.raises(error):
            CliRunner().invoke(cli, ["fleet", "knowledge", str(share), *words], catch_exceptions=False)
    assert settings(share) == before
