"""Applications as workloads, one small file a family: scripts made from how real applications issue requests."""

from __future__ import annotations

from penstock.simulate.applications._base import Parameter, SimulatedApplication, Site, Values
from penstock.simulate.applications.checkpoint import CHECKPOINT
from penstock.simulate.applications.dlio import BERT, MEGATRON
from penstock.simulate.applications.h5bench import BDCATS, VPIC
from penstock.simulate.applications.webserver import WEBSERVER

APPLICATIONS: dict[str, SimulatedApplication] = {
    app.name: app for app in (BERT, MEGATRON, *VPIC, *BDCATS, CHECKPOINT, WEBSERVER)
}

__all__ = ["APPLICATIONS", "Parameter", "SimulatedApplication", "Site", "Values"]
