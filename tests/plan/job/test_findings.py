"""Findings on real logs, beside those of Drishti 0.8, and each rule on traffic made up for it."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.cli.main import main
from penstock.cli.plan_job import job
from penstock.errors import MissingError
from penstock.observe.darshan_log import RawLog
from penstock.plan.job import drishti
from penstock.plan.job.causes import CAUSES
from penstock.plan.job.drishti import answers, compare_drishti, find_drishti
from penstock.plan.job.file_details import FileDetail
from penstock.plan.job.findings import AT_STAKE_SHARE, HIGH_SHARE, MEDIUM_SHARE, JobFinding
from penstock.plan.job.job_advice import JobAdvice, JobSite, review_log
from penstock.plan.job.job_page import page_of_log, timeline
from penstock.plan.job.setup_rules import aggregators
from penstock.plan.job.traffic import CollectiveUse, FileTraffic, JobTraffic, OwnShares, RankSpread, traffic
from penstock.plan.job.traffic_rules import TRAFFIC_RULES
from penstock.units import KIB, MIB

darshan = pytest.importorskip("darshan", reason="needs pydarshan: pip install 'penstock[darshan]'")

LOGS = (
    "openpmd_write_id66082102",
    "openpmd_write_id66089597",
    "ior_id66184525-37486",
    "ior_id66184525-37845",
    "ior_id66186284",
    "ior_id66186300",
    "ior_id66186370",
    "ior_id66186433",
    "ior_id66196875",
    "ior_id66197729",
    "tmatch-reoganized",
    "tmatch_id",
    "write_3d_nc4_id66168155",
    "write_3d_nc4_id66168349",
)


def test_little_of_the_run_is_not_shown_as_nothing() -> None:
    finding = JobFinding("R010", "low", "some reads are small", "read more", gain_s=0.1)
    assert [finding.shown_share(run_s) for run_s in (500.0, 10.0, 0.05)] == ["<1%", "1%", "100%"]
    assert JobFinding("W001", "info", "one rank", "none").shown_share(10.0) == "0%"


def log_named(shared_dir: Path, name: str) -> Path:
    (path,) = (shared_dir / "data" / "darshan").glob(f"*{name}*")
    return path


def reviewed(path: Path) -> JobAdvice:
    return review_log(path, JobSite(), None, None)


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS)
def test_nothing_that_drishti_finds_is_missed(log: str, shared_dir: Path) -> None:
    """Critical findings and warnings, by the Drishti that is installed."""
    if find_drishti() is None:
        pytest.skip("needs Drishti: pip install drishti-io")
    path = log_named(shared_dir, log)
    found = compare_drishti(path, reviewed(path))
    assert found
    assert [one.code for one in found if one.missed] == []


def test_drishti_finding_is_covered_excused_or_missed(shared_dir: Path) -> None:
    advice = reviewed(log_named(shared_dir, "write_3d_nc4_id66168155"))
    found = {one.code: one for one in answers(frozenset(("P06", "P10", "M06", "P07", "P01")), advice)}
    assert set(found) == {"P06", "P10", "M06", "P07"}
    assert found["P06"].covered == ("W010",)
    assert "160 MiB moved, highest offset 40 GiB" in found["P10"].reason
    assert "reads nothing through MPI-IO" in found["M06"].reason
    assert [code for code, one in found.items() if one.missed] == ["P07"]


def test_plan_job_compares_with_drishti_and_ends_with_6_where_one_is_missed(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_named(shared_dir, "ior_id66184525-37845")
    monkeypatch.setattr(drishti, "run_drishti", lambda path: "JOB,M01,P05\n1,True,True\n")
    monkeypatch.setattr(sys, "argv", ["penstock", "plan", "job", "--darshan", str(log), "--compare-drishti"])
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code == 6
    said = capsys.readouterr()
    assert "M01 (warning): W012" in said.out
    assert "P05 (critical): MISSED" in said.out
    assert "Drishti's P05 has no counterpart" in said.err


def test_without_drishti_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drishti, "find_drishti", lambda: None)
    with pytest.raises(MissingError, match="pip install drishti-io"):
        drishti.run_drishti(tmp_path / "x.darshan")


@pytest.mark.parametrize(
    ("log", "causes"),
    [
        ("openpmd_write_id66082102", {"W041", "W020", "R016"}),
        # All of a file, twice, by one rank.
        ("openpmd_write_id66089597", {"W041", "B053", "W020", "B061", "R016"}),
        ("ior_id66197729", {"R020", "R016"}),
        ("write_3d_nc4_id66168155", {"B053", "W020"}),
        ("write_3d_nc4_id66168349", {"B053", "W020", "B061"}),
        ("tmatch_id", {"B061"}),
    ],
)
def test_causes_are_named_with_the_line_to_change(log: str, causes: set[str], shared_dir: Path) -> None:
    findings = reviewed(log_named(shared_dir, log)).findings
    found = {one.id: one for one in findings if one.change}
    assert set(found) == causes
    assert all("{" not in one.change for one in found.values())
    # What is filled twice is not called redundant as well.
    assert not ({"W040", "W041"} <= {one.id for one in findings})


def test_one_rank_that_does_all_gets_the_advised_hints_and_gains_no_more_than_the_waiting(
    shared_dir: Path,
) -> None:
    advice = reviewed(log_named(shared_dir, "openpmd_write_id66089597"))
    found = next(one for one in advice.findings if one.id == "B053")
    named = f"cb_nodes {advice.hints['cb_nodes']}; cb_config_list {advice.hints['cb_config_list']} "
    assert found.change.startswith(named)
    gains = [one.gain_s for one in advice.findings if one.gain_s is not None]
    assert 0 < max(gains) <= advice.traffic.io_s


def test_page_states_the_shares_that_make_a_severity() -> None:
    page = (Path(__file__).parents[3] / "docs" / "how-to" / "job.md").read_text()
    high, medium, stake = (f"{100 * share:g} %" for share in (HIGH_SHARE, MEDIUM_SHARE, AT_STAKE_SHARE))
    assert f"{high} is high, {medium} medium (where only what is at stake is known, {stake} is medium" in page


def test_severity_follows_seconds_not_counts(shared_dir: Path) -> None:
    """2,054 small reads of a job that writes for minutes are low; its writes are not."""
    findings = {one.id: one for one in reviewed(log_named(shared_dir, "openpmd_write_id66082102")).findings}
    assert findings["R010"].severity == "low"
    assert findings["W010"].severity == "high"
    gain = findings["W010"].gain_s
    assert gain is not None
    assert gain > 10
    assert findings["W010"].files


def test_a_second_long_job_has_no_high_finding_and_says_its_share(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four tenths of a second are 40 % of this job, and nothing to act on first."""
    log = log_named(shared_dir, "ior_id66186300")
    for extra in ([], ["--json"]):
        monkeypatch.setattr(sys, "argv", ["penstock", "plan", "job", "--darshan", str(log), *extra])
        with pytest.raises(SystemExit):
            main()
        said = capsys.readouterr().out
        if extra:
            found = {one["id"]: one for one in json.loads(said)["findings"]}
            assert {one["severity"] for one in found.values()} <= {"low", "info"}
            assert found["R010"]["share"] == pytest.approx(0.4, abs=0.02)
        else:
            assert "[low, 40% of the run] R010" in said


