"""Applications: each moves data the way its original does, on one client and on several, and repeats itself."""

from __future__ import annotations

from dataclasses import astuple, replace

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.knobs import Setting
from penstock.simulate.applications import APPLICATIONS
from penstock.simulate.catalogue import APPLICATION_NAMES, named_plan, workload_names
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.faults import parse_fault
from penstock.simulate.simulation import Simulation

# Small enough to come to their second phase within a second.
SMALL = {
    "dlio-bert": "files=8,samples=3000,every=2000,model=32m,threads=2,osts=2",
    "dlio-megatron": "samples=1000000,every=4,model=16m,osts=2",
    "checkpoint": "compute=0.1,bytes=4m",
    "webserver": "files=200,threads=10,bytes=16k",
}


def simulation(name: str, clients: int = 1, seed: int = 1) -> Simulation:
    return Simulation(named_plan(builtin_cluster("c220g5"), name, clients, seed))


def small(name: str) -> str:
    return f"{name}:{SMALL[name]}" if name in SMALL else f"{name}:particles=65536"


@pytest.mark.parametrize("name", APPLICATION_NAMES)
def test_every_application_moves_data_on_every_client(name: str) -> None:
    made = simulation(small(name), clients=2)
    made.run_until(0.6)
    reads, writes = made.world.client.read_bytes, made.world.client.write_bytes
    assert ((reads + writes) > 0).all()
    assert reads.sum() > 0 or name.startswith(("vpic", "checkpoint"))
    assert writes.sum() > 0 or name.startswith("bdcats")


@pytest.mark.parametrize("name", ["dlio-bert", "bdcats-full", "webserver"])
def test_application_repeats_itself_and_depends_on_its_seed(name: str) -> None:
    outcomes = []
    for seed in (1, 1, 2):
        made = simulation(small(name), seed=seed)
        made.run_until(0.3)
        outcomes.append(astuple(made.totals()))
    assert outcomes[0] == outcomes[1] != outcomes[2]


def test_bert_uses_as_many_osts_and_threads_as_asked() -> None:
    made = simulation("dlio-bert:files=8,samples=3000,threads=3,osts=2,model=0")
    made.run_until(0.5)
    assert [int(pages) > 0 for pages in made.world.sums[0::2, 0]] == [True] * 2 + [False] * 6
    assert made.world.stream.shape[0] == 3 + 1


def test_bert_reads_every_file_of_its_epoch() -> None:
    plan = named_plan(builtin_cluster("c220g5"), "dlio-bert:files=8,samples=3000,threads=3,model=0")
    script = plan.scripts[0]
    read = np.concatenate([task.ops[task.ops["kind"] == 0] for task in script.tasks])
    assert int((read["count"] * read["bytes"]).sum()) == sum(file.size_bytes for file in script.files[:8])
    assert set(read["handle"].tolist()) == set(range(8))


def test_reading_pauses_while_a_checkpoint_is_written() -> None:
    made = simulation("dlio-bert:files=8,samples=30000,every=2000,model=256m,threads=2,osts=2")
    quiet = busy = 0
    for tick in range(1, 40):
        before = int(made.world.client.read_bytes[0]), int(made.world.client.write_bytes[0])
        made.run_until(tick * 0.1)
        read = int(made.world.client.read_bytes[0]) - before[0]
        wrote = int(made.world.client.write_bytes[0]) - before[1]
        quiet += wrote > 0 and read == 0
        busy += read > 0 and wrote == 0
    assert quiet >= 3
    assert busy >= 3


def test_training_time_slows_reading_down() -> None:
    kernel, training = simulation(small("dlio-bert")), simulation(small("dlio-bert") + ",compute=0.05")
    kernel.run_until(1.0)
    training.run_until(1.0)
    assert training.totals().app_bytes < 0.5 * kernel.totals().app_bytes


