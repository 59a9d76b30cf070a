"""Advice in the forms jobs take it: a ROMIO hints file, environment lines, a Slurm TaskProlog."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from penstock.errors import refusal
from penstock.plan.hints import check_hint, hints_file


def environment(hints: Mapping[str, str], path: Path, pattern: str = "*") -> dict[str, str]:
    """The variables that make a job use the hints: ROMIO reads a file, Cray's MPI a list by file pattern."""
    for name, value in hints.items():
        check_hint(name, value)
    # Cray's list separates hints by colons, which its own cb_config_list therefore cannot hold.
    words = [f"{name}={value}" for name, value in hints.items() if ":" not in value]
    return {"ROMIO_HINTS": str(path), "MPICH_MPIIO_HINTS": ":".join([pattern, *words])}


def shell_lines(variables: Mapping[str, str]) -> str:
    """Lines for a job script."""
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def task_prolog(variables: Mapping[str, str]) -> str:
    """A Slurm TaskProlog: what it prints as `export NAME=value` reaches every task; it never fails a job."""
    lines = [f"echo {shlex.quote(f'export {name}={value}')}" for name, value in variables.items()]
    return "\n".join(["#!/bin/sh", *lines, "exit 0", ""])


def write_all(directory: Path, hints: Mapping[str, str], promised: float | None = None) -> list[Path]:
    """Leave hints file, environment lines and TaskProlog in a directory and name them."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        home = directory.resolve()
        variables = environment(hints, home / "romio_hints")
        texts = {
            "romio_hints": hints_file(hints, promised),
            "environment.sh": shell_lines(variables),
            "task_prolog.sh": task_prolog(variables),
        }
        for name, text in texts.items():
            (home / name).write_text(text, encoding="utf-8")
        (home / "task_prolog.sh").chmod(0o755)
    except OSError as error:
        raise refusal(directory, error) from None
    return [home / name for name in texts]
