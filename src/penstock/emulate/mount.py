"""The served tree as a FUSE file system: real system calls, real errno.

One thing a FUSE file system cannot see is a write of zero bytes, which Linux answers itself.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.emulate.faultcontrol import CONTROL_FILE, Faults
from penstock.emulate.served_node import ServedNode
from penstock.emulate.tree import File
from penstock.emulate.treelayout import PROCFS
from penstock.errors import AccessError, MissingError, PenstockError, require_extra

_MNT_DETACH = 2
_THREADS = 64


def mount(node: ServedNode, faults: Faults, directory: Path) -> None:
    """Serve until unmounted; returns then. Everything is answered from threads of libfuse."""
    try:
        import mfusepy
    except ImportError as error:
        raise require_extra("serve", error) from None
    except OSError as error:
        raise MissingError(f"{error}: install libfuse3 (Debian: apt-get install fuse3)") from None
    # The library would take SIGINT for itself; whoever serves has already decided what signals do.
    mfusepy.signal = lambda *_: None
    options: dict[str, Any] = {
        "foreground": True,
        "raw_fi": True,
        "fsname": "penstock",
        "max_threads": _THREADS,
    }
    options |= {"attr_timeout": 0, "entry_timeout": 0, "negative_timeout": 0, "default_permissions": True}
    if os.geteuid() == 0:
        options["allow_other"] = True
    with _Hushed() as hushed:
        try:
            mfusepy.FUSE(_operations(mfusepy, node, faults, hushed.end), str(directory), **options)
        except RuntimeError as error:
            said = hushed.said() or f"FUSE error {error}"
            raise PenstockError(f"{directory}: cannot be mounted: {said}") from None


def check_mountable(directory: Path) -> None:
    """Raise a clear error where a mount could not work, before anything is started."""
    if not Path("/dev/fuse").exists():
        raise MissingError("/dev/fuse is not there; use --plain on machines without FUSE")
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        raise AccessError("/dev/fuse: permission denied; use --plain or ask for access to FUSE")
    if not directory.is_dir():
        raise MissingError(f"{directory}: no such directory")


def unmount(directory: Path) -> None:
    """Take the mount away even while files are open; silent when there is none."""
    if os.geteuid() == 0:
        ctypes.CDLL(None, use_errno=True).umount2(os.fsencode(directory), _MNT_DETACH)
    else:
        subprocess.run(
            ["fusermount3", "-u", "-z", "-q", str(directory)], check=False, stderr=subprocess.DEVNULL
        )


class _Hushed:
    """Keeps what libfuse prints while it starts; shown only when starting fails."""

    def __enter__(self) -> _Hushed:
        self._stderr = os.dup(2)
        self._kept = os.memfd_create("fuse-messages")
        os.dup2(self._kept, 2)
        self._on = True
        return self

    def end(self) -> None:
        """From now on errors go where they belong."""
        if self._on:
            os.dup2(self._stderr, 2)
            self._on = False

    def said(self) -> str:
        """The last line printed."""
        lines = os.pread(self._kept, 1 << 16, 0).decode("utf-8", "replace").split("\n")
        return next((line for line in reversed(lines) if line and "max threads" not in line), "")

    def __exit__(self, *_: object) -> None:
        self.end()
        os.close(self._kept)
        os.close(self._stderr)


class _Handle:
    """One open file. Its text is made when read from the beginning and stays for the rest of that reading."""

    __slots__ = ("file", "text")

    def __init__(self, file: File) -> None:
        self.file = file
        self.text = b""


def _operations(mfusepy: Any, node: ServedNode, faults: Faults, started: Callable[[], None]) -> Any:
    """The callbacks; built here because their base class comes with the library."""

    class Operations(mfusepy.Operations):  # type: ignore[misc]
        use_ns = True

        def __init__(self) -> None:
            self._serving = _Serving(node, faults)

        def init(self, path: str) -> None:
            started()

        def getattr(self, path: str, fh: Any = None) -> dict[str, Any]:
            return self._serving.attributes(path[1:])

        def readdir(self, path: str, fh: Any) -> list[str]:
            return self._serving.names(path[1:])

        def open(self, path: str, fi: Any) -> int:
            fi.fh, fi.nonseekable = self._serving.open(path[1:], fi.flags)
            fi.direct_io = 1
            return 0

        def read(self, path: str, size: int, offset: int, fi: Any) -> bytes:
            return self._serving.read(fi.fh, size, offset)

        def write(self, path: str, data: bytes, offset: int, fi: Any) -> int:
            return self._serving.write(fi.fh, data)

        def truncate(self, path: str, length: int, fh: Any = None) -> int:
            return 0

        def release(self, path: str, fi: Any) -> int:
            self._serving.close(fi.fh)
            return 0

    return Operations()


class _Serving:
    """Answers by path and handle; raises OSError, which FUSE turns into the caller's errno."""

    def __init__(self, node: ServedNode, faults: Faults) -> None:
        self._node = node
        self._faults = faults
        self._control = File(CONTROL_FILE, 0o600, faults.describe, faults.obey)
        self._handles: dict[int, _Handle] = {}
        self._last = 0
        self._started_ns = time.time_ns()

    def attributes(self, path: str) -> dict[str, Any]:
        with self._node.lock:
            tree = self._node.tree
            common = {"st_uid": os.getuid(), "st_gid": os.getgid(), "st_mtime": self._started_ns}
            if path in tree.directories:
                return {"st_mode": stat.S_IFDIR | tree.directory_mode(path), "st_nlink": 2, **common}
            file = self._file(path)
            return {"st_mode": stat.S_IFREG | file.mode, "st_nlink": 1, "st_size": file.size, **common}

    def names(self, path: str) -> list[str]:
        with self._node.lock:
            if path not in self._node.tree.directories:
                raise OSError(errno.ENOENT, path)
            return [".", "..", *sorted(self._node.tree.directories[path])]

    def open(self, path: str, flags: int) -> tuple[int, int]:
        with self._node.lock:
            file = self._file(path)
            writing = flags & os.O_ACCMODE != os.O_RDONLY
            if writing and not file.mode & 0o222:
                raise OSError(errno.EACCES, path)
            self._last += 1
            self._handles[self._last] = _Handle(file)
            # 2.15's procfs refuses pwrite, but not pread.
            only_writing = flags & os.O_ACCMODE == os.O_WRONLY
            return self._last, int(only_writing and path.startswith(PROCFS))

    def read(self, handle_id: int, size: int, offset: int) -> bytes:
        handle = self._handles[handle_id]
        self._faults.check(handle.file.path, "read")
        with self._node.lock:
            if offset == 0 or not handle.text:
                handle.text = handle.file.text().encode()
            return handle.text[offset : offset + size]

    def write(self, handle_id: int, data: bytes) -> int:
        file = self._handles[handle_id].file
        self._faults.check(file.path, "write")
        try:
            text = data.decode("ascii")
        except UnicodeDecodeError:
            raise OSError(errno.EINVAL, file.path) from None
        with self._node.lock:
            file.store(text)
        return len(data)

    def close(self, handle_id: int) -> None:
        self._handles.pop(handle_id, None)

    def _file(self, path: str) -> File:
        if path == CONTROL_FILE:
            return self._control
        file = self._node.tree.files.get(path)
        if file is None:
            raise OSError(errno.ENOENT, path)
        return file
