"""The description of a storage system: every stage a write passes between a compute node and a disk.

A description is a TOML file. It gives the number of nodes, the forwarding component that each node uses at every
stage, and how the file system distributes a burst over its targets. `cetus` and `titan` come with the package.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from penstock import config
from penstock.config import Section, Size
from penstock.errors import UsageError, did_you_mean
from penstock.units import KIB

BUILT_IN = ("cetus", "titan")
STRIPE_UNIT_BYTES = 64 * KIB
# The forwarding stages of each kind of file system, and the letters that stand for them in the paper's symbols.
STAGES = {"gpfs": {"bridge": "b", "link": "l", "io_node": "io"}, "lustre": {"router": "r"}}

Count = Annotated[int, Field(ge=1, le=10_000_000)]
Rate = Annotated[float, Field(gt=0)]
Ints = npt.NDArray[np.int64]


class Compute(Section):
    """The machine whose jobs write."""

    nodes: Count
    cores_per_node: Count


class Stage(Section):
    """One forwarding stage: which of its components serves which compute node.

    `blocked` gives each component one run of consecutive nodes, `interleaved` deals nodes out in turn, and a
    list names the component of every node.
    """

    components: Count
    mapping: Literal["blocked", "interleaved"] | list[int] = "blocked"


class Lustre(Section):
    """The targets, their servers (target i is on server i modulo servers) and the default striping."""

    osts: Count
    osses: Count
    stripe_size: Size = 1 << 20
    stripe_count: Count = 1

    @model_validator(mode="after")
    def _coherent(self) -> Lustre:
        if self.osses > self.osts:
            raise ValueError(f"osses {self.osses} is more than osts {self.osts}")
        if self.stripe_count > self.osts:
            raise ValueError(f"stripe_count {self.stripe_count} is more than osts {self.osts}")
        if self.stripe_size <= 0 or self.stripe_size % STRIPE_UNIT_BYTES:
            raise ValueError(f"stripe_size {self.stripe_size} is not a multiple of 64 KiB")
        return self


class Gpfs(Section):
    """The network storage disks, their servers (assigned in turn), and the block size that bursts are cut into."""

    nsds: Count
    servers: Count
    block_size: Size = 8 << 20
    subblocks: Count = 32

    @model_validator(mode="after")
    def _coherent(self) -> Gpfs:
        if self.servers > self.nsds:
            raise ValueError(f"servers {self.servers} is more than nsds {self.nsds}")
        if self.block_size <= 0 or self.block_size % self.subblocks:
            raise ValueError(
                f"block_size {self.block_size} is not a multiple of its {self.subblocks} subblocks"
            )
        return self


class Service(Section):
    """The speed of each stage. Only the synthetic campaign and the estimate of moving data need it.

    `interference` is the variation that other jobs cause on a shared stage, as a standard deviation of the logarithm.
    """

    metadata_ops_per_s: Rate = 5000.0
    node_bytes_per_s: Rate = 1.5e9
    interconnect_bytes_per_s: Rate = 2.0e9
    network_bytes_per_s: Rate = 100e9
    server_bytes_per_s: Rate = 2.0e9
    target_bytes_per_s: Rate = 0.3e9
    startup_s: Annotated[float, Field(ge=0)] = 1.0
    interference: Annotated[float, Field(ge=0, le=2)] = 0.1
    stage_bytes_per_s: dict[str, Rate] = Field(default_factory=dict)


class StorageSystem(Section):
    """A complete description. It is immutable, because a model belongs to exactly one system."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9._-]+$")]
    title: str = ""
    kind: Literal["gpfs", "lustre"]
    compute: Compute
    stages: dict[str, Stage]
    lustre: Lustre | None = None
    gpfs: Gpfs | None = None
    service: Service = Service()

    @model_validator(mode="after")
    def _coherent(self) -> StorageSystem:
        wanted = STAGES[self.kind]
        for name in self.stages:
            if name not in wanted:
                raise ValueError(f"a {self.kind} system has no stage {name!r}{did_you_mean(name, wanted)}")
        for name in wanted:
            if name not in self.stages:
                raise ValueError(f"a {self.kind} system needs a table [stages.{name}]")
        if (self.lustre is None) == (self.kind == "lustre") or (self.gpfs is None) == (self.kind == "gpfs"):
            raise ValueError(f"a {self.kind} system needs the table [{self.kind}] and no other layout")
        for name, stage in self.stages.items():
            _check_mapping(name, stage, self.compute.nodes)
        for name in self.service.stage_bytes_per_s:
            if name not in wanted:
                raise ValueError(
                    f"service.stage_bytes_per_s names no stage {name!r}{did_you_mean(name, wanted)}"
                )
        return self

    def component_of(self, stage: str, nodes: Ints) -> Ints:
        """The component of `stage` that each of `nodes` uses."""
        description = self.stages[stage]
        if isinstance(description.mapping, list):
            return np.asarray(description.mapping, dtype=np.int64)[nodes]
        if description.mapping == "interleaved":
            return nodes % description.components
        return nodes * description.components // self.compute.nodes


def _check_mapping(name: str, stage: Stage, nodes: int) -> None:
    if isinstance(stage.mapping, list):
        if len(stage.mapping) != nodes:
            raise ValueError(f"stages.{name}.mapping has {len(stage.mapping)} entries for {nodes} nodes")
        outside = [entry for entry in stage.mapping if not 0 <= entry < stage.components]
        if outside:
            raise ValueError(f"stages.{name}.mapping names component {outside[0]} of {stage.components}")


def load_system(name: str) -> StorageSystem:
    """A built-in description by name, or the one in a TOML file."""
    if name in BUILT_IN:
        text = resources.files("penstock.plan").joinpath("systems", f"{name}.toml").read_text("utf-8")
        return config.parse(text, StorageSystem, f"{name}.toml")
    if "/" not in name and not name.endswith(".toml") and not Path(name).exists():
        raise UsageError(f"no system {name!r}: cetus, titan or FILE.toml{did_you_mean(name, BUILT_IN)}")
    return config.load(Path(name), StorageSystem)


def restripe(system: StorageSystem, stripe_bytes: int) -> StorageSystem:
    """The same system with another Lustre stripe size."""
    if system.lustre is None:
        raise UsageError(f"--stripe-size {stripe_bytes}: {system.name} is GPFS, which stripes by itself")
    if stripe_bytes <= 0 or stripe_bytes % STRIPE_UNIT_BYTES:
        raise UsageError(f"--stripe-size {stripe_bytes} is not a multiple of 64 KiB")
    layout = system.lustre.model_copy(update={"stripe_size": stripe_bytes})
    return system.model_copy(update={"lustre": layout})


def flat_system(name: str, nodes: int, cores_per_node: int, osts: int = 1) -> StorageSystem:
    """A system of which only the size is known: one router, one server, and as many targets as the files use."""
    return StorageSystem(
        name=name,
        title="a machine known by its job sizes only",
        kind="lustre",
        compute=Compute(nodes=nodes, cores_per_node=cores_per_node),
        stages={"router": Stage(components=1)},
        lustre=Lustre(osts=osts, osses=1),
    )
