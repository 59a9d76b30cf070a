"""How long each experiment measures, unless somebody says otherwise: seconds of a run, or of one phase."""

from __future__ import annotations

SECONDS = {
    "static": 60.0,
    "dynamic": 300.0,
    "independent": 60.0,
    "interference": 60.0,
    "applications": 60.0,
    "cache": 60.0,
}
