"""What tuning metadata brings: the shipped policy beside the default, for one client and for many of one server.

usage: ./run bench metadata [--cluster emulated-10ms] [--seconds 300] [--seeds 2] [--clients 100] [--only one|many]

One client, whose server allows `--mod-rpcs` changes at once: a line a workload with operations a second at the
default and under `weir`, the mean and the worst ratio over the seeds, and where the knobs were at the end. Then
`--clients` clients that all tune on one server, with room for them and without: the total, and the worst client,
against the same client at the default.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Mapping, Sequence

from penstock.evaluate.metadata_runs import MetadataRun, run_metadata
from penstock.simulate.cluster import Cluster, find_cluster
from penstock.simulate.metadata.metadata_probe import MetadataWorld
from penstock.simulate.metadata.workloads import parse_metadata

WARMUP_S = 5.0
#: What a goal asks of a workload; of all others that nothing is lost.
LEAST = {"md_create_16": 1.4, "md_unlink_16": 1.4, "md_ls": 2.0}
NOT_LOST = 0.97
ONE = (
    *LEAST,
    *(f"md_{what}_{threads}" for what in ("create", "unlink", "stat") for threads in (1, 4)),
    "md_stat_16",
    "md_epoch_16",
)
#: Many clients of one server: the server as it is, and one that they keep busy all the time.
MANY: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "creates": ("md_create_16", {}),
    "creates, 2 ms of a server thread each": ("md_create_16", {"create_us": "2000", "close_us": "2000"}),
    "listings": ("md_ls", {}),
}
LEAST_CLIENT = 0.95
#: Two runs of one setting differ by a thousandth.
LEAST_TOTAL = 0.999


def run(cluster: Cluster, name: str, asked: argparse.Namespace, seed: int, **how: object) -> MetadataRun:
    """One run at the default, or under a policy."""
    clients, policy = how.get("clients", 1), how.get("policy")
    assert isinstance(clients, int)
    assert policy is None or isinstance(policy, str)
    world = MetadataWorld(cluster, parse_metadata(name), clients, seed)
    return run_metadata(world, (asked.seconds, WARMUP_S), policy=policy)


def one_line(cluster: Cluster, name: str, asked: argparse.Namespace) -> tuple[str, bool]:
    """One workload of one client, and whether its goal is met."""
    seeds = range(1, asked.seeds + 1)
    default = [run(cluster, name, asked, seed) for seed in seeds]
    tuned = [run(cluster, name, asked, seed, policy="weir") for seed in seeds]
    ratios = [b.ops_per_s[0] / a.ops_per_s[0] for a, b in zip(default, tuned, strict=True)]
    wanted = LEAST.get(name, NOT_LOST)
    met = min(ratios) >= wanted
    before, after = (statistics.fmean(each.ops_per_s[0] for each in runs) for runs in (default, tuned))
    return (
        f"| {name} | {before:.0f} | {after:.0f} | {statistics.fmean(ratios):.3f} | {min(ratios):.3f} "
        f"| >= {wanted} | {'yes' if met else '**no**'} | {tuned[0].finals[0]} |"
    ), met


def many_line(cluster: Cluster, what: str, asked: argparse.Namespace) -> tuple[str, bool]:
    """One kind of work of many clients, and whether no client and not the whole lost."""
    name, changes = MANY[what]
    changed = cluster.override({f"metadata.{key}": value for key, value in changes.items()})
    default = run(changed, name, asked, 1, clients=asked.clients)
    tuned = run(changed, name, asked, 1, clients=asked.clients, policy="weir")
    ratios = [b / a for a, b in zip(default.ops_per_s, tuned.ops_per_s, strict=True)]
    total = sum(tuned.ops_per_s) / sum(default.ops_per_s)
    met = min(ratios) >= LEAST_CLIENT and total >= LEAST_TOTAL
    return (
        f"| {what} | {sum(default.ops_per_s):.0f} | {sum(tuned.ops_per_s):.0f} | {total:.3f} "
        f"| {min(ratios):.3f} | {'yes' if met else '**no**'} |"
    ), met


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./run bench metadata", description=__doc__)
    parser.add_argument("--cluster", default="emulated-10ms")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--mod-rpcs", type=int, default=16)
    parser.add_argument("--clients", type=int, default=100)
    parser.add_argument("--only", choices=("one", "many"))
    asked = parser.parse_args(arguments)
    cluster = find_cluster(asked.cluster).override({"metadata.mod_rpcs": str(asked.mod_rpcs)})
    all_met = True
    if asked.only != "many":
        print(f"{asked.cluster}, server allows {asked.mod_rpcs} changes, {asked.seconds:.0f} s, operations/s")
        print("| workload | default | weir | mean ratio | worst | wanted | met | knobs at the end |")
        print("|---|---|---|---|---|---|---|---|")
        for name in ONE:
            line, met = one_line(cluster, name, asked)
            print(line, flush=True)
            all_met &= met
    if asked.only != "one":
        print(f"{asked.clients} clients of one server, all tuned, {asked.seconds:.0f} s, operations/s in all")
        print("| work | default | weir | total | worst client | met |")
        print("|---|---|---|---|---|---|")
        for what in MANY:
            line, met = many_line(cluster, what, asked)
            print(line, flush=True)
            all_met &= met
    return 0 if all_met else 1


if __name__ == "__main__":
    sys.exit(main())