def _file(op: str, **changes: int | float | bool) -> FileTraffic:
    calls = 4096
    plain = FileTraffic("f", op, True, calls, calls * MIB, 0, calls, calls, calls * MIB - 1, 10.0)
    return replace(plain, **changes)  # type: ignore[arg-type]


QUIET = replace(
    traffic(RawLog("x", "app", 8, 100.0, {}, [])), calls=4096, files=(_file("read"), _file("write"))
)


def _ids(job: JobTraffic) -> dict[str, str]:
    return {found.id: found.severity for rule in (*TRAFFIC_RULES, *CAUSES) for found in rule(job)}


def _detail(**changes: int | float | bool | str | None) -> FileDetail:
    plain = FileDetail("f", False, 8, None, 8, 8, 0.1, 8192 * MIB, 4096, 4096 * MIB, 0, 0, 0)
    return replace(plain, **changes)  # type: ignore[arg-type]


def test_file_counts_with_the_rank_that_writes_for_all() -> None:
    """64 ranks wait while one writes: their mean would be a second."""
    times = {"POSIX_F_WRITE_TIME": 64.0, "POSIX_F_SLOWEST_RANK_TIME": 64.0}
    row = {"id": 1, "rank": -1, "POSIX_WRITES": 10, "POSIX_BYTES_WRITTEN": 10 * MIB, **times}
    job = traffic(RawLog("x", "app", 64, 72.0, {"POSIX": [row]}, []))
    assert job.files[0].seconds == pytest.approx(64)
    assert job.io_s == pytest.approx(64)
    assert job.mean_io_s == pytest.approx(1)


