"""A short campaign on one real mount: fio runs, settings are held in turn, and the throughput of each is kept.

Settings are held, not drawn anew at every probe, because some knobs act only on files opened after a change. The
default comes back between others, so that gains are counted from what the mount gave at about that time. The first
half of the settings is spread out; the second half goes around the best ones found, where knowledge counts most.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from random import Random

from penstock import __version__
from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lock import StateLock
from penstock.actuate.node_actuator import NodeActuator, Reach
from penstock.actuate.recovery import restore_all
from penstock.errors import MissingError, PenstockError
from penstock.knobs import KnobSpace, Setting
from penstock.measure import fio
from penstock.observe.node_observer import NodeObserver
from penstock.snapshot import Target
from penstock.window import DIRECTIONS, Window, windows

FORMAT = "penstock-campaign"
FILE = "campaign.json"
JOBS = {
    "sequential read 8k": fio.FioJob("read", "8k", 64),
    "sequential read 1m": fio.FioJob("read", "1m", 64),
    "sequential write 1m": fio.FioJob("write", "1m", 64),
    "mixed 1m": fio.FioJob("rw", "1m", 64),
}
#: How long a setting is held.
HOLD_S = 4.0
#: The default is measured again after this many other settings.
HOME_EVERY = 4
#: The first part of a setting's time, which still shows the setting before and files opened under it.
SETTLE_RATIO = 0.4
#: Intervals into which the rest of that time is cut.
PROBES = 5
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Held:
    """The rates of one setting for one kind of work, and the rates of the default at about that time."""

    workload: str
    setting: dict[str, int]
    read_bytes_per_s: float
    write_bytes_per_s: float
    default_read_bytes_per_s: float
    default_write_bytes_per_s: float


@dataclass(frozen=True, slots=True)
class HeldWindow:
    """One interval of one held setting. The default and the settings after it are one round."""

    workload: str
    round: int
    setting: dict[str, int]
    seconds: float
    metrics: dict[str, float]


@dataclass(frozen=True, slots=True)
class MountCampaign:
    """The directory to work in, the directory for results, and the time for each kind of work."""

    directory: Path
    out: Path
    seconds: float
    seed: int

    @property
    def settings(self) -> int:
        """How many settings can be held in that time, the default in between."""
        return max(1, int(self.seconds / HOLD_S * HOME_EVERY / (HOME_EVERY + 1)))


def run_campaign(wanted: MountCampaign, root: Path, state_dir: Path, say: Say) -> Path:
    """Run all kinds of work at all chosen settings. Every knob is restored when this returns or fails."""
    why = fio.why_not()
    if why:
        raise MissingError(f"fio is not there: {why}")
    rows: list[Held] = []
    with _mount(wanted.directory, root, state_dir) as bench, _workplace(wanted.directory) as place:
        for name, job in JOBS.items():
            fio.run(fio.FioJob("write", "1m", job.file_mib), place, 0.2)
            with fio.running(job, place):
                found = bench.hold_all(name, wanted.settings, wanted.seed)
            rows += found
            say(f"{name}: {len(found)} settings held")
    document = {
        "format": FORMAT,
        "space": bench.space.name,
        "fs": bench.target.fs,
        "default": dict(bench.home),
        "seconds": wanted.seconds,
        "seed": wanted.seed,
        "penstock": __version__,
        "rows": [asdict(row) for row in rows],
        "windows": [asdict(window) for window in bench.seen],
    }
    wanted.out.mkdir(parents=True, exist_ok=True)
    path = wanted.out / FILE
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return path


def choose(space: KnobSpace, home: Setting, count: int, seed: int) -> list[Setting]:
    """The settings to hold, in random order: alternately one knob away from the default, and anywhere.

    Single knobs show where to look. Only settings far away show what knobs do together.
    """
    rng = Random(seed)
    near = [
        home.replace({knob_id: value})
        for knob_id in space.searched
        for value in space[knob_id].values
        if value != home[knob_id]
    ]
    rng.shuffle(near)
    far = [setting for setting in space.candidates() if setting not in near and setting != home]
    rng.shuffle(far)
    in_turn = [setting for pair in zip_longest(near, far) for setting in pair if setting is not None]
    return in_turn[: max(1, count)]


def around_best(space: KnobSpace, rates: Mapping[Setting, float]) -> Setting | None:
    """A neighbour of the best setting that was not held yet, else of the next best; None where all were."""
    for place in sorted(rates, key=lambda setting: -rates[setting]):
        for setting in space.neighbours(place, *space.searched):
            if setting not in rates:
                return setting
    return None


@dataclass(slots=True)
class _MountBench:
    """One mount to hold settings on, and every interval seen there."""

    observer: NodeObserver
    actuator: NodeActuator
    target: Target
    space: KnobSpace
    home: Setting
    seen: list[HeldWindow] = field(default_factory=list)

    def hold_all(self, workload: str, count: int, seed: int) -> list[Held]:
        """So many settings of one kind of work, the default before every few of them."""
        spread = choose(self.space, self.home, count, seed)
        rows: list[Held] = []
        gains: dict[Setting, float] = {self.home: 1.0}
        default = (0.0, 0.0)
        for number in range(len(spread)):
            setting = spread[number]
            if number % HOME_EVERY == 0:
                default = self._hold(workload, number // HOME_EVERY, self.home)
            if number >= len(spread) / 2:
                setting = around_best(self.space, gains) or setting
            found = self._hold(workload, number // HOME_EVERY, setting)
            rows.append(Held(workload, dict(setting), *found, *default))
            gains[setting] = sum(found) / max(sum(default), 1.0)
        rows.append(Held(workload, dict(self.home), *default, *default))
        return rows

    def _hold(self, workload: str, number: int, setting: Setting) -> tuple[float, float]:
        """Bytes read and written per second at a setting, once it is felt."""
        receipt = self.actuator.set(self.target, setting)
        if receipt.error:
            raise PenstockError(f"{self.target.fs}: {receipt.error}")
        time.sleep(HOLD_S * SETTLE_RATIO)
        found = list(self._windows())
        if not found:
            raise PenstockError(f"{self.target.fs}: its counters cannot be compared; is it still mounted?")
        self.seen += [
            HeldWindow(workload, number, dict(setting), one.seconds, dict(one.metrics)) for one in found
        ]
        seconds = sum(one.seconds for one in found)
        read, write = (
            sum(one.metrics.get(f"{way}.bytes", 0.0) for one in found) / seconds for way in DIRECTIONS
        )
        return read, write

    def _windows(self) -> Iterator[Window]:
        before = self.observer.observe()
        for _ in range(PROBES):
            time.sleep(HOLD_S * (1 - SETTLE_RATIO) / PROBES)
            after = self.observer.observe()
            for one in windows(before, after):
                if isinstance(one, Window) and one.target == self.target:
                    yield one
            before = after


@contextmanager
def _mount(directory: Path, root: Path, state_dir: Path) -> Iterator[_MountBench]:
    """The mount of a directory. Originals are journalled before the first change and restored on leaving."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = StateLock(state_dir)
    reach = Reach().patient()
    observer = NodeObserver(root, fuse=reach.fuse)
    try:
        actuator = NodeActuator(root, Journal(state_dir, owner_of(root)), reach)
        target = find_target(directory, actuator.targets())
        space = actuator.space(target)
        # A first observation, which the next one is compared with.
        observer.observe()
        yield _MountBench(observer, actuator, target, space, actuator.get(target).only(*space.searched))
    finally:
        observer.close()
        lock.release()
        restore_all(root, state_dir)


def find_target(directory: Path, targets: Sequence[Target]) -> Target:
    """The target whose mount holds a directory, the innermost of nested ones. The mount itself is not accessed."""
    place = directory.absolute()
    inside = [target for target in targets if place.is_relative_to(target.fs)]
    if not inside:
        raise MissingError(f"{directory}: on no NFS mount and no FUSE mount of a network file system")
    return max(inside, key=lambda target: len(target.fs))


@contextmanager
def _workplace(directory: Path) -> Iterator[Path]:
    """A new directory on the mount, which is removed afterwards."""
    place = directory / "penstock-campaign"
    try:
        place.mkdir()
    except OSError as error:
        raise PenstockError(f"{place}: {error.strerror}") from None
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