def test_small_samples_cost_whole_pages() -> None:
    made = simulation("dlio-megatron:samples=100000000,model=0")
    made.run_until(0.5)
    totals = made.totals()
    assert totals.rpc_bytes == pytest.approx(2 * totals.app_bytes, rel=0.05)


def test_vpic_writes_its_volume_and_stripes_it_evenly() -> None:
    made = simulation("vpic-1d:particles=262144,osts=4,steps=1,compute=100")
    made.run_until(2.0)
    assert int(made.world.client.write_bytes[0]) == 4 * 8 * 262144 * 4
    made.run_until(60.0)
    written = made.world.sums[1::2, 1][:4]
    assert written.min() == written.max() > 0


def test_interleaved_writing_reads_back_and_writes_in_place() -> None:
    plain, mixed = (simulation(f"vpic-2d{kind}:steps=1,compute=100") for kind in ("", "-interleaved"))
    for made in (plain, mixed):
        made.run_until(3.0)
    assert plain.world.client.read_bytes[0] == 0
    assert mixed.world.client.read_bytes[0] > 0
    assert mixed.world.client.write_bytes[0] == 8 * plain.world.client.write_bytes[0]


def test_partial_read_asks_for_its_part() -> None:
    sizes = {}
    for kind in ("full", "partial"):
        plan = named_plan(builtin_cluster("c220g5"), f"bdcats-{kind}:steps=1")
        sizes[kind] = sum(int(task.ops["bytes"].sum()) for task in plan.scripts[0].tasks)
    assert sizes["partial"] * 2 == sizes["full"]


def test_checkpoint_computes_between_bursts_and_is_on_the_servers_after_each() -> None:
    made = simulation("checkpoint:ranks=2,bytes=8m,compute=1")
    made.run_until(0.9)
    assert made.totals().app_bytes == 0
    made.run_until(1.9)
    assert made.totals().app_bytes == 2 * (8 << 20)
    assert int(made.world.osc.dirty.sum()) == 0


def test_settings_matter_to_an_application() -> None:
    speeds = []
    for setting in (Setting(pages=1024, flight=8), Setting(pages=1, flight=1)):
        made = simulation("bdcats-full:particles=1048576,osts=1")
        made.set_all(setting)
        made.run_until(1.0)
        speeds.append(made.totals().app_bytes)
    assert speeds[0] > 1.5 * speeds[1]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("dlio-brt", "dlio-bert"),
        ("vpic-2d-interleave", "vpic-2d-interleaved"),
        ("dlio-bert:thread=4", "threads"),
        ("dlio-bert:threads=0", "threads=0"),
        ("dlio-bert:threads=x", "not a number"),
        ("dlio-bert:threads", "parameter=value"),
        ("dlio-bert:osts=9", "8 OSTs"),
        ("s_rd_sq_1m:threads=4", "unknown workload"),
    ],
)
def test_wrong_names_are_refused_with_the_nearest(name: str, part: str) -> None:
    with pytest.raises(UsageError, match=part):
        named_plan(builtin_cluster("c220g5"), name)


def test_catalogue_lists_synthetic_workloads_and_applications() -> None:
    assert len(workload_names()) == 24 + len(APPLICATIONS)


def test_eviction_does_not_open_a_barrier() -> None:
    """A client that loses its connection to an OST wakes its threads; those at a barrier go on waiting."""
    cluster = builtin_cluster("c220g5")
    plan = named_plan(cluster, "checkpoint:ranks=2,osts=2,bytes=64m,compute=0", clients=2)
    made = Simulation(replace(plan, faults=(parse_fault("evict:client=0:ost=0:at=0.3"),)))
    calls = []
    for tick in range(1, 60):
        made.run_until(tick * 0.05)
        calls.append(made.world.client.write_calls.copy())
    rounds = [np.ceil(each / (2 * 64)) for each in calls]
    assert rounds[-1].min() >= 2
    assert all(abs(each[0] - each[1]) <= 1 for each in rounds)
