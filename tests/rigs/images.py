"""Wheels of what is installed here, and an image to run them in: no network, no copy of the machine."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

import penstock

# What a program needs of the system it runs on; links are made again, the rest is bound into the image.
SYSTEM = ("bin", "lib", "lib64", "usr/bin", "usr/lib", "usr/lib64", "etc/ld.so.cache", "dev", "proc")

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}


def write_wheels(directory: Path) -> None:
    """Our wheel and those of everything the base install needs, made of the files that are installed here."""
    directory.mkdir(exist_ok=True)
    ours = distribution("penstock")
    package = Path(penstock.__file__).parent
    files = {
        f"penstock/{path.relative_to(package)}": path
        for path in package.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    _write(directory, ours, files)
    for needed in _closure(ours, set()):
        found = ((str(file), Path(str(file.locate()))) for file in needed.files or ())
        _write(directory, needed, {name: path for name, path in found if _belongs(name, path)})


def _closure(of: Distribution, seen: set[str]) -> Iterator[Distribution]:
    for text in of.requires or ():
        requirement = Requirement(text)
        name = requirement.name.lower().replace("_", "-")
        if name in seen or (
            requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})
        ):
            continue
        seen.add(name)
        yield (needed := distribution(name))
        yield from _closure(needed, seen)


def _belongs(name: str, path: Path) -> bool:
    return (
        not name.startswith("..") and ".dist-info/" not in name and path.suffix != ".pyc" and path.is_file()
    )


def _write(directory: Path, of: Distribution, files: dict[str, Path]) -> None:
    stem = f"{of.metadata['Name'].replace('-', '_')}-{of.version}"
    kind = of.read_text("WHEEL") or ""
    tags = [line.split(": ")[1] for line in kind.splitlines() if line.startswith("Tag: ")]
    with zipfile.ZipFile(directory / f"{stem}-{tags[0]}.whl", "w") as wheel:
        for name, path in files.items():
            wheel.write(path, name)
        info = f"{stem}.dist-info"
        for name in ("METADATA", "WHEEL", "entry_points.txt"):
            wheel.writestr(f"{info}/{name}", of.read_text(name) or "")
        wheel.writestr(f"{info}/RECORD", "")


def in_image(root: Path, *command: str) -> list[str]:
    """A command line that runs a command with the image as its root directory, in a mount namespace of its own."""
    python = [Path(sys.base_prefix) / "lib", Path(os.path.realpath(sys.executable))]
    base = Path(getattr(sys, "_base_executable", sys.executable))
    lines = ["set -e"]
    for path in [*(Path("/") / name for name in SYSTEM), *python, base]:
        lines += _shared(root, path)
    lines.append('exec chroot "$0" "$@"')
    spaces = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"])]
    return [*spaces, "sh", "-c", "\n".join(lines), str(root), *command]


def _shared(root: Path, path: Path) -> list[str]:
    inside = root / path.relative_to("/")
    if not path.exists():
        return []
    inside.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink():
        if not inside.is_symlink():
            inside.symlink_to(path.readlink())
        return []
    if path.is_dir():
        inside.mkdir(exist_ok=True)
    else:
        inside.touch()
    return [f"mount --rbind '{path}' '{inside}'"]


def run_in(root: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in the image to its end."""
    return subprocess.run(
        in_image(root, *command), capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
