"""`/proc/self/mountstats`: the requests of every NFS mount to its server, and their times.

Fields that newer kernels append are ignored. A mount whose block cannot be parsed does not affect the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.mounts import unescape

KINDS = frozenset({"nfs", "nfs4"})
_KINDS = frozenset(kind.encode() for kind in KINDS)
_OP_FIELDS = 8
_BYTE_FIELDS = 8


@dataclass(frozen=True, slots=True)
class Operation:
    """One kind of request since the mount: how many, their bytes both ways, and the sums of their times."""

    count: int
    transmissions: int
    timeouts: int
    sent_bytes: int
    received_bytes: int
    queue_ms: int
    rtt_ms: int
    total_ms: int


NEVER = Operation(0, 0, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class ByteCounts:
    """The bytes that applications read and wrote, buffered and direct, and the resulting bytes to and from the
    server.
    """

    app_read: int
    app_write: int
    direct_read: int
    direct_write: int
    server_read: int
    server_write: int


@dataclass(frozen=True, slots=True)
class NfsMount:
    """The block of one mount. `transports` has the raw figures of every connection, with the protocol first."""

    device: str
    path: str
    kind: str
    age_s: int
    options: Mapping[str, str]
    counts: ByteCounts
    operations: Mapping[str, Operation]
    transports: tuple[tuple[str, ...], ...]

    def operation(self, name: str) -> Operation:
        """One kind of request; zeros where there was none."""
        return self.operations.get(name, NEVER)

    def size(self, option: str) -> int:
        """A size among the options the mount runs with, such as rsize. Raises `DataError`."""
        try:
            return int(self.options[option])
        except (KeyError, ValueError):
            raise DataError(f"{self.path}: no usable option {option}") from None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A mount whose block cannot be parsed."""

    path: str
    why: str


def parse_mountstats(table: bytes) -> tuple[NfsMount | Unreadable, ...]:
    """Every NFS mount, in the kernel's order; other file systems are passed over."""
    found: list[NfsMount | Unreadable] = []
    for head, lines in _blocks(table):
        words = head.split(b" ")
        if len(words) < 8 or words[7] not in _KINDS:
            continue
        path = unescape(words[4])
        try:
            text = [line.decode("ascii", "backslashreplace") for line in lines]
            found.append(_parse_block(unescape(words[1]), path, words[7].decode("ascii"), text))
        except (DataError, ValueError, IndexError) as error:
            found.append(Unreadable(path, f"mountstats: {error}"))
    return tuple(found)


def _blocks(table: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """`device SERVER:/PATH mounted on PLACE with fstype KIND ...`, each with the lines below it.

    Lines end at newlines alone: users choose the paths of their mounts, and the kernel escapes no other separator.
    """
    head, lines = b"", list[bytes]()
    for line in table.split(b"\n"):
        if line.startswith((b"device ", b"no device ")):
            if head:
                yield head, lines
            head, lines = line, []
        else:
            lines.append(line)
    if head:
        yield head, lines


def _parse_block(device: str, path: str, kind: str, lines: list[str]) -> NfsMount:
    rows: dict[str, str] = {}
    transports: list[tuple[str, ...]] = []
    operations: dict[str, Operation] = {}
    per_operation = False
    for line in lines:
        name, _, rest = line.strip().partition(":")
        if name == "per-op statistics":
            per_operation = True
        elif per_operation and rest:
            operations[name] = _operation(name, rest.split())
        elif name == "xprt":
            transports.append(tuple(rest.split()))
        else:
            rows.setdefault(name, rest.strip())
    options = dict(option.partition("=")[::2] for option in _row(rows, "opts").split(","))
    return NfsMount(
        device,
        path,
        kind,
        int(_row(rows, "age")),
        options,
        _byte_counts(_row(rows, "bytes").split()),
        operations,
        tuple(transports),
    )


def _row(rows: Mapping[str, str], name: str) -> str:
    try:
        return rows[name]
    except KeyError:
        raise DataError(f"no row {name!r}") from None


def _byte_counts(fields: list[str]) -> ByteCounts:
    if len(fields) < _BYTE_FIELDS:
        raise DataError(f"row 'bytes' has {len(fields)} fields, not {_BYTE_FIELDS}")
    return ByteCounts(*(_count(field) for field in fields[:6]))


def _operation(name: str, fields: list[str]) -> Operation:
    if len(fields) < _OP_FIELDS:
        raise DataError(f"row {name!r} has {len(fields)} fields, not {_OP_FIELDS}")
    return Operation(*(_count(field) for field in fields[:_OP_FIELDS]))


def _count(text: str) -> int:
    count = int(text)
    if count < 0:
        raise DataError(f"{text} is negative")
    return count
