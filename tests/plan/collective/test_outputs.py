from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from penstock.errors import PenstockError, UsageError
from penstock.plan.collective.access import Access
from penstock.plan.collective.outputs import environment, shell_lines, task_prolog, write_all
from penstock.plan.collective.romio import two_phase
from penstock.units import MIB

HINTS = two_phase(4, MIB, Access(8, 1, MIB, 4096)).given


def test_files_hold_the_hints_in_each_form(tmp_path: Path) -> None:
    hints_file, shell, prolog = write_all(tmp_path / "job", HINTS)
    assert "cb_config_list *:*\n" in hints_file.read_text()
    said = subprocess.check_output(
        ["sh", "-c", f'. {shell}; echo "$ROMIO_HINTS|$MPICH_MPIIO_HINTS"'], text=True
    )
    assert said.strip() == f"{hints_file}|*:cb_nodes=4:cb_buffer_size=1048576:romio_cb_write=enable"
    lines = subprocess.check_output([str(prolog)], text=True).splitlines()
    assert f"export ROMIO_HINTS={hints_file}" in lines


def test_paths_with_spaces_survive_the_shell() -> None:
    variables = environment(HINTS, Path("/a b/romio_hints"))
    for text in (shell_lines(variables), task_prolog(variables)):
        assert subprocess.run(["sh", "-n"], input=text, text=True, check=False).returncode == 0


def test_unknown_hint_and_unwritable_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean"):
        environment({"cb_node": "3"}, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(PenstockError, match="file"):
        write_all(tmp_path / "file", HINTS)
