"""`/sys/kernel/sunrpc`: the connections to servers, and how many requests each may have and has."""

from __future__ import annotations

import re
from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.kernelfs import KernelFs, read_once

_HOME = "sys/kernel/sunrpc/xprt-switches"
_TRANSPORT = re.compile(r"xprt-\d+-\w+")


@dataclass(frozen=True, slots=True)
class Transport:
    """One connection: its present slots for requests, their maximum, and the requests that wait for one."""

    server: str
    slots: int
    most_slots: int
    waiting: int


def read_transports(fs: KernelFs) -> tuple[Transport, ...]:
    """All connections; none if the kernel does not show them. A connection that vanishes meanwhile is left out."""
    found = []
    for switch in fs.names(_HOME):
        for name in fs.names(f"{_HOME}/{switch}"):
            if _TRANSPORT.fullmatch(name) is None:
                continue
            try:
                info, address = (
                    read_once(fs.path(f"{_HOME}/{switch}/{name}/{file}")).decode("ascii", "replace")
                    for file in ("xprt_info", "dstaddr")
                )
                found.append(parse_transport(info, address))
            except (OSError, DataError):
                continue
    return tuple(found)


def parse_transport(info: str, address: str) -> Transport:
    """`xprt_info` and `dstaddr` of one connection; rows we do not know are ignored. Raises `DataError`."""
    rows = dict(line.split("=", 1) for line in info.splitlines() if "=" in line)
    try:
        waiting = sum(int(rows[f"{queue}_q_len"]) for queue in ("sending", "pending", "backlog"))
        return Transport(address.strip(), int(rows["num_reqs"]), int(rows["max_num_slots"]), waiting)
    except (KeyError, ValueError) as error:
        raise DataError(f"xprt_info: no usable row {error}") from None
