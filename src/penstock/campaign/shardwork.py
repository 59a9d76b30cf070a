"""Performs one shard, from its JSON description to its result file. Workers are sent nothing else."""

from __future__ import annotations

import json
import time
from pathlib import Path

from penstock.campaign.kinds import find_kind
from penstock.campaign.program import version
from penstock.campaign.rowsfile import read_head, write_rows
from penstock.errors import DataError


def perform_shard(text: str) -> str:
    """Do the work that a JSON text describes and answer in JSON. Doing it twice gives the same file."""
    task = json.loads(text)
    kind = find_kind(task["kind"])
    path = Path(task["path"])
    own = version(*kind.program)
    if task["program"] != own:
        raise DataError(f"this worker runs another version of penstock ({own}, not {task['program']})")
    started_s, cpu_s = time.monotonic(), time.process_time()
    if path.exists():
        digest, rows = read_head(path)
    else:
        found = kind.perform(task["work"])
        head = {**kind.stamp, "penstock.provenance": json.dumps(task["work"], sort_keys=True)}
        digest, rows = write_rows(path, found, kind.columns, head), len(found)
    spent = {"cpu_s": time.process_time() - cpu_s, "wall_s": time.monotonic() - started_s}
    return json.dumps({"key": task["key"], "digest": digest, "rows": rows, **spent})
