"""A served client node: its mount, its data paths, and everything that can happen to them."""

from __future__ import annotations

import hashlib
import threading
import time
import uuid
from dataclasses import dataclass
from functools import partial

from penstock.emulate.formats import head, stats_row
from penstock.emulate.served_client import MountFigures, OscFigures, SimulatedClient
from penstock.emulate.served_metadata import ServedMetadata
from penstock.emulate.served_osc import ServedOsc, since_then
from penstock.emulate.served_readahead import ServedReadahead
from penstock.emulate.stores import Rules, visible_bytes
from penstock.emulate.tree import File, Reader, Stored, Tree, Writer
from penstock.emulate.treelayout import DEBUGFS, PROCFS, SYSFS, Listed, TreeLayout
from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.observe.lustre.layout import READAHEAD_KNOBS
from penstock.spaces import MOD_RPCS
from penstock.units import KIB, MIB, PAGE_BYTES

# Only the latency histogram of 2.17 needs to look at every target again and again.
_SORT_EVERY_S = 0.5

Handlers = dict[str, tuple[Reader | None, Writer | None]]


@dataclass(frozen=True, slots=True)
class NodePlan:
    """What is served: the version's layout, how many targets, on how much memory."""

    layout: TreeLayout
    osts: int
    ram_gib: float
    brw_pages: int = 1024
    fs: str = "lustre"
    seed: int = 0
    #: How many requests that change something the metadata server allows.
    mod_rpcs: int = MOD_RPCS
    #: Processors of the node, where they are known.
    cores: int = 0


