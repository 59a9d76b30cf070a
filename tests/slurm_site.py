"""A Slurm with the scheduling hooks as an administrator installs them, shared by all tests that need a real Slurm."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.rigs.lustre_tools import install_tools, tool_state
from tests.rigs.served import wait_for
from tests.rigs.slurm import Slurm

HOOKS = Path(__file__).parent.parent / "packaging" / "slurm"
SITE = """
[platform]
resources = 32
compute_nodes = 16
fsname = "scratch"
[[application]]
match = "ocean*"
best_count = 4
"""
PATIENCE_S = 900.0


@dataclass(frozen=True)
class Site:
    """A Slurm with our hooks, the stand-ins' file system and the ledger."""

    cluster: Slurm
    home: Path

    def ask(self, *arguments: str) -> dict[str, Any]:
        command = [str(self.home / "lustre/bin/penstock"), "schedule", "advise", str(self.home / "site.toml")]
        command += ["--ledger", str(self.home / "jobs.jsonl"), *arguments, "--json"]
        return dict(json.loads(self.cluster.run(*command)))

    def reconcile(self) -> dict[str, Any]:
        return self.ask("--reconcile", "--apply", "--exports", str(self.home / "exports"))

    def jobs(self) -> dict[str, list[int]]:
        return {job["name"]: job["resources"] for job in self.ask("--list")["jobs"]}

    def layouts(self) -> dict[str, Any]:
        return dict(tool_state(self.home / "lustre")["layouts"])

    def directory(self, name: str) -> Path:
        path = self.home / name
        path.mkdir()
        return path

    def wait_for_empty(self) -> None:
        wait_for(lambda: not self.cluster.active_jobs() and not self.jobs(), PATIENCE_S)


def install_hooks(home: Path) -> list[str]:
    """Our hooks as an administrator installs them, with everything below `home`."""
    bin_dir = install_tools(home / "lustre", 32)
    (home / "exports").mkdir()
    (home / "site.toml").write_text(SITE)
    penstock = bin_dir / "penstock"
    penstock.write_text(
        f'#!/bin/sh\nPATH={bin_dir}:$PATH\nexport PATH\nexec {sys.executable} -m penstock "$@"\n'
    )
    penstock.chmod(0o755)
    conf = home / "schedule.conf"
    settings: dict[str, object] = {
        "penstock": penstock,
        "site": home / "site.toml",
        "ledger": home / "jobs.jsonl",
    }
    settings |= {"exports": home / "exports", "log": home / "hooks.log", "most_seconds": 60}
    conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    for name in ("prolog-slurmctld.sh", "epilog-slurmctld.sh", "task-prolog.sh"):
        text = (HOOKS / name).read_text()
        assert "conf=/etc/penstock/schedule.conf" in text
        (home / name).write_text(text.replace("/etc/penstock/schedule.conf", str(conf)))
        (home / name).chmod(0o755)
    lua = (HOOKS / "job_submit.lua").read_text()
    assert "local LICENCE = nil" in lua
    (home / "job_submit.lua").write_text(lua.replace("local LICENCE = nil", 'local LICENCE = "ost_mbps"'))
    return [
        f"PrologSlurmctld={home}/prolog-slurmctld.sh",
        f"EpilogSlurmctld={home}/epilog-slurmctld.sh",
        f"TaskProlog={home}/task-prolog.sh",
        "JobSubmitPlugins=lua",
        "Licenses=ost_mbps:1000",
        # Without a database, `sacct --completion` reads finished jobs from here.
        "JobCompType=jobcomp/filetxt",
        f"JobCompLoc={home}/finished.txt",
    ]
