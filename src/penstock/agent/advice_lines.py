"""What other nodes said, as a recording of intervals holds it, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from penstock.decide.fleet_advice import FleetAdvice, ProvenElsewhere, WorkAdvice, WorkKind
from penstock.decide.work import Work
from penstock.knobs import Setting


def advice_fields(advice: FleetAdvice | None) -> list[dict[str, Any]] | None:
    """For a line of JSON."""
    return None if advice is None else [_work_fields(one) for one in advice.works]


def read_advice(said: Any) -> FleetAdvice | None:
    """What `advice_fields` gave; raises KeyError, TypeError, ValueError or AttributeError for anything else."""
    return None if said is None else FleetAdvice(tuple(_work_advice(one) for one in said))


def kind_fields(kind: WorkKind) -> dict[str, Any]:
    """A kind of work; `request_log2` is null where it is not known."""
    size = kind.work.request_log2
    return {
        "fs": kind.fs,
        "targets": kind.targets,
        "kind": kind.work.kind,
        "request_log2": None if math.isnan(size) else size,
        "home": dict(kind.home),
        "look": list(kind.look),
    }


def _work_fields(one: WorkAdvice) -> dict[str, Any]:
    proven = [[dict(p.setting), p.gain_log2, p.windows, p.node, p.age_s, p.agree] for p in one.proven]
    return {**kind_fields(one.kind), "may_explore": one.may_explore, "proven": proven}


def _work_advice(said: Mapping[str, Any]) -> WorkAdvice:
    size = said["request_log2"]
    work = Work(said["kind"], math.nan if size is None else float(size))
    kind = WorkKind(said["fs"], said["targets"], work, Setting(said["home"]), tuple(said["look"]))
    proven = tuple(ProvenElsewhere(Setting(setting), *rest) for setting, *rest in said["proven"])
    return WorkAdvice(kind, bool(said["may_explore"]), proven)
