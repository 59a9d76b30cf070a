"""Goals on named workloads: the 24 static ones, the authors' sequences and the authors' lists."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

from benchmarks.goals.goal import POLICY, Extent, Goal

from penstock.evaluate.authors_lists import AUTHORS_LISTS
from penstock.evaluate.experiments import EXPERIMENTS
from penstock.evaluate.figures import geomean
from penstock.evaluate.interference import plan_of, scene_of
from penstock.evaluate.lab import Lab
from penstock.evaluate.lists import distinct
from penstock.evaluate.request import Request
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import find_cluster
from penstock.workload import NAMES

#: Geometric mean and worst workload, by cluster and seconds.
STATIC = {
    ("c220g5", 60.0): (1.17, 0.95),
    ("c220g5", 300.0): (1.19, 0.97),
    ("c6525-25g", 60.0): (1.12, 0.95),
    ("c6525-25g", 300.0): (1.14, 0.97),
}
CLUSTERS = ("c220g5", "c6525-25g")
RIVAL = "carat-authors"


def static(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """24 workloads that do not change, against the default."""
    for (cluster, full_s), (mean, worst) in STATIC.items():
        request = Request(
            (POLICY,), extent.seconds(full_s), seeds=extent.seeds, cluster=find_cluster(cluster)
        )
        trials = [
            request.trial(named_plan(request.cluster, name, seed=seed), policy)
            for name in NAMES
            for seed in request.all_seeds
            for policy in (POLICY, "default")
        ]
        rates = iter([run.app_mbps for run in lab.measure(f"static on {cluster}", trials)])
        ratios = [statistics.fmean(next(rates) / next(rates) for _ in request.all_seeds) for _ in NAMES]
        group = f"static, {cluster}, {full_s:.0f} s"
        yield Goal(group, "geometric mean of 24 workloads", mean, geomean(ratios))
        yield Goal(group, "worst workload", worst, min(ratios))


def sequences(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The authors' sequences: what is reached of every phase's own ceiling."""
    experiment = EXPERIMENTS["dynamic"]
    for cluster in CLUSTERS:
        seconds = extent.seconds(experiment.seconds)
        request = Request((POLICY,), seconds, seeds=extent.seeds, cluster=find_cluster(cluster))
        rows = experiment.run(lab, request)["rows"]
        shares = [row["policies"][POLICY] / row["ceiling_mbps"] for row in rows]
        gains = [row["policies"][POLICY] / row["default_mbps"] for row in rows]
        group = f"sequences, {cluster}"
        yield Goal(group, "share of the phases' own ceilings, geometric mean", 0.92, geomean(shares))
        yield Goal(group, "against the default, geometric mean", None, geomean(gains))
        yield Goal(group, "worst phase against the default", None, min(gains))


def lists(lab: Lab, extent: Extent) -> Iterator[Goal]:
    """The authors' lists of five clients that share OSTs; no ceilings are searched for."""
    full_s = EXPERIMENTS["interference"].seconds
    for cluster in CLUSTERS:
        request = Request(
            (POLICY, RIVAL), extent.seconds(full_s), seeds=extent.seeds, cluster=find_cluster(cluster)
        )
        who, names = (POLICY, RIVAL, "default"), distinct(AUTHORS_LISTS)
        trials = [
            request.trial(plan_of(request, scene_of(request, name), seed), policy)
            for policy in who
            for name in names
            for seed in request.all_seeds
        ]
        runs = iter(lab.measure(f"lists on {cluster}", trials))
        rates = {
            policy: [statistics.fmean(next(runs).app_mbps for _ in request.all_seeds) for _ in names]
            for policy in who
        }
        ratios, rivals = (
            [mine / usual for mine, usual in zip(rates[policy], rates["default"], strict=True)]
            for policy in (POLICY, RIVAL)
        )
        group = f"lists, {cluster}"
        yield Goal(group, "worst list", 0.97, min(ratios))
        yield Goal(
            group,
            f"geometric mean (wanted: that of {RIVAL}, unguarded, shipped model)",
            geomean(rivals),
            geomean(ratios),
        )
