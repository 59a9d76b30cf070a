"""What happens to a cluster besides our own jobs, given as data: slow, failed and busy OSTs, evicted clients.

In words: `slow:ost=3:at=10:for=20:factor=5`, `fail:oss=1:at=30:for=15`, `evict:client=2:ost=3:at=12`,
`load:ost=0:at=5:for=60:mbps=150:write=1`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

from penstock.errors import UsageError, did_you_mean

# What each kind needs and may have besides `at`; `oss` stands for all OSTs of a server.
_NEEDED = {"slow": {"for", "factor"}, "fail": {"for"}, "evict": {"client"}, "load": {"for", "mbps"}}
_OPTIONAL = {"slow": set[str](), "fail": set[str](), "evict": {"for"}, "load": {"kib", "write", "depth"}}
KINDS = tuple(_NEEDED)


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: what, when, for how long, and to whom.

    - `slow`: everything the OST's device does for it takes `factor` times as long.
    - `fail`: the OST answers nobody; its clients lose their connection, and resend when it is back.
    - `evict`: the server forgets one client: its dirty data there is lost, its locks and grant are gone.
    - `load`: somebody else's requests of `request_kib` keep the OST's device busy at `mbps`, as far as that
      is possible with `depth` of them outstanding.

    `ost` None means every OST; `oss` names a server instead.
    """

    kind: str
    at_s: float
    for_s: float = 0.0
    ost: int | None = None
    oss: int | None = None
    client: int = 0
    factor: float = 1.0
    mbps: float = 0.0
    request_kib: float = 1024.0
    writing: bool = False
    depth: int = 8

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UsageError(f"event {self.kind!r}: unknown kind{did_you_mean(self.kind, KINDS)}")
        for name, value, least in (
            ("at", self.at_s, 0.0),
            ("for", self.for_s, 0.0),
            ("factor", self.factor, 1.0),
            ("mbps", self.mbps, 0.0),
            ("kib", self.request_kib, 4.0),
            ("depth", self.depth, 1),
            ("client", self.client, 0),
            ("ost", self.ost or 0, 0),
            ("oss", self.oss or 0, 0),
        ):
            if not math.isfinite(value) or value < least:
                raise UsageError(f"event {self.kind!r}: {name}={value:g} must be at least {least:g}")
        if self.ost is not None and self.oss is not None:
            raise UsageError(f"event {self.kind!r}: give ost or oss, not both")

    def osts(self, ost_count: int, osts_per_oss: int) -> range:
        """The OSTs it happens to; an error if there are no such ones."""
        if self.oss is not None:
            first = self.oss * osts_per_oss
            found = range(first, min(first + osts_per_oss, ost_count))
        else:
            found = range(ost_count) if self.ost is None else range(self.ost, min(self.ost + 1, ost_count))
        if not found:
            where = f"oss={self.oss}" if self.oss is not None else f"ost={self.ost}"
            raise UsageError(f"event {self.kind!r}: {where}: the cluster has {ost_count} OSTs")
        return found


_WORDS = {
    "at": "at_s",
    "for": "for_s",
    "kib": "request_kib",
    "write": "writing",
    **{name: name for name in ("ost", "oss", "client", "factor", "mbps", "depth")},
}


def fault_of(kind: str, given: Mapping[str, float]) -> Fault:
    """An event from its kind and its figures by their short names."""
    if kind not in KINDS:
        raise UsageError(f"event {kind!r}: unknown kind{did_you_mean(kind, KINDS)}")
    known = _NEEDED[kind] | _OPTIONAL[kind] | {"at", "ost", "oss"}
    for name in given:
        if name not in known:
            raise UsageError(f"event {kind!r}: unknown {name!r}{did_you_mean(name, sorted(known))}")
    for name in sorted(_NEEDED[kind] | {"at"}):
        if name not in given:
            raise UsageError(f"event {kind!r}: {name}=... is missing")
    whole = {field.name for field in fields(Fault) if "int" in str(field.type)}
    arguments: dict[str, float | bool] = {}
    for name, value in given.items():
        field = _WORDS[name]
        if field in whole and value != int(value):
            raise UsageError(f"event {kind!r}: {name}={value:g} must be a whole number")
        arguments[field] = bool(value) if field == "writing" else int(value) if field in whole else value
    return Fault(kind, **arguments)  # type: ignore[arg-type]


def parse_fault(text: str) -> Fault:
    """An event as written on a command line, `KIND:name=number:...`.

    >>> parse_fault("slow:ost=3:at=10:for=20:factor=5").factor
    5.0
    """
    kind, *words = text.split(":")
    given: dict[str, float] = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            number = float(value.removesuffix("s") if name in ("at", "for") else value)
        except ValueError:
            raise UsageError(f"event {text!r}: {word!r} is not NAME=NUMBER") from None
        if not equals or not math.isfinite(number):
            raise UsageError(f"event {text!r}: {word!r} is not NAME=NUMBER")
        if name in given:
            raise UsageError(f"event {text!r}: {name} is given twice")
        given[name] = number
    return fault_of(kind, given)
