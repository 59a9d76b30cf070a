"""Tables at any width: rows stay identified, numbers whole, and what is left out is named."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from rich.table import Table

from penstock.cli.agent_control import _targets_table
from penstock.cli.options import console

NAMES = [
    f"s_{way}_{order}_{size}" for way in ("rd", "wr") for order in ("sq", "rn") for size in ("8k", "16m")
]
HEADINGS = (
    "default",
    "policy",
    "best of 99",
    "of default",
    "of best",
    "changes",
    "late moves",
    "last setting",
)


def results() -> Table:
    table = Table(title="what came of it")
    table.add_column("workload")
    for heading in HEADINGS:
        table.add_column(heading, justify="right")
    for number, name in enumerate(NAMES):
        figures = (f"{1234.5678 * (number + 1):,.4f}", f"{0.051234 * (number + 1):.6f}")
        table.add_row(name, *figures, *figures, *figures, figures[0], "pages=1024 flight=256 dirty=2000")
    return table


def shown(columns: int | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", str(columns))
    console().print(results())
    return capsys.readouterr().out


@pytest.mark.parametrize("columns", [40, 60, 80, 120])
def test_numbers_and_names_are_never_cut(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(columns, monkeypatch, capsys)
    assert max(map(len, text.splitlines())) <= columns
    assert "…" not in text
    assert all(name in text for name in NAMES)
    whole = {f"{1234.5678 * (n + 1):,.4f}" for n in range(8)} | {
        f"{0.051234 * (n + 1):.6f}" for n in range(8)
    }
    assert set(re.findall(r"\d[\d,]*\.\d+", text)) <= whole
    assert (whole <= set(re.findall(r"\d[\d,]*\.\d+", text))) or columns < 60
    squeezed = re.sub(r"[\s│]+", " ", text)
    assert ("too narrow for: " in squeezed) == (columns < 120)
    assert "last setting" in squeezed


def test_pipe_gets_the_full_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(None, monkeypatch, capsys)
    assert "too narrow" not in text
    assert text.count("pages=1024 flight=256 dirty=2000") == len(NAMES)
    assert len({len(line) for line in text.splitlines() if "s_" in line}) == 1


@pytest.mark.slow
def test_map_of_settings_is_whole_at_eighty_columns() -> None:
    words = ["simulate", "surface", "--workload", "s_rd_sq_16m", "--seconds", "0.2", "--warmup", "0.2"]
    done = subprocess.run(
        [sys.executable, "-m", "penstock", *words, "--workers", "1"], capture_output=True, text=True, check=True,
        env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    rows = [line.split() for line in done.stdout.replace("│", " ").splitlines()]
    assert [row[0] for row in rows if len(row) == 12] == [str(2**n) for n in range(9)]
    assert "…" not in done.stdout


def test_report_at_eighty_columns_holds_the_ids_that_explain_takes(tmp_path: Path) -> None:
    change = {
        "changes": ["pages 1024 -> 16", "flight 8 -> 64"],
        "made": ["pages 1024 -> 16", "flight 8 -> 64"],
    }
    events = [
        {"event": "decision", "id": f"{number:012x}", "time_s": time.time(), "fs": "lustre", "reason": "try",
         "target": f"lustre-OST{number:04x}-osc-ff1100010a938000", "resource": f"OST{number:04x}", **change}
        for number in range(3)
    ]  # fmt: skip
    (tmp_path / "decisions.jsonl").write_text("".join(f"{json.dumps(event)}\n" for event in events))
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "agent", "report", "--state-dir", str(tmp_path)],
        capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "last [id]" in done.stdout
    assert all(f"[{number:012x}]" in done.stdout for number in range(3))
    assert all(f"lustre-OST{number:04x} " in done.stdout for number in range(3))


def test_status_names_the_knobs_that_are_left_to_an_administrator() -> None:
    rates = {"read_bytes_per_s": 0.0, "write_bytes_per_s": 0.0}
    theirs = "resting; left to its administrator: flight"
    rows: list[dict[str, Any]] = [
        {
            "short": "a",
            "fs": "s",
            "state": "admin's",
            "words": "resting; left to its administrator: flight",
            "setting": {"flight": 24},
            **rates,
            "sentence": "resting",
            "manual": ["flight"],
        },
        # As an agent of an earlier version says it.
        {"short": "b", "fs": "s", "setting": {"flight": 8}, **rates, "sentence": None},
        {"short": "c", "fs": "s", "setting": {"flight": 8}, **rates, "sentence": None},
    ]
    words = list(_targets_table(rows).columns[-1].cells)
    assert words == [theirs, "idle"]
    assert list(_targets_table(rows).columns[0].cells) == ["a", "b and 1 more"]
