"""The write-ahead journal: the original values, on disk before any knob changes.

One small file holds all changed targets. A new version is written to a separate file, synced and renamed, and the
directory is synced. The previous version is kept under a second name. A checksum detects a damaged file. The boot id
tells whether the knobs still exist, and the root tells which system they belong to.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from penstock.actuate.knob_errors import JournalCorruptError, JournalUnwritableError
from penstock.actuate.system import SYSTEM, System
from penstock.errors import AccessError, InvalidError
from penstock.knobs import Setting

FILE, PREVIOUS = "journal.json", "journal.previous.json"
FORMAT = 2
_LARGEST_BYTES = 64 << 20
_HOST_BOOT_ID = "/proc/sys/kernel/random/boot_id"


Baseline = Mapping[str, int]
NO_BASELINE: Baseline = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Entry:
    """One changed target.

    `original` is the setting without any tuning. `possible` lists for each knob the values that may be in force
    because of us; any other value, except the original, was set by somebody else. `actual` was read back after the
    last complete change. Knobs in `manual` belong to the administrator, whose value counts as the original.
    `kind` is the target's, empty where an earlier version did not write it. `baseline` is what the original was seen
    under; only the actuator of that kind knows what it means.
    """

    original: Setting
    possible: Mapping[str, frozenset[int]] = field(default_factory=dict)
    actual: Setting | None = None
    manual: frozenset[str] = frozenset()
    kind: str = ""
    baseline: Baseline = field(default_factory=lambda: NO_BASELINE)

    def is_as_left(self, setting: Setting) -> bool:
        """Whether every knob has the value that was last written, or its administrator's that is known."""
        left = self.actual or self.original
        if self.manual:
            left = left.replace(self.original.only(*self.manual))
        return all(setting.get(knob_id) in (value, None) for knob_id, value in left.items())


@dataclass(frozen=True, slots=True)
class JournalOwner:
    """The system that a journal belongs to: one root during one boot."""

    root: str
    boot_id: str


def owner_of(root: str | Path) -> JournalOwner:
    """The present owner of a root. A tree may carry its own boot id."""
    for path in (Path(root) / _HOST_BOOT_ID.lstrip("/"), Path(_HOST_BOOT_ID)):
        try:
            boot_id = path.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError):
            continue
        return JournalOwner(os.path.realpath(root), boot_id)
    return JournalOwner(os.path.realpath(root), "")