def test_independent_small_calls_are_not_told_to_set_hints_first() -> None:
    """A few collective calls beside a flood of independent ones: hints reach nearly none of them."""
    files = (_file("write", small_calls=4096, moved_bytes=4096 * KIB, seconds=50.0),)
    job = replace(QUIET, files=files, mpiio=(CollectiveUse("write", 4000, 96, 0),))
    (found,) = [one for rule in TRAFFIC_RULES for one in rule(job) if one.id == "W010"]
    assert "make them collective" in found.advice
    assert found.check.startswith("once they are: penstock run --compare")


def test_large_forward_aligned_traffic_gets_no_finding() -> None:
    assert _ids(QUIET) == {}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"files": (_file("read", small_calls=4096, moved_bytes=4096 * KIB),)}, {"R010": "medium"}),
        (
            {"files": (_file("write", small_calls=4096, moved_bytes=4096 * KIB, seconds=50.0),)},
            {"W010": "high"},
        ),
        ({"files": (_file("write", forward=1000),)}, {"W013": "low"}),
        ({"files": (_file("read", highest_byte=1024 * MIB),)}, {"R040": "medium"}),
        ({"misaligned": 3000}, {"B021": "medium"}),
        ({"misaligned_memory": 3000}, {"B022": "low"}),
        ({"spreads": (RankSpread("f", 40.0, 1.0, MIB, MIB, 5.0, MIB, 64),)}, {"B051": "high"}),
        ({"spreads": (RankSpread("f", 5.0, 5.0, 8 * MIB, 0, 5.0, MIB, 64),)}, {"B050": "low"}),
        (
            {"spreads": (RankSpread("f", 40.0, 0.0, 64 * MIB, 0, 1.0, MIB, 64),)},
            {"B050": "high", "B051": "high", "B053": "high"},
        ),
        # The slowest near the mean but the fastest far below it, in time and in bytes.
        ({"spreads": (RankSpread("f", 5.5, 3.0, MIB, MIB, 5.0, MIB, 3),)}, {"B051": "low"}),
        ({"spreads": (RankSpread("f", 5.0, 5.0, MIB, MIB // 2, 5.0, MIB, 3),)}, {"B050": "low"}),
        ({"spreads": (RankSpread("f", 5.0, 5.0, MIB, MIB, 5.0, MIB, 64),)}, {}),
        # Ranks the log keeps apart: the least moved two thirds of the most.
        ({"spreads": (RankSpread("f", 5.0, 5.0, MIB, MIB, 5.0, MIB, 64, gap=0.34),)}, {"B050": "low"}),
        ({"own": (OwnShares("write", 8, 4 * MIB, MIB, 40.0, 5.0),)}, {"W052": "high"}),
        ({"own": (OwnShares("read", 8, MIB, MIB, 40.0, 5.0),)}, {}),
        ({"metadata_s": 60.0, "worst_metadata_s": 60.0}, {"B060": "medium"}),
        ({"mpiio": (CollectiveUse("write", 4096, 0, 1),)}, {"W011": "low"}),
        ({"mpiio": (CollectiveUse("read", 0, 64, 0),)}, {"R015": "medium"}),
        # Twice the file, in HDF5 and elsewhere.
        (
            {
                "files": (_file("write", highest_byte=2048 * MIB - 1, seconds=50.0),),
                "details": (_detail(hdf5=True),),
            },
            {"W041": "high"},
        ),
        (
            {"files": (_file("write", highest_byte=2048 * MIB - 1, seconds=50.0),), "details": (_detail(),)},
            {"W040": "high"},
        ),
        (
            {"details": (_detail(hdf5=True, tiny_writes=2000, tiny_bytes=2000 * KIB, misaligned=9),)},
            {"B061": "low"},
        ),
        # Tiny writes that may be the data themselves.
        ({"details": (_detail(hdf5=True, tiny_writes=4000, tiny_bytes=4000 * MIB, misaligned=9),)}, {}),
        ({"details": (_detail(stripes=1),)}, {"R020": "medium", "W020": "medium"}),
        ({"details": (_detail(stripes=1, name="other"),)}, {}),
        (
            {"files": (_file("read", forward=1000, small_calls=4096, moved_bytes=4096 * KIB),)},
            {"R010": "medium", "R013": "low", "R016": "medium"},
        ),
        ({"details": (_detail(opens=800, metadata_s=400.0),)}, {"B062": "high"}),
        ({"details": (_detail(opens=8),)}, {}),
        ({"details": (_detail(only_rank=3, ranks=1),)}, {"B053": "high"}),
    ],
)
def test_each_rule_speaks_for_what_it_is_about(changes: dict[str, object], expected: dict[str, str]) -> None:
    found = _ids(replace(QUIET, **changes))  # type: ignore[arg-type]
    assert set(found) == set(expected)
    assert found == expected


@pytest.mark.parametrize("mpiio", [(), (CollectiveUse("write", 64, 0, 0),)], ids=["POSIX only", "MPI-IO"])
def test_hint_on_stripes_is_tried_only_where_it_can_work(mpiio: tuple[CollectiveUse, ...]) -> None:
    job = replace(QUIET, details=(_detail(stripes=1),), mpiio=mpiio)
    (found,) = (one for cause in CAUSES for one in cause(job) if one.id == "W020")
    assert found.change.startswith("lfs setstripe")
    assert ("striping_factor" in found.check) == bool(mpiio)


def test_files_of_their_own_show_who_moves_most() -> None:
    def row(file: int, rank: int, mib: int, seconds: float) -> dict[str, object]:
        return {"id": file, "rank": rank, "POSIX_BYTES_WRITTEN": mib * MIB, "POSIX_F_WRITE_TIME": seconds}

    rows = [row(1, 0, 1, 1.0), row(2, 0, 5, 5.0), row(3, 1, 2, 2.0), row(4, -1, 100, 9.0)]
    (shares,) = traffic(RawLog("x", "app", 2, 10.0, {"POSIX": rows}, [])).own
    assert (shares.op, shares.most_bytes, shares.mean_bytes, shares.most_s) == (
        "write",
        6 * MIB,
        4 * MIB,
        6.0,
    )


@pytest.mark.parametrize(
    ("asked", "speaks"), [("4", True), ("8", False), ("16", False), ("17", True), ("", False)]
)
def test_aggregators_are_judged_by_the_nodes_of_the_job(asked: str, speaks: bool) -> None:
    job = replace(
        traffic(RawLog("x", "app", 8, 100.0, {}, [], hints={"cb_nodes": asked})),
        mpiio=(CollectiveUse("write", 0, 64, 0),),
    )
    assert [found.id for found in aggregators(job, 8)] == ["B070"] * speaks
    assert aggregators(job, None) == []


def test_hints_that_a_log_names_are_read(shared_dir: Path) -> None:
    (path,) = (shared_dir / "data" / "darshan").glob("*openpmd_write_id66082102*")
    ids = [[one.id for one in review_log(path, JobSite(nodes=n), None, None).findings] for n in (4, 32)]
    assert ["B070" in found for found in ids] == [False, True]


def test_timeline_keeps_every_byte() -> None:
    rows = [
        {"op": "write", "start_s": 0.0, "end_s": 4.0, "bytes": 400 * MIB},
        {"op": "read", "start_s": 9.9, "end_s": 10.0, "bytes": MIB},
    ]
    svg = timeline(rows, 10.0)
    assert "<svg" in svg
    assert "write" in svg
    assert "read" in svg


@pytest.mark.slow
def test_page_has_a_timeline_where_the_log_traced_or_counted(shared_dir: Path, tmp_path: Path) -> None:
    examples = Path(darshan.__file__).parent / "examples"
    traced = sorted(examples.glob("**/*dxt*.darshan")) or sorted(examples.glob("**/*.darshan"))
    (counted,) = (shared_dir / "data" / "darshan").glob("*ior_id66186284*")
    for log, source in ((traced[0], "every traced request"), (counted, "counts per interval")):
        page = page_of_log(log, review_log(log, JobSite(), None, None))
        assert source in page
        assert "<svg" in page
        assert "Findings" in page


@pytest.mark.slow
def test_plan_job_leaves_its_files_even_if_nobody_reads_on(
    shared_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def closed(*_: object) -> None:
        raise BrokenPipeError

    (log,) = (shared_dir / "data" / "darshan").glob("*tmatch_id66159987*")
    page = tmp_path / "review.html"
    monkeypatch.setattr("penstock.cli.plan_job._show", closed)
    with pytest.raises(BrokenPipeError):
        job.main(["--darshan", str(log), "--html", str(page)], standalone_mode=False)
    assert "Findings" in page.read_text()


def test_plan_job_forecasts_another_machine_only_when_asked(
    shared_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (log,) = (shared_dir / "data" / "darshan").glob("*openpmd_write_id66082102*")
    words = ["penstock", "plan", "job", "--darshan", str(log), "--json"]
    for extra in ([], ["--system", "titan"]):
        monkeypatch.setattr(sys, "argv", [*words, *extra])
        with pytest.raises(SystemExit) as leaving:
            main()
        assert not leaving.value.code
        said = json.loads(capsys.readouterr().out)
        assert ("forecast_elsewhere" in said) == bool(extra)
        assert "predicted" not in said
    assert said["files"][0]["seconds"] >= said["files"][-1]["seconds"]
