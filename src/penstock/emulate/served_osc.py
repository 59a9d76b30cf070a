"""One served data path: its connection, the text of its files, and knobs that behave as the kernel's."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from penstock.emulate.formats import head, histogram, powers, stats_row
from penstock.emulate.importfile import import_text
from penstock.emulate.served_client import Direction, OscFigures, Sums
from penstock.emulate.stores import Rules, parse_megabytes, parse_plain, refuse
from penstock.knobs import Setting
from penstock.units import MIB, PAGE_BYTES

_STATES_KEPT = 16
_OFFSET_LABELS = [0, *powers(31)]
_LATENCY_BINS = 32


@dataclass(slots=True)
class Baseline:
    """Where counting began: what a write to a statistics file leaves behind."""

    start_s: float
    read: Direction = field(default_factory=Direction)
    write: Direction = field(default_factory=Direction)


@dataclass(slots=True)
class ServedOsc:
    """A data path as its files show it. `figures` and `apply` connect it to whoever simulates it."""

    name: str
    target: str
    rules: Rules
    figures: Callable[[], OscFigures]
    apply: Callable[[Setting], None]
    clock: Callable[[], float]
    brw_pages: int = 1024
    chunk_pages: int = 1
    setting: Setting = field(default_factory=lambda: Setting(pages=1024, flight=8, dirty=2000))
    active: bool = True
    generation: int = 1
    attempts: int = 1
    history: list[tuple[int, str]] = field(default_factory=list)
    stats_from: Baseline = field(default_factory=lambda: Baseline(0.0))
    rpcs_from: Baseline = field(default_factory=lambda: Baseline(0.0))
    latency: tuple[list[int], list[int]] = field(
        default_factory=lambda: ([0] * _LATENCY_BINS, [0] * _LATENCY_BINS)
    )
    _seen: OscFigures = field(default_factory=OscFigures)
    _grant_lost: int = 0

    def connect(self) -> None:
        """First connection of a fresh mount: default knobs, within what the server negotiated."""
        dirty = self.rules.default_dirty_mib()
        self.setting = Setting(pages=min(self.brw_pages, 4096), flight=8, dirty=dirty)
        self.setting = self._adjusted()
        now_s = self.clock()
        self.stats_from.start_s = now_s
        self.rpcs_from.start_s = now_s if self.rules.modern else 0.0
        self._pass("CONNECTING", "FULL")
        self.apply(self.setting)

    @property
    def state(self) -> str:
        """The connection's state in Lustre's words; an inactive target still says FULL."""
        return self.history[-1][1]

    def reconnect(self, brw_pages: int) -> None:
        """The server came back with another bulk size: a smaller one cuts max_pages_per_rpc, silently."""
        self.brw_pages = brw_pages
        self.generation += 1
        self.attempts += 1
        self._pass("DISCONN", "CONNECTING", "REPLAY", "FULL")
        self.setting = self.setting.replace(pages=min(self.setting["pages"], brw_pages))
        self.setting = self._adjusted()
        self.apply(self.setting)

    def evict(self) -> None:
        """The server forgot this client: the generation rises, grant is gone, knobs and counters stay."""
        self.generation += 1
        self.attempts += 1
        self._grant_lost = self.figures().grant_bytes
        self._pass("DISCONN", "CONNECTING", "EVICTED", "RECOVER", "FULL")

    def tick(self) -> None:
        """Sort the RPCs completed since the last tick into the latency histogram by their mean time."""
        now = self.figures()
        for side, (new, old) in enumerate(((now.read, self._seen.read), (now.write, self._seen.write))):
            done = new.usec.count - old.usec.count
            if done > 0:
                mean = (new.usec.total - old.usec.total) / done
                index = min(_LATENCY_BINS - 1, max(0, math.ceil(math.log2(max(mean, 1.0))) + 1))
                self.latency[side][index] += done
        self._seen = now

    def read(self, file: str) -> str:
        """The text of one live file."""
        return _TEXTS[file](self)

    def write(self, file: str, text: str) -> None:
        """What writing a text to one live file does. Raises OSError with the kernel's errno."""
        if file not in _STORES:
            raise refuse(errno.EIO)
        _STORES[file](self, text)

    def _store_pages(self, text: str) -> None:
        self._take_pages(self.rules.pages(text, self.brw_pages, self.chunk_pages))

    def _store_megabytes(self, text: str) -> None:
        pages = parse_megabytes(text)
        if not self.rules.pages_floor <= pages <= self.brw_pages:
            raise refuse(errno.ERANGE)
        self._take_pages(pages)

    def _take_pages(self, pages: int) -> None:
        self.setting = self.setting.replace(pages=pages)
        self.setting = self._adjusted()
        self.apply(self.setting)

    def _store_flight(self, text: str) -> None:
        self.setting = self.setting.replace(flight=self.rules.flight(text))
        self.setting = self._adjusted()
        self.apply(self.setting)

    def _store_dirty(self, text: str) -> None:
        self.setting = self.setting.replace(dirty=self.rules.dirty(text))
        self.apply(self.setting)

    def _store_active(self, text: str) -> None:
        value = parse_plain(text)
        if value not in (0, 1):
            raise refuse(errno.EINVAL)
        if value and not self.active:
            self.generation += 1
            self._pass("DISCONN", "CONNECTING", "EVICTED", "RECOVER", "FULL")
        self.active = bool(value)

    def _store_grant(self, text: str) -> None:
        wanted = parse_megabytes(text) * PAGE_BYTES
        self._grant_lost = max(0, self.figures().grant_bytes - max(wanted, self.brw_pages * PAGE_BYTES))

    def _clear_stats(self, text: str) -> None:
        now = self.figures()
        self.stats_from = Baseline(self.clock(), now.read, now.write)

    def _clear_rpcs(self, text: str) -> None:
        now = self.figures()
        self.rpcs_from = Baseline(self.clock(), now.read, now.write)
        self.latency = ([0] * _LATENCY_BINS, [0] * _LATENCY_BINS)

    def _ignore(self, text: str) -> None:
        """Accepted without effect."""

    def _adjusted(self) -> Setting:
        now = self.setting
        return now.replace(dirty=self.rules.adjusted_dirty(now["pages"], now["flight"], now["dirty"]))

    def _pass(self, *states: str) -> None:
        now_s = int(self.clock())
        self.history = [*self.history, *((now_s, state) for state in states)][-_STATES_KEPT:]

    def _import(self) -> str:
        return import_text(self, self.figures())

    def _state(self) -> str:
        lines = "".join(f" - [ {t_s}, {state} ]\n" for t_s, state in self.history)
        return f"current_state: {self.state}\nstate_history:\n{lines}"

    def _stats(self) -> str:
        now, since = self.figures(), self.stats_from
        width = 36 if self.rules.modern else 26
        read, write = since_then(now.read.size, since.read.size), since_then(now.write.size, since.write.size)
        waits = [
            since_then(new.usec, old.usec) for new, old in ((now.read, since.read), (now.write, since.write))
        ]
        both = Sums(
            waits[0].count + waits[1].count,
            min((wait.low for wait in waits if wait.count), default=0),
            max(wait.high for wait in waits),
            waits[0].total + waits[1].total,
            waits[0].squares + waits[1].squares,
        )
        connect = Sums(1, 51178, 51178, 51178, 51178**2)
        return head(self.clock(), since.start_s, width=width) + "".join(
            (
                stats_row("req_waittime", both, "usecs", width=width),
                stats_row("req_active", _active(now, since, both.count), "reqs", width=width),
                stats_row("read_bytes", read, "bytes", width=width),
                stats_row("write_bytes", write, "bytes", width=width),
                stats_row("ost_read", waits[0], "usecs", width=width),
                stats_row("ost_write", waits[1], "usecs", width=width),
                stats_row("ost_connect", connect, "usecs", width=width) if not since.read.size.count else "",
            )
        )

    def _rpc_stats(self) -> str:
        now, since = self.figures(), self.rpcs_from
        text = head(self.clock(), since.start_s, width=26, mark=":")
        text += f"read RPCs in flight:  {now.read.in_flight}\nwrite RPCs in flight: {now.write.in_flight}\n"
        text += "DIO RPCs in flight: 0\n" if self.rules.modern else ""
        text += f"pending write pages:  {now.dirty_bytes // PAGE_BYTES}\npending read pages:   0\n"
        read, write = bins_since(now.read, since.read), bins_since(now.write, since.write)
        text += histogram("pages per rpc", "rpcs", powers(32), read[0], write[0])
        text += histogram("rpcs in flight", "rpcs", range(1, 32), read[1][1:], write[1][1:])
        # Nobody simulates offsets; every RPC counts once, as beginning at the start of its object.
        text += histogram("offset", "rpcs", _OFFSET_LABELS, [sum(read[0])], [sum(write[0])])
        if self.rules.modern:
            labels = [0, *powers(_LATENCY_BINS - 1)]
            text += histogram("RPC latency (us)", "count", labels, *self.latency)
        return text

    def _timeouts(self) -> str:
        now_s = int(self.clock())
        since = self.history[0][0]
        ago = f"(at {since}, {now_s - since}s ago)"
        rows = "".join(
            f"{name:<11}: cur {value:3d}  worst {value:3d} {ago} {value:3d}   0   0   0 \n"
            for name, value in (("network", 2), ("portal 28", 5), ("portal 6", 5), ("portal 17", 5))
        )
        return f"last reply : {now_s}, 0s ago\n{rows}"

    def _cached(self) -> str:
        unevict = "unevict_cnt: 0\n" if self.rules.modern else ""
        return f"used_mb: {self.figures().dirty_bytes // MIB}\nbusy_cnt: 0\n{unevict}reclaim: 0\n"

    def _megabytes(self) -> str:
        pages = self.setting["pages"]
        whole, rest = divmod(pages * PAGE_BYTES, MIB)
        return f"{whole}.{rest * 1000 // MIB:03d}\n" if rest else f"{whole}\n"

    def _osc_stats(self) -> str:
        text = head(self.clock(), self.stats_from.start_s, width=26, mark=":")
        return f"{text}lockless_write_bytes\t\t0\nlockless_read_bytes\t\t0\n"

    def _io_latency(self) -> str:
        now_s, start_s = self.clock(), self.stats_from.start_s
        return (
            f"io_latency_by_size:\nsnapshot_time: {now_s:.9f}\nstart_time:   {start_s:.9f}\n"
            f"elapsed_time: {now_s - start_s:.9f}\n"
        )

    def _grant(self) -> str:
        return f"{max(0, self.figures().grant_bytes - self._grant_lost)}\n"