class ServedNode:
    """The tree of one client in real time. Every method may be called from any thread."""

    def __init__(self, plan: NodePlan, client: SimulatedClient) -> None:
        self.plan = plan
        self.tree = Tree()
        self.lock = threading.RLock()
        self.rules = Rules(plan.layout.modern, visible_bytes(plan.ram_gib))
        self._client = client
        self._oscs: dict[str, ServedOsc] = {}
        self._figures: dict[int, OscFigures] = {}
        self._t_s = self._sorted_s = 0.0
        self._mounts = 0
        self._calls_from = MountFigures()
        self._calls_start_s = time.time()
        self.metadata: ServedMetadata
        self.readahead: ServedReadahead
        self._add_node_files()
        self.mount()

    def advance(self, seconds: float) -> None:
        """Let the simulated client live for that long."""
        with self.lock:
            self._t_s += seconds
            self._client.run_until(self._t_s)
            self._figures.clear()
            if self.rules.modern and self._t_s >= self._sorted_s + _SORT_EVERY_S:
                self._sorted_s = self._t_s
                for osc in self._oscs.values():
                    osc.tick()

    def mount(self) -> None:
        """A fresh mount, under an instance name that was not used before."""
        with self.lock:
            self._mounts += 1
            digest = hashlib.sha256(f"{self.plan.seed}/{self._mounts}".encode()).hexdigest()
            instance = f"ff1100010{digest[:4]}000"
            self._calls_start_s = time.time()
            for index in range(self.plan.osts):
                self._add_osc(index, instance)
            made = self.metadata = self._served_metadata(instance)
            ahead = self.readahead = self._served_readahead()
            made.apply(made.rpcs, made.mod_rpcs, made.statahead)
            ahead.apply(ahead.setting)
            # Half of the processors; on a node with one a thread of its own may still refill one file at a time.
            threads = Stored(f"{self.plan.cores // 2}\n")
            known = {"max_read_ahead_async_active": (threads.read, threads.write)} if self.plan.cores else {}
            llite = (
                self._mount_live()
                | known
                | {
                    "statahead_max": (lambda: f"{made.statahead}\n", made.store_statahead),
                    "statahead_agl": (lambda: f"{int(made.agl)}\n", made.store_agl),
                    "statahead_running_max": (lambda: f"{made.scans}\n", made.store_scans),
                    READAHEAD_KNOBS["ahead_total"]: (partial(ahead.text, "ahead_total"), ahead.store_total),
                    READAHEAD_KNOBS["ahead_file"]: (partial(ahead.text, "ahead_file"), ahead.store_file),
                    READAHEAD_KNOBS["ahead_whole"]: (partial(ahead.text, "ahead_whole"), ahead.store_whole),
                    READAHEAD_KNOBS["ahead_async"]: (partial(ahead.text, "ahead_async"), ahead.store_async),
                }
            )
            self._add_directory("llite", f"{self.plan.fs}-{instance}", ("", instance), llite)
            live: Handlers = {
                "max_rpcs_in_flight": (lambda: f"{made.rpcs}\n", made.store_rpcs),
                "max_mod_rpcs_in_flight": (lambda: f"{made.mod_rpcs}\n", made.store_mod_rpcs),
                "stats": (made.stats, lambda text: None),
                "md_stats": (made.operations, lambda text: None),
                "import": (made.connection, lambda text: None),
            }
            self._add_directory("mdc", f"{self.plan.fs}-MDT0000-mdc-{instance}", ("", instance), live)

    def _served_metadata(self, instance: str) -> ServedMetadata:
        kinds = self.plan.layout.kinds
        text = next(listed.text for listed in kinds["mdc"] if listed.file == "import")
        ahead = next(listed.text for listed in kinds["llite"] if listed.file == "statahead_max")
        return ServedMetadata(
            figures=self._client.metadata,
            apply=self._client.apply_metadata,
            wide=self.rules.modern,
            statahead=int(ahead or 0),
            import_text=(text or "").replace("{fs}", self.plan.fs).replace("{instance}", instance),
            server_limit=self.plan.mod_rpcs,
            start_s=time.time(),
        )

    def _served_readahead(self) -> ServedReadahead:
        texts = {listed.file: listed.text for listed in self.plan.layout.kinds["llite"]}
        start = Setting({knob_id: int(texts[file] or 0) for knob_id, file in READAHEAD_KNOBS.items()})
        return ServedReadahead(self.rules, self._client.apply_readahead, start)

    def unmount(self) -> None:
        """Everything of the mount goes; the module's own files stay."""
        with self.lock:
            for place in (SYSFS, PROCFS, DEBUGFS):
                for kind in ("osc", "llite", "mdc"):
                    for name in sorted(self.tree.directories.get(f"{place}/{kind}", ())):
                        self.tree.remove(f"{place}/{kind}/{name}")
            self._oscs.clear()

    def vanish(self, ost: str) -> None:
        """One data path goes, as during an unmount."""
        with self.lock:
            osc = self.osc(ost)
            for place in (SYSFS, PROCFS, DEBUGFS):
                if f"{place}/osc/{osc.name}" in self.tree.directories:
                    self.tree.remove(f"{place}/osc/{osc.name}")
            del self._oscs[ost]

    def osc(self, ost: str) -> ServedOsc:
        """A data path by its OST's name, such as OST0000."""
        if ost not in self._oscs:
            raise UsageError(f"{ost!r} is not served; there are {len(self._oscs)} targets")
        return self._oscs[ost]

    @property
    def osts(self) -> tuple[str, ...]:
        """The OSTs whose data paths are mounted."""
        return tuple(self._oscs)

    def _add_osc(self, index: int, instance: str) -> None:
        ost = f"OST{index:04x}"
        osc = ServedOsc(
            name=f"{self.plan.fs}-{ost}-osc-{instance}",
            target=f"{self.plan.fs}-{ost}",
            rules=self.rules,
            figures=partial(self._osc_figures, index),
            apply=partial(self._client.apply, index),
            clock=time.time,
            brw_pages=self.plan.brw_pages,
        )
        osc.connect()
        self._oscs[ost] = osc
        live: Handlers = {
            listed.file: (partial(osc.read, listed.file), partial(osc.write, listed.file))
            for listed in self.plan.layout.kinds["osc"]
            if listed.live
        }
        self._add_directory("osc", osc.name, (ost, instance), live)

    def _osc_figures(self, index: int) -> OscFigures:
        found = self._figures.get(index)
        if found is None:
            found = self._figures[index] = self._client.osc(index)
        return found

    def _add_directory(self, kind: str, name: str, places: tuple[str, str], live: Handlers) -> None:
        ost, instance = places
        if kind == "osc" and not self.plan.layout.modern:
            self.tree.add_directory(f"{SYSFS}/{kind}/{name}")
        for listed in self.plan.layout.kinds[kind]:
            path = f"{listed.place}/{kind}/{name}/{listed.file}"
            reader, writer = live.get(listed.file, (None, None))
            if listed.file not in live and not listed.live:
                reader, writer = _stored(listed, fs=self.plan.fs, ost=ost, instance=instance)
            self.tree.add(
                File(
                    path,
                    listed.mode,
                    reader if listed.mode & 0o444 else None,
                    writer if listed.mode & 0o222 else None,
                )
            )

    def _mount_live(self) -> Handlers:
        return {
            "stats": (self._mount_stats, self._clear_mount_stats),
            "read_ahead_stats": (self._read_ahead, lambda text: None),
            "max_cached_mb": (self._max_cached, lambda text: None),
        }

    def _mount_stats(self) -> str:
        now, then = self._client.mount(), self._calls_from
        width = 36 if self.rules.modern else 26
        rows = (
            ("read_bytes", now.read, then.read, "bytes"),
            ("write_bytes", now.write, then.write, "bytes"),
            ("read", now.read_usec, then.read_usec, "usecs"),
            ("open", now.open, then.open, "usecs"),
            ("close", now.close, then.close, "usecs"),
            ("fsync", now.fsync, then.fsync, "usecs"),
        )
        return (
            head(time.time(), self._calls_start_s, width=width)
            + "".join(
                stats_row(name, since_then(total, before), unit, width=width)
                for name, total, before, unit in rows
            )
            + self.metadata.calls()
        )

    def _clear_mount_stats(self, text: str) -> None:
        self._calls_from, self._calls_start_s = self._client.mount(), time.time()

    def _read_ahead(self) -> str:
        """`read_ahead_stats`, with the rows that are simulated."""
        now, then, width = self._client.mount(), self._calls_from, 36 if self.rules.modern else 26
        counts = (
            ("async_readahead", now.async_readaheads - then.async_readaheads),
            ("hit_max_readahead_issue", now.ahead_limited - then.ahead_limited),
        )
        rows = (f"{name:<{width}}{count} samples [pages]\n" for name, count in counts if count)
        return head(time.time(), self._calls_start_s, width=width) + "".join(rows)

    def _max_cached(self) -> str:
        limit = self.rules.ram_bytes // 2 // MIB
        ahead = self.readahead.setting["ahead_total"]
        used = min(limit, sum(self._osc_figures(i).dirty_bytes for i in range(self.plan.osts)) // MIB)
        unevict = "unevict_mb: 0\n" if self.rules.modern else ""
        return (
            f"users: 5\nmax_cached_mb: {limit}\nused_mb: {used}\nunused_mb: {limit - used}\n{unevict}"
            f"reclaim_count: 0\nmax_read_ahead_mb: {ahead}\nused_read_ahead_mb: 0\n"
        )

    def _add_node_files(self) -> None:
        boot = Stored(f"{uuid.uuid4()}\n")
        total = self.rules.ram_bytes // KIB
        memory = Stored(f"MemTotal:       {total:8d} kB\nMemFree:        {total // 2:8d} kB\n")
        self.tree.add(File("proc/sys/kernel/random/boot_id", 0o444, boot.read, None))
        self.tree.add(File("proc/meminfo", 0o444, memory.read, None))
        special = {
            "version": f"{self.plan.layout.version}\n",
            "max_dirty_mb": f"{self.rules.ram_bytes // PAGE_BYTES // 2 // 256}\n",
        }
        for listed in self.plan.layout.kinds["top"]:
            kept = Stored(special.get(listed.file, listed.text or ""))
            path = f"{listed.place}/{listed.file}"
            self.tree.add(File(path, listed.mode, kept.read, kept.write if listed.mode & 0o222 else None))


def _stored(listed: Listed, *, fs: str, ost: str, instance: str) -> tuple[Reader | None, Writer]:
    if listed.text is None:
        return None, lambda text: None
    text = listed.text.replace("{fs}", fs).replace("{ost}", ost).replace("{instance}", instance)
    kept = Stored(text)
    return kept.read, kept.write
