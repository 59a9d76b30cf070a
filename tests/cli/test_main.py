"""The command as users run it: real processes, exit codes, pipes and signals."""

from __future__ import annotations

import json
import os
import pty
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.cli.main import main

PENSTOCK = [sys.executable, "-m", "penstock"]
TREE = Path(__file__).parent.parent / "fixtures/lustre-2.15.8/tree"


def run(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*PENSTOCK, *args], capture_output=True, text=True, env={**os.environ, **env}, check=False
    )


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = "import sys, penstock.cli.main; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert not {"numpy", "rich", "pydantic", "numba", "scipy", "sklearn"} & set(loaded)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = run("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result.returncode == 0
    assert "Example:\n    penstock demo\n" in result.stdout
    print(f"--help: {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.3f} s of CPU")  # noqa: T201


@pytest.mark.parametrize("group", ["simulate", "train", "model", "evaluate", "campaign", "fleet"])
def test_help_of_a_group_lists_its_commands_uncut(group: str) -> None:
    lines = run(group, "--help").stdout.splitlines()
    listed = lines[lines.index("Commands:") + 1 :]
    assert sum(line[:3] not in ("   ", "") for line in listed) >= 3
    assert [line for line in listed if line.endswith("...")] == []


def test_version_is_printed() -> None:
    assert run("--version").stdout.startswith("penstock, version ")


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (["dmo"], 2, "no such command 'dmo'; did you mean \"demo\"?"),
        (["fleet", "reprot"], 2, "no such command 'reprot'; did you mean \"report\"?"),
        (["demo", "--polcy", "x"], 2, "No such option '--polcy'"),
        (["demo", "--policy", "clim"], 2, 'did you mean "climb"?'),
        (["demo", "--seed", "x"], 2, "Invalid value for '--seed'"),
        (["demo", "--config", "nowhere.toml"], 3, "nowhere.toml: no such file"),
        (["demo", "--config", "."], 5, ".: not a regular file"),
        (["demo", "--out", "no/such/dir.html"], 3, "no/such/dir.html: no such directory"),
        (["demo", "--out", "."], 1, ".: Is a directory"),
    ],
)
def test_bad_input_gets_one_line_and_its_exit_code(
    args: list[str],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["penstock", *args])
    with pytest.raises(SystemExit) as leaving:
        main()
    said = capsys.readouterr()
    assert leaving.value.code == code
    assert said.out == ""
    assert message in said.err
    assert said.err.count("\n") == 1


def test_bad_input_ends_a_real_process_with_its_exit_code() -> None:
    result = run("dmo")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1


@pytest.mark.slow
def test_demo_json_is_one_document_and_leaves_a_report(tmp_path: Path) -> None:
    result = run("demo", "--json", "--seed", "4")
    document = json.loads(result.stdout)
    assert document["tuned_end_mbps"] > document["default_end_mbps"]
    assert result.stderr in ("", "penstock: compiling the simulator, once (about half a minute)\n")
    page = (tmp_path / "penstock-demo.html").read_text()
    # Two clients and two knobs, each with its line in the legend, drawn for wide and for narrow screens.
    assert page.count("<polyline") == 2 * 2 * 4
    assert "http" not in page


@pytest.mark.slow
def test_demo_piped_has_no_colour_and_fits_forty_columns() -> None:
    result = run("demo", COLUMNS="40")
    assert "\x1b" not in result.stdout
    shown, _, commands = result.stdout.partition("Next:\n")
    assert max(map(len, shown.splitlines())) <= 40
    # Commands to paste stay on one line each.
    assert commands.splitlines()
    assert {Path(line.split()[0]).name for line in commands.splitlines()} == {"penstock"}


def test_reader_that_leaves_is_no_error() -> None:
    command = f"{sys.executable} -m penstock snapshot --root {TREE} --json | head -c 1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "{", "")


@pytest.mark.slow
def test_interrupt_ends_the_live_screen_with_130() -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(sys.executable, [*PENSTOCK, "demo"])
    shown = b""
    while b"default" not in shown:
        shown += os.read(terminal, 4096)
    time.sleep(0.3)
    os.kill(pid, signal.SIGINT)
    shown += _drain(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert b"Traceback" not in shown
    assert b"penstock: interrupted" in shown


def _drain(terminal: int) -> bytes:
    shown = b""
    while True:
        try:
            more = os.read(terminal, 65536)
        except OSError:
            return shown
        if not more:
            return shown
        shown += more


def test_completion_knows_the_verbs() -> None:
    script = run(_PENSTOCK_COMPLETE="bash_source")
    assert "_penstock_completion" in script.stdout
    verbs = run(_PENSTOCK_COMPLETE="bash_complete", COMP_WORDS="penstock d", COMP_CWORD="1")
    assert "plain,demo" in verbs.stdout
    policies = run(_PENSTOCK_COMPLETE="bash_complete", COMP_WORDS="penstock demo --policy c", COMP_CWORD="3")
    assert "plain,climb" in policies.stdout


def test_no_verb_shows_the_help_and_is_a_usage_error() -> None:
    result = run()
    assert result.returncode == 2
    assert "Commands:" in result.stderr
