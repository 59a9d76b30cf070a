"""The agent's side of the shared folder: a thread that takes a member's turns, so that the control loop never waits.

A folder that hangs keeps that one thread only. Whatever is wrong with the folder, the agent says it once, and after
a while decides alone, as if no folder were configured.
"""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from penstock.agent.filesystems import tuned_fs
from penstock.agent.settings import AgentConfig
from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.sharing.member import SILENT_S, Member
from penstock.decide.fleet_advice import FleetAdvice, WorkFindings
from penstock.errors import ConfigError, PenstockError
from penstock.threads import CoreShare, try_to_start

log = logging.getLogger(__name__)

# How often the loop hands over what it knows, and how often the thread looks whether anything is due.
HAND_S, WAKE_S = 1.0, 1.0
# A turn that takes longer hangs.
HANGS_S = 30.0
# A stop waits so long for leases to be given back.
PATIENCE_S = 1.0
CORE_SHARE = 0.05


class Sharer:
    """Hands findings to the thread and advice to the loop. Without a configured folder it does nothing."""

    def __init__(self, config: AgentConfig, root: Path, seed: int) -> None:
        knowledge = config.knowledge
        self._config, self._seed, self._root = config, seed, root
        self._node = knowledge.node or node_name()
        self._path = Path(knowledge.share) if knowledge.share else None
        self._job, self._share_jobs = "", knowledge.share_jobs
        self._findings: Sequence[WorkFindings] = ()
        #: What the fleet said last. Until it has said anything, nothing is explored.
        self._advice: FleetAdvice | None = FleetAdvice() if self._path else None
        self._problems: tuple[str, ...] = ()
        self._handed_s = float("-inf")
        #: When the thread last came back from the folder, and when it last did what it is for.
        self._back_s: float | None = None
        self._done_s: float | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def advice(self) -> FleetAdvice | None:
        """What other nodes say; None where they say nothing, and this node decides alone. It never waits."""
        return self._advice

    def hand(
        self, findings: Callable[[], Sequence[WorkFindings]], jobs: Sequence[str], now_s: float
    ) -> tuple[str, ...]:
        """Hand over what this node knows, about once a second; answers what is wrong with the folder."""
        if self._path is None or now_s - self._handed_s < HAND_S:
            return ()
        self._handed_s = now_s
        self._back_s = now_s if self._back_s is None else self._back_s
        self._done_s = now_s if self._done_s is None else self._done_s
        self._findings = findings()
        self._job = jobs[0] if self._share_jobs and len(jobs) == 1 else ""
        if now_s - self._done_s > SILENT_S:
            self._advice = None
        problems, self._problems = self._problems, ()
        if now_s - self._back_s > HANGS_S:
            return (
                *problems,
                f"{self._path}: the shared folder does not answer; the loop does not wait for it",
            )
        return problems

    def staff(self) -> None:
        """Start the thread where it is missing."""
        if (
            self._path is None
            or self._stop.is_set()
            or (self._thread is not None and self._thread.is_alive())
        ):
            return
        self._thread = threading.Thread(target=self._work, name="penstock-share", daemon=True)
        if not try_to_start(self._thread):
            self._thread = None

    def close(self) -> None:
        """Let the leases be given back; a folder that hangs is not waited for."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(PATIENCE_S)

    def _work(self) -> None:
        assert self._path is not None
        member = Member(self._node, ShareFolder(self._path, self._node), Random(self._seed), self._facts())
        opened, pace = False, CoreShare(CORE_SHARE)
        while not self._stop.wait(WAKE_S):
            try:
                now_s = time.monotonic()
                if not opened:
                    require_untuned(self._path, self._config)
                    member.open(time.time())
                    opened = True
                findings, job = self._findings, self._job
                if member.is_due(findings, job, now_s):
                    self._advice = member.turn(findings, job, now_s, time.time())
                    self._problems = tuple(member.problems)
                    member.problems.clear()
                self._done_s = time.monotonic()
            except PenstockError as error:
                self._fail(str(error))
            except OSError as error:
                self._fail(f"{self._path}: {reason(error)}")
            except Exception as error:
                log.exception("the shared folder")
                self._fail(f"{self._path}: {type(error).__name__}")
            self._back_s = time.monotonic()
            pace.rest()
        try:
            member.close()
        except (OSError, PenstockError) as error:
            log.warning("%s: leases cannot be given back: %s", self._path, error)

    def _fail(self, sentence: str) -> None:
        self._problems = (f"{sentence}: nothing is shared meanwhile",)

    @staticmethod
    def _facts() -> dict[str, float]:
        ram_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return {"cpus": float(os.cpu_count() or 0), "ram_bytes": float(ram_bytes)}


def node_name() -> str:
    """What this node is called in the shared folder: its host's name, as far as names of files allow."""
    plain = "".join(
        letter if letter.isascii() and letter.isalnum() else "-" for letter in socket.gethostname()
    )
    return plain.strip("-")[:64] or "node"


def reason(error: OSError) -> str:
    """What the system says, and what to do where it is the sandbox of the service."""
    said = error.strerror or str(error)
    if error.errno == errno.EROFS:
        return f"{said}: allow the folder in a drop-in of the unit (ReadWritePaths=)"
    return said


def require_untuned(path: Path, config: AgentConfig) -> None:
    """Refuse a folder on a file system that the agent tunes, unless that is wanted. May hang as the folder does."""
    kind, fs = tuned_fs(path)
    if kind and config.scope.covers_fs(fs) and not config.knowledge.share_on_tuned:
        raise ConfigError(
            f"knowledge.share {path}: on {fs}, a {kind} file system that is tuned; name another folder, "
            "or set share_on_tuned = true"
        )
