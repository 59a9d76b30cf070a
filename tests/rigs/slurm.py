"""A real Slurm on this host for tests: munge, controller and one node daemon, without systemd, on free ports.

Needs root and Debian's packages `slurm-wlm` and `munge`. Everything lives below one directory and ends with the
`with` block: jobs are cancelled first, then the daemons are stopped by their process ids.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.rigs.freeport import free_port
from tests.rigs.served import wait_for

PROGRAMS = ("munged", "slurmctld", "slurmd", "squeue", "sbatch", "scontrol", "scancel")
PARTITION = "batch"
# What the node claims to have, so that jobs may ask for some; nobody counts what they use.
_MEMORY_MIB = 65536
_STOP_S = 120.0
_START_S = 600.0

_CONF = """
ClusterName=penstock
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
MpiDefault=none
ReturnToService=2
KillWait=1
BatchStartTimeout=60
CompleteWait=0
PropagateResourceLimits=NONE
SlurmdParameters=config_overrides
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName={partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> tuple[str, ...]:
    """Which programs of Slurm and munge this machine lacks."""
    return tuple(name for name in PROGRAMS if shutil.which(name, path=_path()) is None)


def _path() -> str:
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


@dataclass(slots=True)
class Slurm:
    """A running Slurm; `environment` makes its commands talk to it."""

    home: Path
    environment: Mapping[str, str]
    _daemons: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def run(self, *command: str, check: bool = True) -> str:
        """A command of Slurm's (or any other, in the same environment); returns what it printed."""
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=_START_S
        )
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr}")
        return done.stdout

    def submit(self, script: str, *options: str) -> str:
        """Submit a batch script (its body, without the first line); returns the job's id."""
        path = self.home / f"job-{secrets.token_hex(4)}.sh"
        path.write_text(f"#!/bin/sh\n{script}\n")
        out = ("--output", str(self.home / "%j.out"), "--open-mode=append")
        return self.run("sbatch", "--parsable", *out, *options, str(path)).strip()

    def output(self, job: str) -> str:
        """What a batch job has printed so far."""
        path = self.home / f"{job}.out"
        return path.read_text() if path.exists() else ""

    def state(self, job: str) -> str:
        """A job's state, such as PENDING, RUNNING or COMPLETED."""
        shown = self.run("scontrol", "--oneliner", "show", "job", job, check=False)
        words = dict(word.split("=", 1) for word in shown.split() if "=" in word)
        return words.get("JobState", "UNKNOWN")

    def active_jobs(self) -> list[str]:
        """Ids of the jobs that wait, run or are completing."""
        return self.run("squeue", "--noheader", "--format=%A").split()

    def wait_until_saved(self, job: str) -> None:
        """Wait until the controller's file of jobs holds the job as it is now.

        slurmctld writes that file up to some seconds after a change. A job it has not written yet is lost when it is
        killed, whatever we do. Writes are in order, so a mark made now is in the file only after the present state.
        """
        mark = f"saved-{secrets.token_hex(8)}"
        self.run("scontrol", "update", f"jobid={job}", f"admincomment={mark}")
        state = self.home / "state" / "job_state"
        wait_for(lambda: state.exists() and mark.encode() in state.read_bytes(), _START_S)

    def start(self, name: str, *command: str) -> None:
        """Start a daemon that was not running."""
        log = (self.home / f"{name}.out").open("ab")
        with log:
            self._daemons[name] = subprocess.Popen(
                command, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def start_controller(self) -> None:
        """Start slurmctld and wait until it answers."""
        self.start("slurmctld", "slurmctld", "-D", "-f", str(self.home / "slurm.conf"))
        wait_for(lambda: "UP" in self.run("scontrol", "ping", check=False), _START_S)

    def kill(self, name: str) -> None:
        """End a daemon as a crash does."""
        self._daemons[name].kill()
        self._daemons[name].wait()

    def stop(self) -> None:
        """Cancel all jobs and stop every daemon."""
        with contextlib.suppress(RuntimeError, subprocess.TimeoutExpired, TimeoutError):
            self.run("scancel", *self.active_jobs(), check=False)
            wait_for(lambda: not self.active_jobs(), _STOP_S)
        for process in reversed(list(self._daemons.values())):
            process.terminate()
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@contextlib.contextmanager
def slurm(home: Path, *, cpus: int = 16, settings: Sequence[str] = ()) -> Iterator[Slurm]:
    """A Slurm with one node of `cpus` processors; `settings` are further lines of slurm.conf."""
    for name in ("state", "spool"):
        (home / name).mkdir(parents=True)
    host = socket.gethostname().split(".")[0]
    text = _CONF.format(
        host=host,
        home=home,
        controller_port=free_port(),
        node_port=free_port(),
        cpus=cpus,
        memory=_MEMORY_MIB,
        partition=PARTITION,
    )
    (home / "slurm.conf").write_text(text + "\n".join(settings) + "\n")
    environment = {"PATH": _path(), "SLURM_CONF": str(home / "slurm.conf"), "HOME": str(home), "USER": "root"}
    cluster = Slurm(home, environment)
    try:
        _start_munge(cluster)
        cluster.start_controller()
        cluster.start("slurmd", "slurmd", "-D", "-f", str(home / "slurm.conf"))
        wait_for(lambda: "idle" in cluster.run("sinfo", "--noheader", "--format=%T", check=False), _START_S)
        yield cluster
    finally:
        cluster.stop()


def _start_munge(cluster: Slurm) -> None:
    key = cluster.home / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    places = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munge.pid"}
    places |= {"log-file": "munge.log", "seed-file": "munge.seed"}
    options = [f"--{name}={cluster.home / file}" for name, file in places.items()]
    # The directory is the test's own and not open to everybody, as munge would have it.
    cluster.start("munged", "munged", "--foreground", "--force", *options)
    wait_for((cluster.home / "munge.socket").exists, _START_S)
