"""Commands forked from a shared process run as if the test that starts them had started them itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.forked import command_server, start_command


def test_a_command_has_the_environment_of_its_own_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process they are forked from was started earlier, with other variables."""
    said = []
    with command_server(["penstock.cli.main"]) as context:
        for missing in ("first", "second"):
            monkeypatch.setenv("PENSTOCK_STATE_DIR", str(tmp_path / missing))
            output = tmp_path / "output"
            process = start_command(context, ["agent", "status"], output)
            process.join(120)
            said.append(output.read_text())
    assert "/first" in said[0]
    assert "/second" in said[1] and "/first" not in said[1]
