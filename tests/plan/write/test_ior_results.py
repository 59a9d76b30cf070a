"""IOR results in every form people keep them."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import DataError, MissingError
from penstock.plan.write.ior_results import (
    Assumed,
    IorRun,
    Tally,
    parse_csv,
    parse_json,
    read_runs,
    write_csv,
)

NONE = Assumed()
REPORT: dict[str, Any] = {
    "Version": "4.1.0",
    "tests": [
        {
            "TestID": 0,
            "Parameters": {"nodes": 2, "tasksPerNode": 4, "segmentCount": 2, "blockSize": 1 << 26},
            "Options": {"tasks": 8, "clients per node": 4, "stripe count": "16"},
            "Results": [
                [
                    {"access": "write", "bwMiB": 157.5, "blockKiB": 65536.0, "totalTime": 6.5},
                    {"access": "read", "bwMiB": 409.6, "blockKiB": 65536.0, "totalTime": 2.5},
                ],
                [{"access": "write", "bwMiB": 136.5, "blockKiB": 65536.0, "totalTime": 7.5}],
            ],
        }
    ],
}


def test_parse_json_takes_every_repetition_of_a_write() -> None:
    runs = list(parse_json(json.dumps(REPORT), "x", NONE))
    assert runs == [IorRun(2, 4, 1 << 27, 16, 6.5), IorRun(2, 4, 1 << 27, 16, 7.5)]


def test_parse_json_finds_results_below_options_and_stripes_in_our_paths() -> None:
    test = dict(REPORT["tests"][0])
    results = test.pop("Results")
    test["Options"] = {"tasks": 8, "clients per node": 4, "Results": results}
    test["Parameters"] = test["Parameters"] | {"testFileName": "/scratch/W12/penstock.ior"}
    runs = list(parse_json(json.dumps({"tests": [test]}), "x", NONE))
    assert [run.stripes for run in runs] == [12, 12]


def test_parse_csv_reads_tables_of_runs() -> None:
    text = (
        "operation,transferSize,aggregateFilesizeMB,numTasks,totalTime,numNodes,tasksPerNode\n"
        "write,4096,1024,16,2.5,4,4\nread,4096,1024,16,0.1,4,4\nwrite,4096,1024,16,-1,4,4\n,,,,,,\n"
    )
    assert list(parse_csv(text, "x", NONE)) == [IorRun(4, 4, 64 << 20, None, 2.5, 4096)]


def test_parse_csv_counts_a_short_write_with_what_it_moved() -> None:
    """Half of the gigabyte was written in ten seconds at 51.2 MiB/s."""
    text = "operation,aggregateFilesizeMB,totalTime,numNodes,tasksPerNode,trMiB\nwrite,1024,10,2,2,51.2\n"
    tally = Tally()
    assert list(parse_csv(text, "x", NONE, tally)) == [IorRun(2, 2, 128 << 20, None, 10.0)]
    assert tally.short == 1


def test_parse_json_takes_reads_and_tells_shared_files() -> None:
    report = json.loads(json.dumps(REPORT))
    report["tests"][0]["Parameters"] |= {"filePerProc": 0, "transferSize": 1 << 20}
    (read,) = parse_json(json.dumps(report), "x", Assumed(operation="read"))
    assert (read.seconds, read.shared, read.transfer_bytes) == (2.5, True, 1 << 20)
    assert list(parse_json(json.dumps(report), "x", Assumed(operation="read", files="own"))) == []


def test_parse_csv_reads_iors_own_form_given_the_processes_per_node() -> None:
    text = (
        "access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n"
        "write,2889.3,2889.5,0.0009,1048576.00,262144.00,0.04,25.3,0.0007,25.5,64,0\n"
    )
    assert list(parse_csv(text, "x", Assumed(cores=16))) == [IorRun(4, 16, 1 << 30, None, 25.5, 256 << 20)]
    with pytest.raises(DataError, match="line 2: does not tell nodes"):
        list(parse_csv(text, "x", NONE))


def test_parse_csv_takes_only_the_lines_asked_for() -> None:
    text = "fs,nodes,cores,burst_bytes,seconds\nnfs,1,1,9,5\nssd,2,1,9,6\n"
    assert list(parse_csv(text, "x", Assumed(where=(("fs", "ssd"),)))) == [IorRun(2, 1, 9, None, 6.0)]
    with pytest.raises(DataError, match='did you mean "fs"'):
        list(parse_csv(text, "x", Assumed(where=(("fss", "ssd"),))))


def test_write_csv_reads_back() -> None:
    runs = [IorRun(2, 3, 4 << 20, 8, 5.25), IorRun(1, 1, 1 << 20, None, 9.0)]
    assert list(parse_csv(write_csv(runs), "x", NONE)) == runs


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("a,b\n1,2\n", "no column of times"),
        ("nodes,cores,burst_bytes,seconds\n2,2,x,5\n", "line 2: burst_bytes 'x'"),
        ("nodes,cores,burst_bytes,seconds\n2,2,9,nan\n", "line 2: seconds 'nan'"),
        ("nodes,cores,seconds\n2,2,5\n", "how much a process wrote"),
        ("nodes,cores,burst_bytes,seconds\n", "no successful write"),
        ('{"tests": 3}', "'tests' is missing"),
        ('{"tests": [', "not valid JSON"),
    ],
)
def test_read_runs_refuses_bad_files(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "data"
    path.write_text(text)
    with pytest.raises(DataError, match=message) as refusal:
        read_runs(path, NONE)
    assert str(path) in str(refusal.value)


def test_read_runs_names_a_missing_file() -> None:
    with pytest.raises(MissingError, match="gone"):
        read_runs(Path("gone"), NONE)


def test_read_runs_reads_the_shared_measurements(shared_dir: Path) -> None:
    runs = read_runs(shared_dir / "data" / "ior-scaling" / "ior_runs.csv", NONE)
    assert len(runs) > 9000
    assert {run.nodes for run in runs} == {1, 2, 4, 8, 16, 32}


def test_repetitions_that_moved_less_are_runs_of_one_size() -> None:
    """Rate times time of equal runs differs in the last digits; what a process moved is whole calls."""
    head = "operation,numNodes,tasksPerNode,transferSize,aggregateFilesizeMB,totalTime,trMiB\n"
    seconds = (1.394, 1.135, 1.2)
    rows = [f"write,16,32,67108864,51200,{took},{32767 / took:.4f}" for took in seconds]
    small = [f"write,32,64,1024,5120,{took},{4096.3 / took:.4f}" for took in seconds]
    runs = list(parse_csv(head + "\n".join(rows + small), "x", NONE))
    assert [run.burst_bytes for run in runs] == [64 << 20] * 3 + [2 << 20] * 3


def test_shared_measurements_have_no_sizes_that_differ_by_rounding(shared_dir: Path) -> None:
    path = shared_dir / "data" / "ior-scaling" / "ior_runs.csv"
    runs = read_runs(path, Assumed(where=(("storageType", "beegfs"),)))
    sizes = sorted({run.burst_bytes for run in runs})
    assert all(larger > 1.001 * smaller for smaller, larger in itertools.pairwise(sizes))
