"""A configuration of the earlier version is read, and every key of it that is outdated is named once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.agent.old_guard_keys import CHANGED, GONE, RENAMED, old_key_notes
from penstock.agent.run_start import RunStart, parse_start
from penstock.agent.settings import AgentConfig, GuardSection, read_settings
from penstock.cli.main import cli

ROOT = Path(__file__).parents[2]
OLD = ROOT / "tests" / "config_cases" / "good" / "agent-old-guard.toml"


def test_every_old_key_is_read_and_named_once() -> None:
    assert read_settings(OLD).guard == GuardSection(price=0.01, reference_error=0.2)
    notes = old_key_notes(OLD)
    keys = [note.split("'")[1] for note in notes]
    assert sorted(keys) == sorted(f"guard.{key}" for key in (*RENAMED, *GONE, *CHANGED))
    assert all(note.startswith(f"{OLD}: key 'guard.") and "\n" not in note for note in notes)


def test_new_key_wins_over_the_old_one_and_the_note_says_so(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text("[guard]\nprice = 0.03\nloss_share = 0.5\n")
    assert read_settings(path).guard.price == 0.03
    (note,) = old_key_notes(path)
    assert "not used, because 'price' is given" in note


def test_old_keys_of_a_drop_in_are_named_too(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text("[guard]\nprice = 0.03\n")
    (tmp_path / "agent.toml.d").mkdir()
    (tmp_path / "agent.toml.d" / "site.toml").write_text("[guard]\nhold_s = 5\n")
    assert [note.split("'")[1] for note in old_key_notes(path)] == ["guard.hold_s"]


@pytest.mark.parametrize("text", ["mode = 'advise'\n", "[guard]\nreference_error = 0.2\nprice = 0.01\n"])
def test_file_of_this_version_has_no_notes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(text)
    assert old_key_notes(path) == ()
    assert old_key_notes(None) == ()


def test_check_shows_the_notes(tmp_path: Path) -> None:
    command = ["agent", "check", "--root", str(tmp_path), "--state-dir", str(tmp_path / "state")]
    shown = CliRunner().invoke(cli, [*command, "--config", str(OLD)])
    assert shown.output.count("note: ") == len(RENAMED) + len(GONE) + len(CHANGED)
    told = CliRunner().invoke(cli, [*command, "--config", str(OLD), "--json"])
    assert json.loads(told.stdout)["notes"] == list(old_key_notes(OLD))


def test_recording_of_the_earlier_version_says_how_its_run_began() -> None:
    start = RunStart("0.1.0", "weir", "", "survey", None, 1, 0.5, 100.0, AgentConfig().guard)
    old = {
        "loss_share": 0.04,
        "loss_window_s": 600.0,
        "hold_s": 10.0,
        "hold_most_s": 600.0,
        "forgive_s": 300.0,
    }
    said = {**start.fields(), "limits": old}
    assert parse_start(said).limits == GuardSection(price=0.04)


def test_documents_say_what_became_of_every_old_key() -> None:
    page = (ROOT / "docs" / "explanation" / "safety.md").read_text()
    table = page[page.index("| key before | now |") :]
    for key in (*RENAMED, *GONE, *CHANGED):
        assert f"\n| `{key}` |" in table


@pytest.mark.parametrize("reason", ["guard.certainty", "guard.hold"])
def test_log_of_the_earlier_version_is_read_and_shown(tmp_path: Path, reason: str) -> None:
    line = {
        "event": "decision",
        "id": "d1",
        "time_s": 1.0,
        "target": "a",
        "reason": reason,
        "sentence": "said",
    }
    line |= {"before": {}, "wanted": {}, "changes": []}
    (tmp_path / "decisions.jsonl").write_text(json.dumps(line) + "\n")
    shown = CliRunner().invoke(cli, ["agent", "explain", "d1", "--state-dir", str(tmp_path)])
    assert shown.exit_code == 0
    assert f"said [{reason}]" in shown.output
