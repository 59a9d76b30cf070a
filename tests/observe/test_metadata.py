"""Counters of metadata: what was looked up and what was changed, from the files of a real client."""

from __future__ import annotations

import itertools
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import DataError
from penstock.knobs import Setting, TargetKind
from penstock.knobs.target_kind import DATA, METADATA
from penstock.observe.collector import LustreObserver
from penstock.observe.lustre.layout import (
    MDC_KNOBS,
    READAHEAD_KNOBS,
    STATAHEAD_KNOBS,
    llite_mount,
    llite_target,
    mdc_target,
)
from penstock.observe.lustre.metadata import LliteParser, MdcParser, MetadataParser
from penstock.observe.lustre.mount_readahead import ReadaheadParser
from penstock.snapshot import Target, TargetSnapshot
from penstock.target_kinds import LUSTRE_READAHEAD, MDC, STATAHEAD
from penstock.testing.observers import check_observer, check_tree_untouched
from penstock.window import Void, Window, window

FIXTURES = Path(__file__).parent.parent / "fixtures"
RECORDED = FIXTURES / "lustre-metadata"
NAME = "lustre-MDT0000-mdc-ff1e3dcfc3173000"


def mdc_snapshot(parser: MdcParser, when: str, t_s: float) -> TargetSnapshot:
    files = ("mdc.stats", "mdc.md_stats")
    texts = [(RECORDED / when / file).read_bytes() for file in files]
    connection = (RECORDED / "after-md-rtt10/mdc.import").read_bytes()
    return parser.parse(t_s, (*texts, connection, b"1\n", None, b"8\n", b"7\n"))


def test_mdc_parser_tells_changes_from_what_only_looks() -> None:
    target = mdc_target(NAME)
    assert target is not None
    parser = MdcParser(target, MDC_KNOBS)
    before = mdc_snapshot(parser, "after-md-rtt10", 0.0)
    assert before.setting == Setting(rpcs=8, mod_rpcs=7)
    assert before.state == "FULL"
    assert before.counters["modify.ops"] == 3214 + 3000
    assert before.counters["query.ops"] == 6457 + 1 - 3214
    # One look suffices: `penstock snapshot` takes no second one.
    assert before.counters["query.usec"] + before.counters["modify.usec"] == pytest.approx(
        249121606 - 774766 - 3484952
    )
    assert before.counters["query.usec"] > 0
    after = mdc_snapshot(parser, "after-ls-rtt10", 100.0)
    seen = window(before, after)
    assert isinstance(seen, Window)
    # 2,000 files were made and 16,000 looked up, all but the first 2,000 of them ahead of time.
    assert seen.metrics["modify.ops"] == 2002
    assert seen.metrics["query.ops"] == pytest.approx(16000, rel=0.01)
    added = 702540228 - 249121606 - (1429825 - 774766)
    assert seen.metrics["query.usec"] + seen.metrics["modify.usec"] == pytest.approx(added)
    assert seen.moved_per_s == pytest.approx(180, rel=0.02)


def test_mdc_parser_never_lets_lookups_fall() -> None:
    target = mdc_target(NAME)
    assert target is not None
    parser = MdcParser(target, MDC_KNOBS)
    head = b"snapshot_time 1.0 secs.nsecs\nstart_time 1.0 secs.nsecs\n"
    stats = head + b"ldlm_ibits_enqueue 10 samples [reqs] 1 1 10 10\n"

    def looked(creates: int) -> float:
        made = head + b"create %d samples [reqs]\n" % creates
        return parser.parse(0.0, (stats, made, None, None, None, None, None)).counters["query.ops"]

    assert [looked(2), looked(4), looked(1)] == [8.0, 8.0, 9.0]


def test_statahead_parser_counts_what_applications_call() -> None:
    target = llite_target("lustre-ff1e3dcfc3173000", STATAHEAD)
    assert target is not None
    texts = ((RECORDED / "after-ls-rtt10/llite.stats").read_bytes(), b"512\n")
    seen = LliteParser(target, STATAHEAD_KNOBS).parse(0.0, texts)
    assert seen.setting == Setting(statahead=512)
    assert seen.counters["query.ops"] == 19009 + 5125 + 24
    assert seen.counters["modify.ops"] == 5000 + 3000 + 19


@pytest.mark.parametrize("version", ["2.15.8", "2.17.57"])
def test_observer_suite_accepts_metadata_targets(version: str, tmp_path: Path) -> None:
    root = tmp_path / "client"
    shutil.copytree(FIXTURES / f"lustre-{version}" / "tree", root)

    def make() -> LustreObserver:
        observer = LustreObserver(root)
        observer.kinds = (DATA, METADATA)
        return observer

    check_observer(make)
    check_tree_untouched(make, root)
    assert {one.target.kind.name for one in make().observe().targets} == {"data-path", "mdc", "statahead"}
    assert {one.target.kind.name for one in LustreObserver(root).observe().targets} == {"data-path"}


def test_names_that_are_no_metadata_of_a_client_are_none() -> None:
    for name in (
        "lustre-MDT0000-osp-MDT0001",
        "lustre-MDT0000-mdc-MDT0001",
        "../x-MDT0000-mdc-ff11/..",
        "num_refs",
    ):
        assert mdc_target(name) is None
        assert llite_target(name, STATAHEAD) is None
    assert llite_mount("lustre-ff1e3dcfc3173000-statahead", STATAHEAD) == "lustre-ff1e3dcfc3173000"
    assert llite_mount("lustre-ff1e3dcfc3173000", STATAHEAD) is None


