"""`penstock agent check`, what the configuration denies, and jobs that ask to be left alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.rigs.agents import EAGER, agent, knobs, set_knob
from tests.rigs.kills import TUNE, all_knobs
from tests.rigs.served import Served, wait_for

from penstock.agent.checking import KnobCheck, TargetCheck, closed_knobs

pytestmark = pytest.mark.live


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "penstock", "agent", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_check_says_what_would_be_found_touched_and_refused(client: Served, tmp_path: Path) -> None:
    config, before = tmp_path / "agent.toml", all_knobs(client)
    config.write_text(
        'mode = "tune"\n[scope]\ndeny_targets = ["*-OST0001"]\ndeny_knobs = ["dirty", "*-OST0000:pages"]\n'
    )
    client.control("fail OST0000 max_rpcs_in_flight write EACCES\n")
    places = ("--root", str(client.root), "--state-dir", str(tmp_path / "state"), "--config", str(config))
    found = json.loads(run("check", *places, "--json").stdout)
    first, second = found["targets"]
    assert (found["mode"], found["policy"], found["agent_pid"]) == ("tune", "weir", None)
    assert second["refused"] == "out of the configured scope"
    assert first["short"] == "lustre-OST0000"
    verdicts = {knob["knob_id"]: knob["verdict"] for knob in first["knobs"]}
    assert verdicts["dirty"] == verdicts["pages"] == "denied by the configuration"
    assert {knob["knob_id"]: knob["value"] for knob in first["knobs"]} == before["OST0000"]
    assert "left alone" in run("check", *places).stdout
    assert not (tmp_path / "state").exists()
    assert all_knobs(client) == before


def test_check_finds_no_client_and_a_state_directory_not_to_be_trusted(tmp_path: Path) -> None:
    root, state = tmp_path / "root", tmp_path / "state"
    root.mkdir()
    state.mkdir()
    state.chmod(0o777)
    done = run("check", "--root", str(root), "--state-dir", str(state))
    assert done.returncode == 6
    assert "warning: no Lustre client" in done.stdout
    assert "problem: " in done.stdout and "anybody may write it" in done.stdout
    state.chmod(0o755)
    done = run("check", "--root", str(root), "--state-dir", str(state))
    assert done.returncode == 0
    assert "warning: no Lustre client" in done.stdout and "problem" not in done.stdout


def test_check_groups_equal_targets_and_names_patterns_that_match_nothing(
    client: Served, tmp_path: Path
) -> None:
    config = tmp_path / "agent.toml"
    config.write_text('[scope]\ndeny_targets = ["*-OST0001", "archive-*"]\n')
    places = ("--root", str(client.root), "--state-dir", str(tmp_path / "state"))
    done = run("check", *places, "--config", str(config))
    assert done.returncode == 0
    assert "warning: [scope] deny_targets 'archive-*' matches nothing here" in done.stdout
    assert "*-OST0001' matches" not in done.stdout
    lines = run("check", *places).stdout.splitlines()
    assert sum(line.endswith(": may be tuned") for line in lines) == 3
    assert any(line.startswith("lustre-OST0000 and 1 more") for line in lines)
    assert len(json.loads(run("check", *places, "--json").stdout)["targets"]) == 2


def test_knob_that_cannot_be_written_is_one_problem_for_all_targets() -> None:
    closed = KnobCheck("pages", 1, 1, 2, "read-only file system", "read-only file system")
    found = [TargetCheck(f"t{i}", f"t{i}", "fs", "FULL", None, (closed,)) for i in range(3)]
    dead = TargetCheck("x", "x", "fs", "FULL", "no such device", (), faulty=True)
    assert list(closed_knobs([*found, dead])) == [
        "x: no such device",
        "t0 and 2 more: pages: read-only file system",
    ]


def test_denied_knobs_never_move_though_others_do(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    rules = '[scope]\ndeny_knobs = ["dirty", "lustre-OST0000:pages"]\n'
    (tmp_path / "state.toml").write_text(EAGER.replace("[guard]", rules + "[guard]"))
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: knobs(client)["flight"] != before["OST0000"]["flight"])
        wait_for(lambda: knobs(client, "OST0001")["pages"] != before["OST0001"]["pages"])
        for _ in range(20):
            assert knobs(client)["pages"] == before["OST0000"]["pages"]
        wait_for(lambda: all(now["dirty"] == before[ost]["dirty"] for ost, now in all_knobs(client).items()))
        moved = {change.split()[0] for event in running.events("decision") for change in event["made"]}
        assert "dirty" not in moved
        assert running.stop() == 0
    assert all_knobs(client) == before


def test_job_that_asks_to_be_left_alone_is(client: Served, tmp_path: Path) -> None:
    before = all_knobs(client)
    with agent(client, tmp_path / "state", *TUNE) as running:
        wait_for(lambda: all_knobs(client) != before)
        jobs = running.state_dir / "jobs"
        (jobs / "77.begin").write_text("alice\noff\n")
        wait_for(lambda: running.ask("status")["hands_off"] == ["77"])
        wait_for(lambda: all_knobs(client) == before)
        ticks = running.ask("status")["ticks"]
        wait_for(lambda: running.ask("status")["ticks"] > ticks + 10)
        assert all_knobs(client) == before
        (job,) = running.events("job")
        assert (job["job"], job["hands_off"]) == ("77", True)
        (jobs / "77.end").write_text("alice\n")
        wait_for(lambda: all_knobs(client) != before)
        assert running.stop() == 0
        assert "job 77 asked to be left alone" in running.said()
    assert all_knobs(client) == before


def test_job_that_the_client_names_is_known_without_a_hook(client: Served, tmp_path: Path) -> None:
    said = client.root / "sys/fs/lustre"
    with agent(client, tmp_path / "state") as running:
        (said / "jobid_name").write_text("4711\n")
        (said / "jobid_var").write_text("nodelocal\n")
        wait_for(lambda: running.ask("status")["jobs"] == ["4711"])
        (said / "jobid_var").write_text("disable\n")
        wait_for(lambda: running.ask("status")["jobs"] == [])
        assert [(job["job"], job["what"]) for job in running.events("job")] == [
            ("4711", "begin"),
            ("4711", "end"),
        ]
        assert running.stop() == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('policy = "wier"', "key 'policy': unknown policy 'wier'; did you mean \"weir\"?"),
        ('policy = "absent.py"', "key 'policy': 'absent.py': no such file"),
        (
            'mode = "tun"',
            "key 'mode': must be one of observe, advise, tune, got 'tun'; did you mean \"tune\"?",
        ),
    ],
)
def test_bad_word_in_a_configuration_names_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    config = tmp_path / "agent.toml"
    config.write_text(f"{text}\n")
    done = run("run", "--config", str(config), "--root", str(tmp_path), "--state-dir", str(tmp_path / "s"))
    assert done.returncode == 5
    assert done.stderr == f"penstock: {config}: {said}\n"


def test_policy_file_that_is_not_there_is_told_by_every_command(tmp_path: Path) -> None:
    for verb in ("run", "check"):
        done = run(verb, "--policy", "absent.py", "--root", str(tmp_path), "--state-dir", str(tmp_path / "s"))
        assert (done.returncode, done.stderr) == (3, "penstock: absent.py: no such file\n")


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A directory that everybody can reach, unlike those of other tests."""
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield Path(place)


