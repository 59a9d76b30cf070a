"""fio as an application: sequential work on files of one mount, opened anew for every pass over them."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class FioJob:
    """What fio does: its direction as fio calls it, the request size, and the file's size in MiB."""

    rw: str
    request: str
    file_mib: int = 256

    def command(self, directory: Path, seconds: float) -> list[str]:
        """The command line. Every pass over the file opens it anew and drops what of it is cached."""
        return [
            "fio",
            "--name=work",
            f"--directory={directory}",
            "--filename_format=work.$jobnum",
            f"--rw={self.rw}",
            f"--bs={self.request}",
            f"--size={self.file_mib}m",
            f"--runtime={round(seconds * 1000)}ms",
            "--loops=10000",
            "--ioengine=psync",
            "--invalidate=1",
            "--thread",
            "--output-format=json",
        ]


def why_not() -> str | None:
    """Why fio cannot run here; None where it can."""
    return None if shutil.which("fio") else "needs the Debian package fio"


def run(job: FioJob, directory: Path, seconds: float) -> float:
    """Work for so long; bytes per second as the application got them, closing its files included."""
    began_s = time.monotonic()
    done = subprocess.run(job.command(directory, seconds), capture_output=True, text=True, check=True)
    took_s = time.monotonic() - began_s
    return _bytes(done.stdout) / took_s


@contextlib.contextmanager
def running(job: FioJob, directory: Path, seconds: float = 600.0) -> Iterator[subprocess.Popen[str]]:
    """Work in the background for the length of a `with` block."""
    process = subprocess.Popen(
        job.command(directory, seconds), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _bytes(text: str) -> int:
    jobs = json.loads(text[text.index("{") :])["jobs"]
    return sum(int(job[way]["io_bytes"]) for job in jobs for way in ("read", "write"))
