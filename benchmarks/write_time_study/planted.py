"""Planted bottlenecks: one stage is made the slow one, and the lasso is asked where the time goes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from benchmarks.write_time_study.campaign import TRAINING_SCALES, WritePath, measure_campaign

from penstock.plan.storage import StorageSystem, load_system
from penstock.plan.write.contributions import linear_terms
from penstock.plan.write.fitted import FittedModel, fit_model
from penstock.plan.write.techniques import DEFAULTS
from penstock.plan.write.write_samples import WriteSamples

OWNERS = {
    "router": ("s_r", "n_r"),
    # A bridge node has one link: the two always carry the same.
    "bridge": ("s_b", "n_b", "s_l", "n_l"),
    "io_node": ("s_io", "n_io"),
    "server": ("s_oss", "n_oss", "n_nsds", "n_s"),
    "target": ("s_ost", "n_ost", "n_nsd", "n_d"),
}


def planted(name: str, per_scale: int) -> Iterator[list[str]]:
    """For every stage that can be slow: what the lasso says, and whether it is the planted one."""
    base = load_system(name)
    inner = ("bridge", "io_node") if base.kind == "gpfs" else ("router", "target")
    for stage in ("node", *inner, "network"):
        campaign = measure_campaign(
            WritePath(only_slow(base, stage)), TRAINING_SCALES[3:], per_scale, seed=11
        )
        samples = campaign.samples.take(campaign.samples.converged)
        shares = stage_shares(fit_model("lasso", "lasso", DEFAULTS["lasso"], samples), samples)
        total = sum(shares.values())
        ranked = sorted(shares.items(), key=lambda item: -item[1])
        said = ", ".join(f"{owner} {100 * share / total:.0f} %" for owner, share in ranked[:3])
        yield [base.title, stage, said, "yes" if ranked[0][0] == stage else "NO"]


def stage_shares(model: FittedModel, samples: WriteSamples) -> dict[str, float]:
    """The mean absolute seconds of each stage in a linear model; a product counts half for either factor."""
    _, slopes = linear_terms(model.pipeline)
    weight = np.abs(slopes * samples.matrix(model.features)).mean(axis=0)
    shares: dict[str, float] = {}
    for feature, seconds in zip(model.features, weight, strict=True):
        owners = owners_of(feature)
        for owner in owners:
            shares[owner] = shares.get(owner, 0.0) + float(seconds) / len(owners)
    return shares


def owners_of(feature: str) -> list[str]:
    """The stages whose load or resources a feature speaks of."""
    words = re.findall(r"[A-Za-z_]+", feature.removeprefix("interference:"))
    named = [owner for word in words for owner, symbols in OWNERS.items() if word in symbols]
    return named or (["network"] if "m" in words else ["node"])


def only_slow(system: StorageSystem, stage: str) -> StorageSystem:
    """The system with one stage a fifth as fast and every other stage thirty times as fast."""
    service = system.service
    stages = {
        name: rate * (0.2 if name == stage else 30.0) for name, rate in service.stage_bytes_per_s.items()
    }
    others = {
        f"{name}_bytes_per_s": getattr(service, f"{name}_bytes_per_s") * (0.2 if name == stage else 30.0)
        for name in ("node", "network", "server", "target")
    }
    changed = service.model_copy(update={"stage_bytes_per_s": stages, **others})
    return system.model_copy(update={"service": changed})
