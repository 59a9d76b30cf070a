"""Kinds of targets: which ways of work each one has, and what counts as moved in each."""

from __future__ import annotations

from dataclasses import dataclass, field

BYTES, OPERATIONS = "bytes", "operations"


@dataclass(frozen=True, slots=True, order=True)
class Way:
    """One way of work, such as reading.

    `moved` is the counter of what it moves; where applications' share of it is known too, it is under `asked`.
    `plural` names the work in sentences. Its requests and their times are `NAME.rpcs` and `NAME.usec`.
    """

    name: str
    moved: str
    plural: str
    asked: str = ""
    calls: str = ""


@dataclass(frozen=True, slots=True, order=True)
class TargetKind:
    """A kind of target. Its name is that of its knob space; `section` is what `[scope] kinds` calls it.

    It has two ways of work, the one that only looks first. Both move the same `unit`.
    """

    name: str
    section: str
    ways: tuple[Way, Way]
    unit: str = BYTES
    #: Whether a target stands for a whole mount, whose connections count the same once more.
    whole_mount: bool = False
    #: The counter of what requests carried for the first way of work, where some of that may be in vain.
    carried: str = ""
    #: The counters of what it moves and of its requests.
    volumes: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        volumes = (name for way in self.ways for name in (way.moved, f"{way.name}.rpcs"))
        object.__setattr__(self, "volumes", tuple(volumes))

    def per_s(self, rate: float) -> str:
        """A rate in words: 10^6 bytes, or operations, a second.

        >>> DATA_PATH.per_s(2e8)
        '200 MB/s'
        """
        return f"{rate / 1e6:.0f} MB/s" if self.unit == BYTES else f"{rate:.0f} {self.unit}/s"

    @property
    def way_names(self) -> tuple[str, str]:
        """The names of its ways, in order."""
        first, second = self.ways
        return first.name, second.name


DATA, METADATA, READAHEAD = "data", "metadata", "readahead"
READ = Way("read", "read.bytes", "reads", "app.read_bytes", "app.read_calls")
WRITE = Way("write", "write.bytes", "writes", "app.write_bytes", "app.write_calls")
#: What metadata servers are asked for: looking things up, and changing them.
QUERY = Way("query", "query.ops", "queries")
MODIFY = Way("modify", "modify.ops", "changes")

#: The same of a whole mount, as its applications call it: their calls are its requests.
MOUNT_READ = Way("read", "read.bytes", "reads", "read.bytes", "read.rpcs")
MOUNT_WRITE = Way("write", "write.bytes", "writes", "write.bytes", "write.rpcs")

#: What carries the data of files, of whatever file system.
DATA_PATH = TargetKind("data-path", DATA, (READ, WRITE))
