"""The program that reads one Darshan log with pydarshan and prints its records as JSON.

It is run as `python -m penstock.observe.darshan_reader LOG`, with `--dxt` for traced requests, or with `--heatmap`
for the bytes per interval. It is a separate program because the C library below pydarshan may crash on a damaged log.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import warnings
from typing import Any

MODULES = ("POSIX", "MPI-IO", "STDIO")
Rows = list[dict[str, Any]]


def read(path: str) -> dict[str, Any]:
    """A log's job and records, as plain values."""
    import darshan

    report = darshan.DarshanReport(path, read_all=False)
    job = report.metadata["job"]
    span_s = (report.end_time - report.start_time).total_seconds()
    return {
        "program": str(report.metadata.get("exe", "")),
        "job": str(job.get("jobid", "")),
        "ranks": int(job["nprocs"]),
        "run_s": float(job.get("run_time", span_s)),
        "modules": {module: _records(report, module) for module in MODULES if module in report.modules},
        "striping": _striping(report) if "LUSTRE" in report.modules else [],
        "names": {str(key): str(name) for key, name in report.name_records.items()},
        "layers": [str(module) for module in report.modules],
        "hints": _hints(str(job.get("metadata", {}).get("h", ""))),
    }


def _hints(text: str) -> dict[str, str]:
    """The MPI-IO hints that Darshan recorded at its end, such as `romio_no_indep_rw=true;cb_nodes=4`."""
    words = (word.partition("=") for word in text.split(";"))
    return {name: value for name, equals, value in words if equals}


def _records(report: Any, module: str) -> Rows:
    report.mod_read_all_records(module)
    frames = report.records[module].to_df()
    counters = frames["counters"].to_dict("records")
    times = frames["fcounters"].to_dict("records")
    return [{**time, **counter} for counter, time in zip(counters, times, strict=True)]


def _striping(report: Any) -> Rows:
    report.mod_read_all_lustre_records()
    frames = report.records["LUSTRE"].to_df()
    if isinstance(frames, dict):
        frames = frames.get("components", frames.get("counters"))
    kept = [name for name in frames.columns if name in ("id", "LUSTRE_OST_IDS") or "STRIPE_" in name]
    rows: Rows = frames[kept].to_dict("records")
    for row in rows:
        if "LUSTRE_OST_IDS" in row:
            row["LUSTRE_OST_IDS"] = [int(ost) for ost in row["LUSTRE_OST_IDS"]]
    return rows


def read_dxt(path: str) -> Rows:
    """Every traced POSIX request, if any."""
    import darshan

    report = darshan.DarshanReport(path, read_all=False)
    if "DXT_POSIX" not in report.modules:
        return []
    report.mod_read_all_dxt_records("DXT_POSIX")
    found: Rows = []
    for record in report.records["DXT_POSIX"].to_df():
        name = str(report.name_records.get(record["id"], record["id"]))
        for op in ("read", "write"):
            for segment in record[f"{op}_segments"].to_dict("records"):
                found.append(
                    {
                        "file": name,
                        "host": str(record["hostname"]),
                        "rank": int(record["rank"]),
                        "op": op,
                        "offset": int(segment["offset"]),
                        "bytes": int(segment["length"]),
                        "start_s": float(segment["start_time"]),
                        "end_s": float(segment["end_time"]),
                    }
                )
    return found


def read_heatmap(path: str) -> Rows:
    """Bytes per interval of the lowest layer that counted any, if any."""
    import darshan

    report = darshan.DarshanReport(path, read_all=False)
    if "HEATMAP" not in report.modules:
        return []
    report.read_all_heatmap_records()
    for layer in ("POSIX", "MPIIO", "STDIO"):
        if layer in report.heatmaps:
            rows = [row for op in ("read", "write") for row in _intervals(report.heatmaps[layer], op)]
            if any(row["bytes"] for row in rows):
                return rows
    return []


def _intervals(heatmap: Any, op: str) -> Rows:
    summed = heatmap.to_df(ops=[op]).sum(axis=0)
    return [
        {"op": op, "start_s": float(bin_.left), "end_s": float(bin_.right), "bytes": int(moved)}
        for bin_, moved in summed.items()
    ]


def main() -> None:
    """Print the log. All other output of its libraries goes to stderr."""
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        wanted = {"--dxt": read_dxt, "--heatmap": read_heatmap}.get(sys.argv[-1], read)
        document = json.dumps(wanted(sys.argv[1]))
    sys.stdout.write(document)
    sys.stdout.flush()
    # Exit before the library closes its handles, because that may crash too, and everything is printed.
    os._exit(0)


if __name__ == "__main__":
    main()