def since_then(now: Sums, before: Sums) -> Sums:
    """What was added after a clear; the range stays that of the whole life."""
    count = now.count - before.count
    if not count:
        return Sums()
    return Sums(count, now.low, now.high, now.total - before.total, now.squares - before.squares)


def bins_since(now: Direction, before: Direction) -> tuple[list[int], list[int]]:
    """Both histograms of one direction since a clear."""
    pages = _minus(now.pages_bins, before.pages_bins)
    return pages, _minus(now.flight_bins, before.flight_bins)


def _minus(now: Sequence[int], before: Sequence[int]) -> list[int]:
    new, old = list(now), list(before)
    old += [0] * (len(new) - len(old))
    return [a - b for a, b in zip(new, old, strict=False)]


def _active(now: OscFigures, since: Baseline, count: int) -> Sums:
    bins = [bins_since(new, old)[1] for new, old in ((now.read, since.read), (now.write, since.write))]
    used = [index for side in bins for index, value in enumerate(side) if value]
    total = sum(index * value for side in bins for index, value in enumerate(side))
    squares = sum(index * index * value for side in bins for index, value in enumerate(side))
    return Sums(count if used else 0, min(used, default=0), max(used, default=0), total, squares)


_TEXTS: dict[str, Callable[[ServedOsc], str]] = {
    "max_pages_per_rpc": lambda osc: f"{osc.setting['pages']}\n",
    "max_rpcs_in_flight": lambda osc: f"{osc.setting['flight']}\n",
    "max_dirty_mb": lambda osc: f"{osc.setting['dirty']}\n",
    "max_mb_per_rpc_read": ServedOsc._megabytes,
    "max_mb_per_rpc_write": ServedOsc._megabytes,
    "cur_dirty_bytes": lambda osc: f"{osc.figures().dirty_bytes}\n",
    "cur_grant_bytes": ServedOsc._grant,
    "active": lambda osc: f"{int(osc.active)}\n",
    "import": ServedOsc._import,
    "state": ServedOsc._state,
    "stats": ServedOsc._stats,
    "rpc_stats": ServedOsc._rpc_stats,
    "timeouts": ServedOsc._timeouts,
    "osc_cached_mb": ServedOsc._cached,
    "osc_stats": ServedOsc._osc_stats,
    "io_latency_stats": ServedOsc._io_latency,
    "ost_server_uuid": lambda osc: f"{osc.target}_UUID\t{osc.state}\n",
}
_STORES: dict[str, Callable[[ServedOsc, str], None]] = {
    "max_pages_per_rpc": ServedOsc._store_pages,
    "max_rpcs_in_flight": ServedOsc._store_flight,
    "max_dirty_mb": ServedOsc._store_dirty,
    "max_mb_per_rpc_read": ServedOsc._store_megabytes,
    "max_mb_per_rpc_write": ServedOsc._store_megabytes,
    "cur_grant_bytes": ServedOsc._store_grant,
    "active": ServedOsc._store_active,
    "stats": ServedOsc._clear_stats,
    "rpc_stats": ServedOsc._clear_rpcs,
    "osc_stats": ServedOsc._ignore,
    "io_latency_stats": ServedOsc._ignore,
    "osc_cached_mb": ServedOsc._ignore,
    "import": ServedOsc._ignore,
}
