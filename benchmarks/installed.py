"""What a node installs: the package's files and wheel, its dependencies on disk, and the memory of a resting agent.

usage: ./run bench installed [--seconds 20] [--targets 8]

The wheel is what packing the package's files makes. Dependencies are those that the package needs without any extra.
The agent runs in a process of its own on an idle plain tree in a 2.15 client's layout, without compiled inference.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from tests.rigs.served import served

import penstock

PACKAGE = Path(penstock.__file__).parent


def package_files() -> list[Path]:
    """What a wheel holds of the package."""
    return sorted(path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def wheel_bytes(files: list[Path]) -> int:
    """Their size in a wheel."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in files:
            wheel.write(path, path.relative_to(PACKAGE.parent))
    return len(packed.getvalue())


def dependencies(name: str, known: set[str]) -> Iterator[str]:
    """What a package needs without extras, directly or not, each once."""
    for text in distribution(name).requires or ():
        needed = Requirement(text)
        if needed.name in known or (needed.marker is not None and not needed.marker.evaluate({"extra": ""})):
            continue
        known.add(needed.name)
        yield needed.name
        yield from dependencies(needed.name, known)


def disk_bytes(name: str) -> int:
    """The files of an installed package."""
    try:
        files = distribution(name).files or ()
    except PackageNotFoundError:
        return 0
    paths = [Path(str(file.locate())) for file in files if file.suffix != ".pyc"]
    return sum(path.stat().st_size for path in paths if path.is_file())


def resting_mb(seconds: float, targets: int) -> float:
    """The resident memory of an agent that has seen idle targets for so long."""
    with (
        tempfile.TemporaryDirectory() as directory,
        served(Path(directory) / "tree", layout="2.15", osts=targets, plain=True) as client,
    ):
        words = ["agent", "run", "--root", str(client.root), "--state-dir", f"{directory}/agent"]
        with subprocess.Popen(
            [sys.executable, "-m", "penstock", *words],
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PENSTOCK_NUMPY": "1"},
        ) as agent:
            try:
                time.sleep(seconds)
                status = Path(f"/proc/{agent.pid}/status").read_text(encoding="ascii")
            finally:
                agent.terminate()
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


def main() -> None:
    """Print each figure on a line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--targets", type=int, default=8)
    asked = parser.parse_args()
    files = package_files()
    needed = sorted(dependencies("penstock", set()))
    print(f"package: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB")
    print(f"wheel: {wheel_bytes(files) / 1e6:.2f} MB")
    print(f"dependencies: {len(needed)}, {sum(map(disk_bytes, needed)) / 1e6:.0f} MB: {', '.join(needed)}")
    print(
        f"agent at rest, {asked.targets} targets: {resting_mb(asked.seconds, asked.targets):.0f} MB resident"
    )


if __name__ == "__main__":
    main()
