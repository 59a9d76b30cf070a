"""The survey of metadata: what the slots of a connection to a metadata server bring in random simulated worlds.

World `number` of `seed` is always the same. Drawn log-uniform: a way of 50 us to 20 ms, 8 to 256 server threads, and
what every kind of request costs server and client. Work is creates, unlinks, stats, epochs over small files (1 to 64
threads) or listing a directory. In three worlds of ten other clients do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from penstock.decide.level import Level
from penstock.decide.objective import rates_of
from penstock.knobs import Setting
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataProbe, MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata
from penstock.spaces import mdc
from penstock.train.drawn_hardware import between
from penstock.train.survey import HeldRates
from penstock.window import Window, windows

# A server that allows as much as any candidate asks for.
SPACE = mdc(128)
HOME = SPACE.default
GRID = SPACE.candidates()
RANGES = {
    "network.round_trip_us": (50.0, 20_000.0),
    "metadata.lookup_us": (20.0, 400.0),
    "metadata.create_us": (50.0, 2000.0),
    "metadata.close_us": (30.0, 500.0),
    "metadata.unlink_us": (50.0, 2000.0),
    "metadata.readdir_us": (300.0, 15_000.0),
    "metadata.glimpse_us": (20.0, 400.0),
    "metadata.client_us": (5.0, 2000.0),
    "metadata.slot_wake_us": (5.0, 2500.0),
    "metadata.ahead_us": (5.0, 500.0),
    "metadata.ahead_reply_us": (10.0, 5000.0),
    "metadata.exponential_ratio": (0.05, 1.0),
}
WORK = ("create", "create", "unlink", "stat", "epoch", "ls")
THREADS = (1, 2, 4, 8, 16, 32, 64)
MOST_CLIENTS, ALONE = 12, 0.7
# A setting is held for so many windows, each as long as the default takes for so many operations.
VISITS, WINDOWS, OPERATIONS = 12, 4, 120.0
LONGEST_S = 60.0
# Rates of operations are small numbers.
LEAST_PER_S = 0.1
BELIEVED_LOG2 = 3.0


def draw_metadata_world(seed: int, number: int) -> MetadataWorld:
    """One random world."""
    rng = Random(f"metadata/{seed}/{number}")
    given = {key: str(between(rng, *bounds)) for key, bounds in RANGES.items()}
    given |= {"metadata.service_threads": str(2 ** rng.randint(3, 8)), "metadata.mod_rpcs": str(128)}
    what, threads = rng.choice(WORK), rng.choice(THREADS)
    clients = 1 if rng.random() < ALONE else rng.randint(2, MOST_CLIENTS)
    work = parse_metadata("md_ls" if what == "ls" else f"md_{what}_{threads}")
    world = MetadataWorld(builtin_cluster("c220g5").override(given), work, clients, number)
    world.members[0].set(world.members[0].setting.replace(statahead=rng.choice((32, 128, 512))))
    return world


def metadata_rates(count: int, seed: int, say: Callable[[str], None]) -> list[HeldRates]:
    """What some settings brought in so many worlds."""
    found = []
    for number in range(count):
        world = draw_metadata_world(seed, number)
        name = f"metadata/{seed}/{number}/{world.work.name}/{world.clients}"
        held = measure_metadata(name, world, Random(f"visits/{seed}/{number}"))
        found += [] if held is None else [held]
        say(f"{number + 1}/{count} {name}")
    return found


def measure_metadata(name: str, world: MetadataWorld, rng: Random) -> HeldRates | None:
    """Hold the default and some other settings of the first client; None if it does too little to tell."""
    probe = world.probe()
    window_s = _window_s(probe)
    if window_s is None:
        return None
    hold = partial(_held, probe, window_s)
    others = rng.sample([each for each in GRID if each != HOME], VISITS)
    levels = {setting: hold(setting) for setting in (HOME, *others)}
    known = {setting: level for setting, level in levels.items() if level.count and level.mean.total > 0}
    if HOME not in known:
        return None
    return HeldRates(name, known, HOME, most_log2=BELIEVED_LOG2, least_rate=LEAST_PER_S)


def _window_s(probe: MetadataProbe) -> float | None:
    """How long the default takes for the operations of a window; None where that is too long."""
    client, step_s = probe.world.members[probe.client], 0.1
    while client.operations.count < OPERATIONS:
        if probe.now() > LONGEST_S:
            return None
        probe.sleep_until(probe.now() + step_s)
    began, began_s = client.operations.count, probe.now()
    while client.operations.count < began + OPERATIONS:
        probe.sleep_until(probe.now() + step_s / 10)
    return max(probe.now() - began_s, step_s / 2)


def _held(probe: MetadataProbe, window_s: float, setting: Setting) -> Level:
    connection = probe.targets[0]
    probe.set(connection, setting)
    probe.sleep_until(probe.now() + window_s)
    level, before = Level(), probe.observe()
    for _ in range(WINDOWS):
        probe.sleep_until(probe.now() + window_s)
        after = probe.observe()
        found: Sequence[object] = windows(before, after)
        for window in found:
            if isinstance(window, Window) and window.target == connection:
                level.take(rates_of(window))
        before = after
    return level
