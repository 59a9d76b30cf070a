"""The metadata path: rates follow from slots, round trips and the window of statahead, as on a real client."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.cluster import Cluster, builtin_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.virtual_time import Process, Processor, Slots, Timeline
from penstock.simulate.metadata.workloads import EPOCH_FILES, parse_metadata
from penstock.testing.actuators import Rig, check_actuator
from penstock.testing.observers import check_observer

RECORDED = Path(__file__).parent.parent / "fixtures" / "lustre-metadata"


def cluster(**changes: object) -> Cluster:
    given = {f"metadata.{key}": str(value) for key, value in ({"mod_rpcs": 128} | changes).items()}
    return builtin_cluster("emulated-10ms").override(given)


def rate(name: str, seconds: float = 5.0, **knobs: int) -> float:
    """Operations a second at a setting, after a second."""
    world = MetadataWorld(cluster(), parse_metadata(name))
    client = world.members[0]
    client.set(client.setting.replace(knobs))
    world.engine.run_until(1.0)
    before = client.operations.count
    world.engine.run_until(1.0 + seconds)
    return (client.operations.count - before) / seconds


def cells(file: str) -> list[dict[str, str]]:
    with (RECORDED / file).open() as text:
        return list(csv.DictReader(text))


def test_rates_rank_the_recorded_cells_of_operations() -> None:
    rows = cells("operations.csv")
    knobs = [{"rpcs": int(row["max_rpcs"]), "mod_rpcs": int(row["max_mod"])} for row in rows]
    found = [
        rate(f"md_{row['phase']}_{row['threads']}", **each) for row, each in zip(rows, knobs, strict=True)
    ]
    known = [float(row["ops_per_s"]) for row in rows]
    assert spearmanr(found, known).statistic >= 0.9
    # One cell of 42 differs from its neighbours in the recording itself.
    off = np.abs(np.log2(np.array(found) / np.array(known)))
    assert np.sort(off)[-2] < 0.5


@pytest.mark.slow
def test_rates_rank_the_recorded_cells_of_statahead() -> None:
    rows = cells("statahead.csv")
    found = [
        rate("md_ls", 30.0, statahead=int(row["statahead_max"]), rpcs=int(row["mdc_max_rpcs"]))
        for row in rows
    ]
    known = [float(row["files_per_s"]) for row in rows]
    assert spearmanr(found, known).statistic >= 0.9
    assert np.abs(np.log2(np.array(found) / np.array(known))).max() < 0.5


def test_close_goes_one_beyond_the_limit_of_changes() -> None:
    engine, seen = Timeline(), []
    slots = Slots(engine, 1)

    def thread(*, closes: bool) -> Process:
        yield slots.take(closes=closes)
        seen.append((engine.now_s, closes))
        yield 1.0
        slots.give(closes=closes)

    for closes in (False, False, True, True):
        engine.start(thread(closes=closes))
    engine.run_until(10.0)
    assert seen[:2] == [(0.0, False), (0.0, True)]
    assert slots.used == slots.closing == 0
    assert len(seen) == 4


def test_slots_admit_no_more_than_their_limit_whatever_it_is_set_to() -> None:
    engine, most = Timeline(), 0
    slots = Slots(engine, 8)

    def thread() -> Process:
        nonlocal most
        while True:
            yield slots.take()
            most = max(most, slots.used)
            yield 0.01
            slots.give()

    for _ in range(32):
        engine.start(thread())
    engine.run_until(1.0)
    assert most == 8
    slots.set(2)
    engine.run_until(1.1)
    most = 0
    engine.run_until(2.0)
    assert most == 2
    slots.set(16)
    engine.run_until(3.0)
    assert most == 16


def test_processor_does_so_many_things_at_once() -> None:
    processor = Processor(Timeline(), 2)
    assert [processor.work(1.0) for _ in range(4)] == [1.0, 1.0, 2.0, 2.0]


def test_same_seed_gives_the_same_counters() -> None:
    def counters(seed: int) -> list[dict[str, float]]:
        probe = MetadataWorld(cluster(), parse_metadata("md_create_16"), seed=seed).probe()
        probe.sleep_until(3.0)
        return [dict(one.counters) for one in probe.observe().targets]

    assert counters(1) == counters(1)
    assert counters(1) != counters(2)


def test_probe_obeys_the_suites() -> None:
    for place in (0, 1):

        def make(place: int = place) -> Rig:
            probe = MetadataWorld(cluster(), parse_metadata("md_stat_4")).probe()
            return Rig(probe, probe.targets[place])

        check_actuator(make)
    world = MetadataWorld(cluster(), parse_metadata("md_create_4"))
    check_observer(world.probe, lambda: world.engine.run_until(world.engine.now_s + 0.5))


def test_threads_of_an_epoch_divide_its_files_and_wait_for_each_other() -> None:
    world = MetadataWorld(cluster(client_us=1), parse_metadata("md_epoch_16"))
    client = world.members[0]
    done = []
    while client.operations.count < 2.5 * EPOCH_FILES:
        before = client.operations.count
        world.engine.run_until(world.engine.now_s + 0.001)
        done.append(client.operations.count - before)
    ends = [at for at in (EPOCH_FILES, 2 * EPOCH_FILES) if at in np.cumsum(done)]
    assert ends == [EPOCH_FILES, 2 * EPOCH_FILES], "an epoch begins when the one before was read to the end"
    assert client.looked.count == pytest.approx(client.operations.count, abs=16)


def test_pings_tell_how_far_a_busy_server_is() -> None:
    slow = cluster(service_threads=1, create_us=20_000)
    world = MetadataWorld(slow, parse_metadata("md_create_16"), clients=4)
    world.engine.run_until(60.0)
    client = world.members[3]
    assert client.pinged.count == 3
    assert client.least_usec < 1.2e6 * world.members[0].server.round_trip_s
    assert client.changed.usec / client.changed.count > 20 * client.least_usec


def test_clients_of_one_busy_server_share_it_evenly() -> None:
    slow = cluster(service_threads=1, create_us=5000, close_us=5000)
    world = MetadataWorld(slow, parse_metadata("md_create_16"), clients=4)
    world.members[0].set(Setting(rpcs=64, mod_rpcs=63, statahead=32))
    world.engine.run_until(20.0)
    done = [client.operations.count for client in world.members]
    assert sum(done) == pytest.approx(2000, rel=0.05)
    # Who has more in flight takes more: under FIFO a share is that of what is outstanding.
    assert done[0] > 1.3 * max(done[1:])


@pytest.mark.parametrize("name", ["md_create_0", "md_copy_4", "md_ls_4", "md_", "md_stat_99999"])
def test_unknown_metadata_workloads_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="metadata workloads look like"):
        parse_metadata(name)
