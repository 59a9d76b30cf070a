"""How ROMIO interprets hints: the number of aggregators, the buffer size, and whether it uses two phases."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import UsageError
from penstock.plan.collective.access import Access
from penstock.units import KIB, MIB

DEFAULT_BUFFER_BYTES = 16 * MIB
DEFAULT_SIEVE_BYTES = 512 * KIB


@dataclass(frozen=True, slots=True)
class Hints:
    """The hints that shape a collective write; None leaves one to ROMIO.

    The defaults are those of ROMIO's general driver. A `cb_config_list` of `*:N` allows N aggregators a host,
    `*:*` all ranks; ROMIO's default is one a host, whatever `cb_nodes` says.
    """

    cb_nodes: int | None = None
    cb_buffer_size: int | None = None
    cb_config_list: str | None = None
    romio_cb_write: str = "automatic"
    romio_ds_write: str = "automatic"
    striping_unit: int = 0
    ind_wr_buffer_size: int = DEFAULT_SIEVE_BYTES

    @property
    def given(self) -> dict[str, str]:
        """The hints that differ from ROMIO's defaults, by their names, as text."""
        plain = Hints()
        pairs = ((name, getattr(self, name)) for name in self.__slots__)
        return {name: str(value) for name, value in pairs if value != getattr(plain, name)}


NO_HINTS = Hints()


def two_phase(cb_nodes: int, cb_buffer_size: int, access: Access) -> Hints:
    """Hints that really give this many aggregators, spread over the job's hosts, for any access pattern."""
    per_host = -(-cb_nodes // access.nodes)
    spread = "*:*" if access.nodes == 1 else f"*:{per_host}"
    return Hints(cb_nodes, cb_buffer_size, spread, romio_cb_write="enable")


@dataclass(frozen=True, slots=True)
class CallPlan:
    """How one access will be carried out."""

    collective: bool
    aggregators: int
    buffer_bytes: int
    align_bytes: int
    sieve_bytes: int


def resolve(access: Access, hints: Hints) -> CallPlan:
    """What ROMIO does with the hints for this access."""
    wanted = hints.cb_nodes if hints.cb_nodes is not None else access.ranks
    if wanted < 1:
        raise UsageError(f"hint cb_nodes {wanted} must be at least 1")
    buffer_bytes = DEFAULT_BUFFER_BYTES if hints.cb_buffer_size is None else hints.cb_buffer_size
    if buffer_bytes < 1:
        raise UsageError(f"hint cb_buffer_size {buffer_bytes} must be at least 1")
    collective = hints.romio_cb_write == "enable" or (
        hints.romio_cb_write == "automatic" and access.interleaved
    )
    sieve_bytes = 0 if hints.romio_ds_write == "disable" else hints.ind_wr_buffer_size
    allowed = _allowed(access, hints.cb_config_list)
    return CallPlan(collective, min(wanted, allowed), buffer_bytes, hints.striping_unit, sieve_bytes)


def _allowed(access: Access, config_list: str | None) -> int:
    """The number of aggregators that the configuration list allows. Ranks fill hosts evenly."""
    host, _, count = (config_list or "*:1").partition(":")
    if host != "*" or not (count in {"", "*"} or (count.isascii() and count.isdigit() and len(count) < 19)):
        raise UsageError(f"hint cb_config_list {config_list!r}: the model knows '*:N' and '*:*' only")
    if count == "*":
        return access.ranks
    fewer, more_hosts = divmod(access.ranks, access.nodes)
    per_host = int(count or 1)
    allowed = more_hosts * min(per_host, fewer + 1) + (access.nodes - more_hosts) * min(per_host, fewer)
    if allowed == 0:
        raise UsageError(f"hint cb_config_list {config_list!r} leaves no aggregator")
    return allowed