HEAD = b"snapshot_time 1.0 secs.nsecs\nstart_time 1.0 secs.nsecs\n"


def rows_of(target: Target, count: int, *, without: str = "", as_text: str = "") -> list[bytes]:
    """The texts of one target's counter files, with one row left out or with another text as its count."""
    connection = ["req_waittime", "ldlm_ibits_enqueue", "mds_close"], ["create", "unlink", "close"]
    names = connection if target.kind == MDC else (["getattr", "mknod", "unlink", "read_bytes", "read"],)
    said = {without: as_text} if as_text else {}
    return [
        HEAD
        + b"".join(
            f"{name} {said.get(name, str(count))} samples [usecs] 1 9 {count * 5} {count * 25}\n".encode()
            for name in file
            if name != without or as_text
        )
        for file in names
    ]


def a_parser(kind: TargetKind) -> MetadataParser:
    if kind == MDC:
        connection = mdc_target(NAME)
        assert connection is not None
        return MdcParser(connection, MDC_KNOBS)
    target = llite_target("lustre-ff1e3dcfc3173000", kind)
    assert target is not None
    return (
        LliteParser(target, STATAHEAD_KNOBS)
        if kind == STATAHEAD
        else ReadaheadParser(target, READAHEAD_KNOBS)
    )


def parsed(parser: MetadataParser, t_s: float, files: Sequence[bytes | None]) -> TargetSnapshot:
    """The snapshot of these counter files; all others could not be read."""
    knobs = {MDC: 5, STATAHEAD: 1, LUSTRE_READAHEAD: 4}[parser.target.kind]
    return parser.parse(t_s, (*files, *[None] * knobs))


DAMAGES = [
    (MDC, "create"),
    (MDC, "ldlm_ibits_enqueue"),
    (STATAHEAD, "mknod"),
    (LUSTRE_READAHEAD, "read_bytes"),
]


@pytest.mark.parametrize(("kind", "row"), DAMAGES)
@pytest.mark.parametrize("as_text", ["", "many", "-7"])
def test_rows_22_24_windows_beside_a_text_that_lost_or_garbled_a_row_are_void(
    kind: TargetKind, row: str, as_text: str
) -> None:
    parser = a_parser(kind)
    target = parser.target
    texts = [rows_of(target, 100), rows_of(target, 110, without=row, as_text=as_text)]
    texts += [rows_of(target, 120), rows_of(target, 130)]
    seen, problems = [], []
    for at, files in enumerate(texts):
        seen.append(parsed(parser, float(at), files))
        problems.append(dict(parser.problems))
    found = [window(before, after) for before, after in itertools.pairwise(seen)]
    assert [type(one) for one in found] == [Void, Void, Window]
    assert isinstance(found[2], Window)
    # Nothing of what was not seen counts as done in one interval.
    assert 0 < sum(found[2].metrics.get(way.moved, 0.0) for way in kind.ways) <= 50
    assert [any(row in said for said in one.values()) for one in problems] == [False, True, False, False]


@pytest.mark.parametrize("kind", [MDC, STATAHEAD, LUSTRE_READAHEAD])
def test_row_22_counters_that_began_anew_without_saying_so_make_one_window_void(kind: TargetKind) -> None:
    parser = a_parser(kind)
    seen = [parsed(parser, float(at), rows_of(parser.target, count)) for at, count in enumerate((100, 5, 15))]
    first, second = (window(before, after) for before, after in itertools.pairwise(seen))
    assert isinstance(first, Void)
    assert isinstance(second, Window)
    assert sum(second.metrics.get(way.moved, 0.0) for way in kind.ways) > 0


@pytest.mark.parametrize("kind", [MDC, STATAHEAD, LUSTRE_READAHEAD])
def test_counters_that_could_not_be_read_for_a_while_are_no_work_of_the_next_interval(
    kind: TargetKind,
) -> None:
    parser = a_parser(kind)
    files = rows_of(parser.target, 100)
    unread: list[bytes | None] = [None] * len(files)
    later = rows_of(parser.target, 110)
    passes: list[Sequence[bytes | None]] = [files, unread, later]
    seen = [parsed(parser, float(at), texts) for at, texts in enumerate(passes)]
    assert all(isinstance(window(before, after), Void) for before, after in itertools.pairwise(seen))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_parsers_raise_nothing_but_data_errors_on_damaged_text(data: st.DataObject) -> None:
    parser = a_parser(data.draw(st.sampled_from([MDC, STATAHEAD, LUSTRE_READAHEAD])))
    for t_s, count in enumerate((100, 110)):
        files = [bytearray(text) for text in rows_of(parser.target, count)]
        for text in files:
            at = data.draw(st.integers(0, len(text) - 1))
            text[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=40))
        try:
            seen = parsed(parser, float(t_s), [bytes(text) for text in files])
        except DataError as error:
            assert "\n" not in str(error)
            continue
        assert all(math.isnan(value) or 0 <= value < math.inf for value in seen.counters.values())
        assert all("\n" not in said for said in parser.problems.values())
