"""What would keep an agent from using its shared folder, found out without writing and without waiting for long."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from penstock.agent.settings import AgentConfig
from penstock.agent.sharing.folder import ROOMS, TOP, ShareFolder
from penstock.agent.sharing.sharer import node_name, reason, require_untuned
from penstock.errors import PenstockError

PATIENCE_S = 10.0
UNIT = "penstock.service"
_PROPERTIES = ("LoadState", "ProtectSystem", "ProtectHome", "ReadWritePaths", "BindPaths", "PrivateTmp")
_HOMES = ("/home", "/root", "/run/user")
_TEMPORARY = ("/tmp", "/var/tmp")
_DROP_IN = f"ReadWritePaths={{}} in a drop-in of {UNIT} (systemd/share.conf is one)"


def share_problems(config: AgentConfig) -> Iterator[str]:
    """One line for each thing that would keep this node from sharing as configured."""
    if not config.knowledge.share:
        return
    path, found = Path(config.knowledge.share), list[str]()
    node = config.knowledge.node or node_name()
    if node.startswith("localhost"):
        yield f"knowledge.node: this node would be called {node}, as others may be; give it a name of its own"
    looking = threading.Thread(target=lambda: found.extend(_all_problems(path, config)), daemon=True)
    looking.start()
    looking.join(PATIENCE_S)
    if looking.is_alive():
        yield f"knowledge.share {path}: does not answer; the agent would not wait for it, and decide alone"
    yield from found
    yield from sandbox_problems(path, unit_properties())


def _all_problems(path: Path, config: AgentConfig) -> list[str]:
    """A check that fails must not look like one that found nothing."""
    try:
        return _folder_problems(path, config)
    except (RuntimeError, ValueError) as error:
        return [f"knowledge.share {path}: cannot be checked: {type(error).__name__}"]


def _folder_problems(path: Path, config: AgentConfig) -> list[str]:
    folder = ShareFolder(path, config.knowledge.node or node_name())
    try:
        require_untuned(path, config)
        folder.signature(TOP, "digest-1.json")
        for room in ROOMS:
            if (path / room).exists():
                folder.signature(room, "none")
    except PenstockError as error:
        text = str(error)
        return [text if text.startswith("knowledge.share") else f"knowledge.share: {text}"]
    except OSError as error:
        return [f"knowledge.share {path}: {reason(error)}"]
    if not os.access(path, os.W_OK):
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        why = (
            OSError(errno.EROFS, os.strerror(errno.EROFS))
            if read_only
            else OSError(errno.EACCES, "cannot be written")
        )
        return [f"knowledge.share {path}: {reason(why)}"]
    return []


def unit_properties() -> dict[str, str]:
    """What the service manager knows of the agent's unit; empty where there is none."""
    systemctl = shutil.which("systemctl")
    if systemctl is None:
        return {}
    command = [systemctl, "show", UNIT, *(f"--property={name}" for name in _PROPERTIES)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    lines = (line.partition("=") for line in done.stdout.splitlines())
    return {name: value for name, _, value in lines}


def sandbox_problems(path: Path, unit: Mapping[str, str]) -> Iterator[str]:
    """Why the sandbox of the unit would keep the agent from the folder, and what to write into a drop-in."""
    if unit.get("LoadState") != "loaded":
        return
    # FROM:TO:OPTIONS, or one path for both.
    pairs = [entry.lstrip("-+").split(":") for entry in unit.get("BindPaths", "").split()]
    bound = [parts[1] if len(parts) > 1 else parts[0] for parts in pairs]
    if any(_is_below(path, place) for place in bound):
        return
    if unit.get("ProtectHome") in ("yes", "tmpfs") and any(_is_below(path, home) for home in _HOMES):
        yield (
            f"knowledge.share {path}: hidden from {UNIT} by ProtectHome=; set ProtectHome=tmpfs and BindPaths={path} "
            "in a drop-in"
        )
        return
    if unit.get("PrivateTmp") == "yes" and any(_is_below(path, place) for place in _TEMPORARY):
        yield f"knowledge.share {path}: {UNIT} has a {path.parts[1]} of its own (PrivateTmp=yes); name another folder"
        return
    allowed = [entry.lstrip("-+") for entry in unit.get("ReadWritePaths", "").split()]
    if unit.get("ProtectSystem") == "strict" and not any(_is_below(path, place) for place in allowed):
        yield f"knowledge.share {path}: read-only for {UNIT} (ProtectSystem=strict); set {_DROP_IN.format(path)}"


def _is_below(path: Path, place: str) -> bool:
    return path.is_relative_to(place)
