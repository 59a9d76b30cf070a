"""Configuration fails by example: every file in config_cases is a test."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock import config
from penstock.agent.settings import AgentConfig, ScopeSection
from penstock.cli.main import cli
from penstock.config import Section, load, load_layered
from penstock.errors import AccessError, ConfigError, ExitCode, MissingError
from penstock.evaluate.demo import DemoConfig
from penstock.schedule.site import SiteSection
from penstock.simulate.scenario import ScenarioFile
from penstock.snapshot import Target

CASES = Path(__file__).parent / "config_cases"
SCHEMAS: dict[str, type[Section]] = {
    "demo": DemoConfig,
    "agent": AgentConfig,
    "site": SiteSection,
    "scenario": ScenarioFile,
}


def schema_of(path: Path) -> type[Section]:
    """A case's first word names what it configures."""
    return SCHEMAS[path.name.split("-")[0]]


def expected_error(path: Path) -> str:
    first = path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")[0].decode()
    return first.removeprefix("# error: ") if first else "empty"


@pytest.mark.parametrize("path", sorted((CASES / "good").iterdir()), ids=lambda p: p.stem)
def test_config_good_case_loads(path: Path) -> None:
    assert isinstance(load(path, schema_of(path)), Section)


@pytest.mark.parametrize("path", sorted((CASES / "bad").iterdir()), ids=lambda p: p.stem)
def test_config_bad_case_gives_its_one_line_error(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load(path, schema_of(path))
    assert str(caught.value) == f"{path}: {expected_error(path)}"
    assert caught.value.exit_code == ExitCode.INVALID
    assert "\n" not in str(caught.value)


def test_config_bad_case_changes_no_output_file(tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    out.write_text("precious")
    bad = CASES / "bad" / "demo-unknown-key.toml"
    result = CliRunner().invoke(cli, ["demo", "--config", str(bad), "--out", str(out)])
    assert isinstance(result.exception, ConfigError)
    assert out.read_text() == "precious"


def test_config_missing_file_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match=r"nowhere\.toml: no such file"):
        load(tmp_path / "nowhere.toml", DemoConfig)


def test_config_directory_and_fifo_are_refused(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (tmp_path, fifo):
        with pytest.raises(ConfigError, match="not a regular file"):
            load(path, DemoConfig)


def test_config_larger_than_a_megabyte_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    path.write_text("#" * (config.MAX_CONFIG_BYTES + 1))
    with pytest.raises(ConfigError, match="1000001 bytes"):
        load(path, DemoConfig)


def test_config_writable_by_everyone_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "open.toml"
    path.write_text("interval_s = 1\n")
    path.chmod(0o666)
    with pytest.raises(ConfigError, match="writable by everyone"):
        load(path, DemoConfig)


def test_config_unreadable_file_is_a_permission_error(tmp_path: Path) -> None:
    path = tmp_path / "secret.toml"
    path.write_text("interval_s = 1\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        # Root reads everything: a process without privileges shows what users see.
        pid = os.fork()
        if pid == 0:
            os.setgid(65534)
            os.setuid(65534)
            try:
                config.read(path)
            except (AccessError, MissingError) as error:
                os._exit(error.exit_code)
            os._exit(99)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == ExitCode.PERMISSION
    else:
        with pytest.raises(AccessError):
            load(path, DemoConfig)


def test_config_nested_absurdly_deep_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.toml"
    path.write_text("x = " + "[" * 20000 + "]" * 20000)
    with pytest.raises(ConfigError):
        load(path, DemoConfig)


def layered(directory: Path, **drop_ins: str) -> Path:
    main = directory / "agent.toml"
    main.write_text("interval_s = 1\n[guard]\ndwell_s = 3\n")
    (directory / "agent.toml.d").mkdir()
    for name, text in drop_ins.items():
        (directory / "agent.toml.d" / f"{name}.toml").write_text(text)
    return main


def test_config_drop_ins_override_the_main_file(tmp_path: Path) -> None:
    main = layered(tmp_path, a="interval_s = 2\n", b='mode = "advise"\n[guard]\njitter_s = 0\n')
    found = load_layered(main, AgentConfig)
    assert (found.interval_s, found.mode, found.guard.dwell_s, found.guard.jitter_s) == (2, "advise", 3, 0)


def test_config_drop_ins_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    main = layered(tmp_path, a="[guard]\njitter_s = 1\n", b="[guard]\njitter_s = 2\n")
    with pytest.raises(ConfigError, match=r"b\.toml: key 'guard\.jitter_s' contradicts .*a\.toml"):
        load_layered(main, AgentConfig)


def test_config_drop_ins_that_agree_are_fine(tmp_path: Path) -> None:
    main = layered(tmp_path, a="interval_s = 2\n", b="interval_s = 2\n")
    assert load_layered(main, AgentConfig).interval_s == 2


def test_scope_denies_before_it_allows() -> None:
    scope = ScopeSection(allow_fs=("scratch*",), deny_targets=("*-OST0007-*",))
    assert scope.covers(Target("scratch-OST0001-osc-1", "scratch"))
    assert not scope.covers(Target("scratch-OST0007-osc-1", "scratch"))
    assert not scope.covers(Target("home-OST0001-osc-1", "home"))
