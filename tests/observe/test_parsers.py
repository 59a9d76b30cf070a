"""The pure parsers: every captured text, every cut of it, and noise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.observe.conftest import FIXTURES, stats_text

from penstock.errors import DataError
from penstock.observe.lustre.imports import find_connection, parse_state
from penstock.observe.lustre.jobid import parse_node_job
from penstock.observe.lustre.layout import OSC_FILES, osc_target
from penstock.observe.lustre.llite import parse_mount
from penstock.observe.lustre.osc import TargetParser
from penstock.observe.lustre.rpcstats import IN_FLIGHT, PAGES, parse_rpc_stats
from penstock.observe.lustre.stats import find_row, find_rows, parse_stats
from penstock.observe.lustre.values import parse_count, parse_megabytes

Parse = Callable[[bytes], object]
NAME = "lustre-OST0000-osc-ff1100010dabc800"


def parse_whole_target(stats: bytes) -> object:
    target = osc_target(NAME)
    assert target is not None
    return TargetParser(target).parse(0.0, [stats, *[None] * (len(OSC_FILES) - 1)])


PARSERS: dict[str, list[Parse]] = {
    "stats": [parse_stats, parse_whole_target, lambda text: parse_mount((text, None))],
    "read_ahead_stats": [parse_stats, lambda text: parse_mount((None, text))],
    "rpc_stats": [parse_rpc_stats],
    "import": [find_connection],
    "state": [parse_state],
    "cur_dirty_bytes": [lambda text: parse_count(text, "cur_dirty_bytes")],
    "cur_grant_bytes": [lambda text: parse_count(text, "cur_grant_bytes")],
    "max_pages_per_rpc": [lambda text: parse_count(text, "max_pages_per_rpc")],
    "max_rpcs_in_flight": [lambda text: parse_count(text, "max_rpcs_in_flight")],
    "max_dirty_mb": [lambda text: parse_megabytes(text, "max_dirty_mb")],
    "active": [lambda text: parse_count(text, "active")],
}
CAPTURED = sorted(
    path
    for path in FIXTURES.glob("lustre-*/tree/**/*")
    if path.is_file() and path.name in PARSERS and "mdc" not in path.parts
)


def label(path: Path) -> str:
    return "/".join((path.parts[-5][:12], *path.parts[-3:]))


@pytest.mark.parametrize("path", CAPTURED, ids=label)
def test_parsers_take_every_captured_text(path: Path) -> None:
    for parse in PARSERS[path.name]:
        assert parse(path.read_bytes()) is not None


@pytest.mark.parametrize("path", CAPTURED, ids=label)
def test_parsers_refuse_every_cut_inside_a_line_and_survive_the_others(path: Path) -> None:
    text = path.read_bytes()
    for parse in PARSERS[path.name]:
        for length in range(len(text)):
            cut = text[:length]
            if not cut.endswith(b"\n"):
                with pytest.raises(DataError):
                    parse(cut)
                continue
            try:
                parse(cut)
            except DataError:
                continue


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_parsers_raise_nothing_but_data_errors_on_damaged_text(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(CAPTURED))
    text = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, max(0, len(text) - 1)))
        text[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=40))
    for parse in PARSERS[path.name]:
        try:
            parse(bytes(text))
        except DataError as error:
            assert "\n" not in str(error)


@settings(max_examples=150, deadline=None)
@given(text=st.one_of(st.binary(max_size=300), st.text(max_size=200).map(lambda t: (t + "\n").encode())))
def test_parsers_raise_nothing_but_data_errors_on_noise(text: bytes) -> None:
    for parse in {parse for parses in PARSERS.values() for parse in parses}:
        try:
            parse(text)
        except DataError:
            continue


@pytest.mark.parametrize("path", [p for p in CAPTURED if p.name == "stats"], ids=label)
def test_find_row_agrees_with_the_whole_table(path: Path) -> None:
    text = path.read_bytes()
    rows = parse_stats(text).rows
    for name in ("read_bytes", "write_bytes", "ost_read", "ost_write", "never_printed"):
        found = find_row(text, b"\n" + name.encode())
        expected = rows.get(name)
        assert found == (None if expected is None else (expected.count, expected.total))


ENDS = {
    "lustre-2.15.8": {"app.opens": 5, "app.closes": 5, "app.fsyncs": 2, "app.fsync_usec": 1950411},
    "lustre-2.17.57": {"app.opens": 87, "app.closes": 87, "app.fsyncs": 50, "app.fsync_usec": 70302424},
}


@pytest.mark.parametrize("version", ENDS)
def test_mount_counts_opens_closes_and_fsyncs(version: str) -> None:
    (path,) = (FIXTURES / version).glob("tree/**/llite/*/stats")
    text = path.read_bytes()
    seen = parse_mount((text, None))
    assert {name: seen[name] for name in ENDS[version]} == ENDS[version]
    none_yet = parse_mount((b"".join(line for line in text.splitlines(True) if b"fsync" not in line), None))
    assert (none_yet["app.fsyncs"], none_yet["app.fsync_usec"]) == (0, 0)
    torn = parse_mount((re.sub(rb"(\nfsync\s+)\d+", rb"\1many", text), None))
    assert math.isnan(torn["app.fsyncs"])
    assert torn["app.closes"] == seen["app.closes"]
    assert torn["app.write_bytes"] == seen["app.write_bytes"]


def test_mount_of_a_version_without_times_has_counts_only() -> None:
    seen = parse_mount((b"start_time 1.0 secs\nclose 4 samples [reqs]\nfsync 3 samples [reqs]\n", None))
    assert (seen["app.fsyncs"], seen["app.closes"], seen["app.opens"]) == (3, 4, 0)
    assert "app.fsync_usec" not in seen


def test_find_rows_gives_up_when_a_row_is_missing_or_odd() -> None:
    names = (b"read_bytes", b"write_bytes")
    whole = stats_text(3).encode()
    assert find_rows(whole, names) == [(3, 3 * 4194304), (3, 3 * 4194304)]
    assert find_rows(whole.replace(b"write_bytes", b"other_bytes"), names) is None
    assert (
        find_rows(whole.replace(b"write_bytes               3", b"write_bytes               -3"), names)
        is None
    )


def test_parse_stats_knows_rows_without_sums_and_names_with_blanks() -> None:
    text = b"snapshot_time 1.0 secs.usecs\nioctl 7 samples [reqs]\nhit max r-a issue 3 samples [pages]\n"
    stats = parse_stats(text)
    assert stats.rows["ioctl"].count == 7
    assert stats.rows["ioctl"].total is None
    assert stats.rows["hit_max_r-a_issue"].count == 3
    assert stats.start_time is None


def test_parse_stats_skips_and_names_garbled_rows() -> None:
    text = (
        b"a -1 samples [reqs]\nb 1 samples [bytes] 1 2\nc 1 samples [bytes] 1 1 -9 1\n"
        b"d x samples [r]\ne\nf 2 samples [r]\n"
    )
    stats = parse_stats(text)
    assert stats.garbled == ("a", "b", "c", "d", "e")
    assert list(stats.rows) == ["f"]


def test_parse_rpc_stats_counts_by_section() -> None:
    tree = FIXTURES / "lustre-2.15.8/tree/proc/fs/lustre/osc" / NAME
    parsed = parse_rpc_stats((tree / "rpc_stats").read_bytes())
    assert parsed.sections[PAGES].read[1024] == 19
    assert parsed.sections[PAGES].write[1] == 1
    assert parsed.sections[IN_FLIGHT].write == {1: 3, 2: 9, 3: 11, 4: 19, 5: 3, 6: 1}
    assert (parsed.rpcs("read"), parsed.rpcs("write")) == (22, 46)
    assert parsed.mean_in_flight("write") == pytest.approx((3 + 18 + 33 + 76 + 15 + 6) / 46)
    assert parsed.gauges["read RPCs in flight"] == 0
    assert parsed.start_time == "0.000000000"


def test_parse_rpc_stats_keeps_sections_it_does_not_know() -> None:
    tree = FIXTURES / "lustre-2.17.57/tree/sys/kernel/debug/lustre/osc/lustre-OST0000-osc-ff1100010179b000"
    text = (tree / "rpc_stats").read_bytes()
    parsed = parse_rpc_stats(text + b"\n\t\tread\t\twrite\nmoon phase rpcs % | rpcs %\n4:\t 2 1 | 3 1\n")
    assert parsed.sections["RPC latency (us)"].write[131072] == 10
    assert parsed.gauges["DIO RPCs in flight"] == 0
    assert parsed.sections["moon phase"].write == {4: 3}


def test_parse_rpc_stats_says_when_the_last_bin_is_in_use(unpacked: Callable[[Path], bytes]) -> None:
    capture = unpacked(FIXTURES / "lustre-2.15.8/actuation/brw16-and-unpriv-and-256-in-flight.txt.gz")
    at = capture.rindex(b"snapshot_time")
    parsed = parse_rpc_stats(capture[at : capture.index(b"[rc 0]", at)])
    assert parsed.rpcs("write") == 512
    assert parsed.mean_in_flight("write") == pytest.approx((sum(range(1, 31)) + 31 * 482) / 512)


def test_find_connection_reads_both_dialects(captured: Path) -> None:
    (path,) = captured.glob("tree/**/*OST0000*/import")
    new = captured.name.endswith("2.17.57")
    assert find_connection(path.read_bytes()) == ("FULL", 7 if new else 1, 1048576 if new else 4194304)


@pytest.mark.parametrize(
    "text", [b"", b"1024", b"-1\n", b"1_0\n", b"4k\n", b"\n", b"9" * 5000 + b"\n", b"1\n2\n"]
)
def test_parse_count_refuses(text: bytes) -> None:
    with pytest.raises(DataError, match="max_pages_per_rpc"):
        parse_count(text, "max_pages_per_rpc")


@pytest.mark.parametrize(
    "name",
    [
        "lustre-OST0000-osc-MDT0000",
        "lustre-OST0000",
        "lustre-MDT0000-mdc-ff11",
        "num_refs",
        "lustre-OST00zz-osc-ff",
    ],
)
def test_osc_target_ignores_what_is_no_client_data_path(name: str) -> None:
    assert osc_target(name) is None


@pytest.mark.parametrize("instance", ["ffff8b2c40a1b800", "ff1100010179b000", "0000000012345678"])
def test_osc_target_takes_any_instance(instance: str) -> None:
    target = osc_target(f"my-fs-OST00ff-osc-{instance}")
    assert target is not None
    assert (target.fs, target.resource, target.mount) == ("my-fs", "OST00FF", f"my-fs-{instance}")


@pytest.mark.parametrize(
    ("variable", "name", "job"),
    [
        ("nodelocal\n", "4711\n", "4711"),
        ("nodelocal\n", "slurm.4711_3\n", "slurm.4711_3"),
        ("disable\n", "4711\n", None),
        ("SLURM_JOB_ID\n", "4711\n", None),
        ("nodelocal\n", "%e.%u\n", None),
        ("nodelocal\n", "\n", None),
        ("nodelocal\n", "a b\n", None),
    ],
)
def test_only_a_node_of_one_job_names_it(variable: str, name: str, job: str | None) -> None:
    assert parse_node_job(variable, name) == job
