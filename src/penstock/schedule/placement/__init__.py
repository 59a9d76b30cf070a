"""The placers, by their names on the command line."""

from __future__ import annotations

from penstock.schedule.placement._base import Placement, Placer
from penstock.schedule.placement.chance import RandomPlacer
from penstock.schedule.placement.leastload import ClairvoyantPlacer
from penstock.schedule.placement.roundrobin import NonClairvoyantPlacer

PLACERS: dict[str, type[Placer]] = {
    placer.name: placer for placer in (RandomPlacer, NonClairvoyantPlacer, ClairvoyantPlacer)
}

__all__ = ["PLACERS", "Placement", "Placer"]