@pytest.mark.parametrize("closed", [".", "state"])
@pytest.mark.parametrize(
    "verb", [("status",), ("report",), ("explain", "abc"), ("verify",), ("restore",), ("top", "--once")]
)
def test_state_directory_that_cannot_be_read_exits_4(
    verb: tuple[str, ...], closed: str, open_place: Path
) -> None:
    state = open_place / "state"
    state.mkdir()
    (open_place / closed).chmod(0o700)
    done = as_nobody("agent", *verb, "--state-dir", str(state))
    assert done.returncode == 4, done.stderr
    assert "permission denied" in done.stderr.lower()
    assert len(done.stderr.splitlines()) == 1


def test_file_that_cannot_be_read_exits_4(open_place: Path) -> None:
    (open_place / "data").mkdir(mode=0o700)
    done = as_nobody("train", "fit", "--data", str(open_place / "data"), "--out", "model.json")
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert "is not readable" in done.stderr


def as_nobody(*words: str) -> subprocess.CompletedProcess[str]:
    # Imports come first: the interpreter's own files may lie where nobody may look.
    script = f"""
import os, sys, {PRELOAD}
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv = ["penstock", *sys.argv[1:]]
penstock.cli.main.main()
"""
    return subprocess.run([sys.executable, "-c", script, *words], capture_output=True, text=True, check=False)


PRELOAD = (
    "penstock.agent.commands, penstock.agent.summary, penstock.agent.control, penstock.actuate.recovery, "
    "penstock.cli.agent, penstock.cli.agent_control, penstock.cli.agent_report, penstock.cli.agent_top, "
    "penstock.cli.main, penstock.cli.recover, penstock.cli.train, rich.table, rich.console, encodings.ascii"
)


def test_journal_of_a_newer_version_is_refused_and_kept(client: Served, tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o750)
    journal = state / "journal.json"
    journal.write_text('{"format": 99, "checksum": "of another kind", "body": {"targets": []}}')
    journal.chmod(0o600)
    (state / "journal.previous.json").write_text("{}")
    set_knob(client, "OST0000", "flight", 64)
    for verb in (("run", "--mode", "tune"), ("restore",), ("verify",), ("check",)):
        done = run(*verb, "--root", str(client.root), "--state-dir", str(state))
        assert done.returncode == 5
        assert "format 99 of a newer Penstock" in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert json.loads(journal.read_text())["format"] == 99
    assert knobs(client)["flight"] == 64