class Journal:
    """The originals of every target changed since boot. It is opened once and has a single writer.

    `trusted` is false if only the previous copy could be read. That copy is good for restoring, but nothing more may
    be changed. `note` says what was wrong.
    """

    def __init__(self, directory: str | Path, owner: JournalOwner, system: System = SYSTEM) -> None:
        self.directory = str(directory)
        self.owner = owner
        self.trusted = True
        self.note: str | None = None
        self._system = system
        #: Stopping restores beside a command that does not end.
        self._mutex = threading.Lock()
        self._entries: dict[str, Entry] = {}
        self._texts: dict[str, tuple[Entry, str]] = {}
        self._load()

    @property
    def entries(self) -> Mapping[str, Entry]:
        """All changed targets by name."""
        return dict(self._entries)

    def get(self, name: str) -> Entry | None:
        """The entry of a target, or None if it was never changed."""
        return self._entries.get(name)

    def record(self, name: str, entry: Entry) -> None:
        """Store an entry. It is on disk when this returns. An unchanged entry costs nothing."""
        self.record_all({name: entry})

    def record_all(self, entries: Mapping[str, Entry]) -> None:
        """Store several entries in one write. When this returns, all are on disk, or none is."""
        with self._mutex:
            if any(self._entries.get(name) != entry for name, entry in entries.items()):
                self._save({**self._entries, **entries})

    def drop(self, *names: str) -> None:
        """Forget targets that have no setting of ours any more."""
        with self._mutex:
            kept = {name: entry for name, entry in self._entries.items() if name not in names}
            if len(kept) != len(self._entries):
                self._save(kept)

    def _load(self) -> None:
        main, previous = (self._read(file) for file in (FILE, PREVIOUS))
        found = main
        if not isinstance(main, dict) and not (main is None and previous is None):
            if not isinstance(previous, dict):
                reason = main or previous
                raise JournalCorruptError(f"{reason}; nothing is set until it is examined and removed")
            lost = main or f"{self._path(FILE)}: missing"
            self.trusted, self.note, found = False, f"{lost}; the previous copy is used", previous
        if isinstance(found, dict):
            self._adopt(found)

    def _adopt(self, body: Mapping[str, Any]) -> None:
        root, boot_id = body["root"], body["boot_id"]
        if boot_id != self.owner.boot_id:
            self.trusted, self.note = True, "the node was rebooted since: the old journal is discarded"
            return
        if root != self.owner.root and body["targets"]:
            raise InvalidError(f"{self._path(FILE)}: belongs to --root {root}, not to {self.owner.root}")
        self._entries = {name: _entry(fields) for name, fields in body["targets"].items()}

    def _read(self, file: str) -> dict[str, Any] | str | None:
        """The body of one copy; a sentence if it cannot be used; None if it does not exist."""
        path = self._path(file)
        try:
            raw = self._read_raw(path)
            document = json.loads(raw)
            _refuse_newer(path, document["format"])
            body = document["body"]
            if document["format"] not in (1, FORMAT) or document["checksum"] != _checksum(body):
                return f"{path}: checksum or format is wrong"
            for fields in body["targets"].values():
                _entry(fields)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except PermissionError as error:
            raise AccessError(f"{path}: {error.strerror}; the originals are kept for root") from None
        except OSError as error:
            return f"{path}: {error.strerror}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return f"{path}: not a journal"
        return body if isinstance(body.get("root"), str) and "boot_id" in body else f"{path}: incomplete"

    def _read_raw(self, path: str) -> bytes:
        fd = self._system.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            status = self._system.fstat(fd)
            if status.st_uid not in (os.geteuid(), 0) or status.st_mode & 0o022:
                raise AccessError(
                    f"{path}: others may write it, so it is not trusted (chown root, chmod 600)"
                )
            chunks = []
            while chunk := self._system.read(fd, 1 << 20):
                chunks.append(chunk)
                if len(chunks) << 20 > _LARGEST_BYTES:
                    raise OSError(errno.EFBIG, "too large for a journal", path)
            return b"".join(chunks)
        finally:
            self._system.close(fd)

    def _save(self, entries: Mapping[str, Entry]) -> None:
        body = self._body(entries)
        checksum = hashlib.sha256(body.encode()).hexdigest()
        text = f'{{"format":{FORMAT},"checksum":"{checksum}","body":{body}}}'
        try:
            self._make_directory()
            self._write_beside(text.encode())
            if self.trusted:
                self._keep_previous()
            self._system.rename(self._path(FILE) + ".new", self._path(FILE))
            self._sync(self.directory)
        except OSError as error:
            raise JournalUnwritableError(
                f"{self.directory}: {error.strerror}: without a journal no knob is changed"
            ) from None
        self._entries = dict(entries)

    def _body(self, entries: Mapping[str, Entry]) -> str:
        """The canonical text of the body. The text of unchanged entries is reused."""
        texts = {}
        for name, entry in entries.items():
            known = self._texts.get(name)
            same = known is not None and known[0] is entry
            texts[name] = known if same and known else (entry, _canonical(_fields(entry)))
        self._texts = texts
        targets = ",".join(f"{_canonical(name)}:{texts[name][1]}" for name in sorted(texts))
        head = f'"boot_id":{_canonical(self.owner.boot_id)},"root":{_canonical(self.owner.root)}'
        return f'{{{head},"targets":{{{targets}}}}}'

    def _write_beside(self, data: bytes) -> None:
        fd = self._system.open(
            self._path(FILE) + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600
        )
        try:
            while data:
                data = data[self._system.write(fd, data) :]
            self._system.fsync(fd)
        finally:
            self._system.close(fd)

    def _keep_previous(self) -> None:
        fresh = self._path(PREVIOUS) + ".new"
        try:
            self._system.link(self._path(FILE), fresh)
        except FileNotFoundError:
            return
        except FileExistsError:
            # Left by a process that was killed at this point.
            self._system.unlink(fresh)
            self._system.link(self._path(FILE), fresh)
        self._system.rename(fresh, self._path(PREVIOUS))

    def _make_directory(self) -> None:
        missing = []
        path = Path(self.directory)
        while not path.exists():
            missing.append(path)
            path = path.parent
        for made in reversed(missing):
            self._system.mkdir(str(made))
            self._sync(str(made.parent))

    def _sync(self, directory: str) -> None:
        fd = self._system.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self._system.fsync(fd)
        finally:
            self._system.close(fd)

    def _path(self, file: str) -> str:
        return f"{self.directory}/{file}"


def _refuse_newer(path: str, written: object) -> None:
    """Refuse a journal of a newer version, because its entries may have another meaning."""
    if isinstance(written, int) and written > FORMAT:
        raise InvalidError(
            f"{path}: format {written} of a newer Penstock, this one reads up to {FORMAT}; "
            "run that version's `penstock agent restore` first"
        )


def _checksum(body: object) -> str:
    return hashlib.sha256(_canonical(body).encode()).hexdigest()


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _fields(entry: Entry) -> dict[str, Any]:
    return {
        "original": dict(entry.original),
        "possible": {knob_id: sorted(values) for knob_id, values in entry.possible.items()},
        "actual": None if entry.actual is None else dict(entry.actual),
        "manual": sorted(entry.manual),
        "kind": entry.kind,
        "baseline": dict(entry.baseline),
    }


def _entry(fields: Mapping[str, Any]) -> Entry:
    actual = fields["actual"]
    return Entry(
        original=_setting(fields["original"]),
        possible={knob_id: frozenset(_integers(values)) for knob_id, values in fields["possible"].items()},
        actual=None if actual is None else _setting(actual),
        manual=frozenset(fields["manual"]),
        kind=_text(fields.get("kind", "")),
        baseline=_baseline(fields),
    )


def _baseline(fields: Mapping[str, Any]) -> Baseline:
    """The baseline of an entry. Format 1 knew that of Lustre's data paths only, under names of its own."""
    said = fields.get("baseline")
    if said is None:
        said = {name: fields[name] for name in ("generation", "brw_pages") if fields[name] is not None}
    return dict(zip(said, _integers(said.values()), strict=True))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _setting(values: Mapping[str, Any]) -> Setting:
    return Setting(dict(zip(values, _integers(values.values()), strict=True)))


def _integers(values: Iterable[Any]) -> list[int]:
    found = list(values)
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in found):
        raise ValueError("not integers")
    return found
