"""A short campaign on one real mount: fio runs, settings are held in turn, and the throughput of each is kept.

Settings are held, not changed at every probe, because some knobs act only on files opened after a change. The default
is measured again between others, so that gains refer to the mount's speed at about that time.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random

from penstock import __version__
from penstock.actuate.journal import Journal, owner_of
from penstock.actuate.lock import StateLock
from penstock.actuate.node_actuator import NodeActuator
from penstock.actuate.recovery import restore_all
from penstock.errors import MissingError, PenstockError
from penstock.knobs import KnobSpace, Setting
from penstock.measure import fio
from penstock.observe.node_observer import NodeObserver
from penstock.snapshot import Target
from penstock.window import Window, windows

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
class MountCampaign:
    """The directory to work in, the directory for results, and the time for each kind of work."""

    directory: Path
    out: Path
    seconds: float
    seed: int

    @property
    def settings(self) -> int:
        """The number of settings that fit into that time, with the default in between."""
        return max(1, int(self.seconds / HOLD_S * HOME_EVERY / (HOME_EVERY + 1)) - 1)


def run_campaign(wanted: MountCampaign, root: Path, state_dir: Path, say: Say) -> Path:
    """Run all kinds of work at all chosen settings. Every knob is restored when this returns or fails."""
    why = fio.why_not()
    if why:
        raise MissingError(f"fio is not there: {why}")
    with _mount(wanted.directory, root, state_dir) as bench, _workplace(wanted.directory) as place:
        chosen = choose(bench.space, bench.home, wanted.settings, wanted.seed)
        rows: list[Held] = []
        for name, job in JOBS.items():
            fio.run(fio.FioJob("write", "1m", job.file_mib), place, 0.2)
            with fio.running(job, place):
                rows += bench.hold_all(name, chosen)
            say(f"{name}: {len(chosen)} settings held")
    document = {
        "format": FORMAT,
        "space": bench.space.name,
        "fs": bench.target.fs,
        "default": dict(bench.home),
        "seconds": wanted.seconds,
        "seed": wanted.seed,
        "penstock": __version__,
        "rows": [asdict(row) for row in rows],
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


@dataclass(slots=True)
class _MountBench:
    """One mount to hold settings on."""

    observer: NodeObserver
    actuator: NodeActuator
    target: Target
    space: KnobSpace
    home: Setting

    def hold_all(self, workload: str, chosen: Sequence[Setting]) -> list[Held]:
        rows: list[Held] = []
        default = self._hold(self.home)
        for number, setting in enumerate(chosen, 1):
            if number % HOME_EVERY == 0:
                default = self._hold(self.home)
            rows.append(Held(workload, dict(setting), *self._hold(setting), *default))
        rows.append(Held(workload, dict(self.home), *default, *default))
        return rows

    def _hold(self, setting: Setting) -> tuple[float, float]:
        """Bytes read and written per second at a setting, once it has taken effect."""
        receipt = self.actuator.set(self.target, setting)
        if receipt.error:
            raise PenstockError(f"{self.target.fs}: {receipt.error}")
        time.sleep(HOLD_S * SETTLE_RATIO)
        before = self.observer.observe()
        time.sleep(HOLD_S * (1 - SETTLE_RATIO))
        for seen in windows(before, self.observer.observe()):
            if isinstance(seen, Window) and seen.target == self.target:
                moved = (seen.metrics.get(f"{way}.bytes", 0.0) / seen.seconds for way in ("read", "write"))
                return next(moved), next(moved)
        raise PenstockError(f"{self.target.fs}: its counters cannot be compared; is it still mounted?")


@contextmanager
def _mount(directory: Path, root: Path, state_dir: Path) -> Iterator[_MountBench]:
    """The mount of a directory. Originals are journalled before the first change and restored on leaving."""
    state_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = StateLock(state_dir)
    observer = NodeObserver(root)
    try:
        actuator = NodeActuator(root, Journal(state_dir, owner_of(root)))
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
