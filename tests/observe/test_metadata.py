"""Counters of metadata: what was looked up and what was changed, from the files of a real client."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from penstock.knobs import Setting
from penstock.knobs.target_kind import DATA, METADATA
from penstock.observe.collector import LustreObserver
from penstock.observe.lustre.layout import MDC_KNOBS, STATAHEAD_KNOBS, llite_mount, llite_target, mdc_target
from penstock.observe.lustre.metadata import LliteParser, MdcParser
from penstock.snapshot import TargetSnapshot
from penstock.target_kinds import STATAHEAD
from penstock.testing.observers import check_observer, check_tree_untouched
from penstock.window import Window, window

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
