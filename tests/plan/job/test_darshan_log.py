"""Darshan logs: the shared ones of real jobs, pydarshan's own examples, and logs that are none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import DataError, MissingError, UsageError
from penstock.observe.darshan_log import RawLog, read_log
from penstock.plan.job.job_advice import JobAdvice, JobSite, advise_job, review_log
from penstock.plan.job.job_facts import JobFacts, LayerFacts, facts
from penstock.plan.job.review import review, shape, stripe_count
from penstock.plan.job.traffic import traffic
from penstock.units import GIB, KIB, MIB

darshan = pytest.importorskip("darshan", reason="needs pydarshan: pip install 'penstock[darshan]'")
EXAMPLES = sorted(Path(darshan.__file__).parent.glob("examples/**/*.darshan"))


def advice_of(path: Path, nodes: int | None = None) -> JobAdvice:
    return review_log(path, JobSite(nodes), None, None)


@pytest.mark.slow
def test_every_shared_log_is_reviewed(shared_dir: Path) -> None:
    logs = sorted((shared_dir / "data" / "darshan").glob("*.darshan"))
    assert len(logs) == 14
    for log in logs:
        advice = advice_of(log)
        assert advice.facts.ranks in {1, 64, 256, 1024}
        assert advice.findings or advice.hints or advice.facts.bytes_written
        assert (advice.shape is None) == (advice.facts.posix is None and advice.facts.mpiio is None)


@pytest.mark.parametrize("log", EXAMPLES, ids=lambda path: path.name[:24])
def test_every_example_of_pydarshan_is_reviewed(log: Path) -> None:
    advice = advice_of(log)
    assert advice.facts.ranks >= 1
    assert advice.shape is None or advice.shape.bytes_per_call > 0


def test_ungathered_collective_writes_are_found(shared_dir: Path) -> None:
    (slow,) = (shared_dir / "data" / "darshan").glob("*write_3d_nc4_id66168155*")
    advice = advice_of(slow, nodes=2)
    assert advice.shape is not None
    assert (advice.shape.pattern, advice.shape.collective) == ("strided", True)
    assert (advice.shape.block_bytes, advice.shape.bytes_per_call) == (256, 256 * KIB)
    (small,) = [one for one in advice.findings if one.id == "W010"]
    assert small.gain_s is not None
    assert 0 < small.gain_s <= small.at_stake_s
    assert "romio_cb_write=enable" in small.advice
    assert advice.hints["romio_cb_write"] == "enable"


def test_gathered_collective_writes_on_one_target_get_wider_stripes(shared_dir: Path) -> None:
    (log,) = (shared_dir / "data" / "darshan").glob("*openpmd_write_id66089597*")
    advice = advice_of(log, nodes=32)
    assert advice.shape is not None
    assert advice.shape.collective
    assert advice.shape.bytes_per_call == 32 * MIB
    assert advice.facts.stripe_count == 1
    assert advice.striping is not None
    assert advice.striping.count == 64
    assert advice.hints["striping_factor"] == "64"
    assert "W020" in {finding.id for finding in advice.findings}
    assert advice.now is None
    elsewhere = review_log(log, JobSite(32), "titan", None)
    assert elsewhere.now is not None
    assert elsewhere.advised is not None
    assert elsewhere.advised.seconds < elsewhere.now.seconds


def test_posix_jobs_are_told_that_hints_need_mpi_io(shared_dir: Path) -> None:
    (strided,) = (shared_dir / "data" / "darshan").glob("*ior_id66186370*")
    advice = advice_of(strided)
    assert advice.shape is not None
    assert (advice.shape.pattern, advice.shape.block_bytes) == ("strided", KIB)
    assert {"W010", "W012"} <= {finding.id for finding in advice.findings}


@pytest.mark.parametrize("text", [b"", b"hello, this is no log at all", bytes(64)])
def test_what_is_no_log_is_refused(tmp_path: Path, text: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.darshan"
    path.write_bytes(text)
    with pytest.raises(DataError, match="not a Darshan log"):
        read_log(path)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("share", [0.05, 0.3, 0.9, 0.999])
def test_truncated_log_is_one_error(tmp_path: Path, capfd: pytest.CaptureFixture[str], share: float) -> None:
    path, whole = tmp_path / "cut.darshan", EXAMPLES[0].read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(DataError, match="truncated Darshan log"):
        read_log(path)
    assert capfd.readouterr() == ("", "")


def test_log_damaged_inside_is_one_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path, whole = tmp_path / "x.darshan", EXAMPLES[0].read_bytes()
    path.write_bytes(whole[:400] + bytes(len(whole) - 400))
    with pytest.raises(DataError, match="damaged or truncated Darshan log"):
        read_log(path)
    assert capfd.readouterr() == ("", "")


def test_missing_log_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such file"):
        read_log(tmp_path / "none.darshan")


LAYER = LayerFacts(
    writes=64,
    collective_writes=64,
    bytes_written=64 * MIB,
    common_bytes=MIB,
    consecutive_ratio=0.0,
    sequential_ratio=1.0,
    misaligned_ratio=0.0,
    stride_bytes=0,
    stride_ratio=0.0,
    span_s=1.0,
)
TRAFFIC = traffic(RawLog("x", "app", 64, 9.0, {}, []))
FACTS = JobFacts("x", "app", 64, 9.0, 64 * MIB, 0, 1, 1, True, LAYER, LAYER, 4, MIB)


def test_healthy_job_gets_no_grave_finding() -> None:
    assert not [finding for finding in review(FACTS, TRAFFIC) if finding.severity == "high"]


def test_idle_serial_and_stdio_jobs_are_told_there_is_nothing_to_set() -> None:
    idle = (replace(FACTS, bytes_written=0, posix=None, mpiio=None), TRAFFIC)
    serial = (replace(FACTS, ranks=1, shared=False), TRAFFIC)
    stdio = (replace(FACTS, posix=None, mpiio=None), replace(TRAFFIC, stdio_bytes=64 * MIB))
    assert [review(*one)[0].id for one in (idle, serial, stdio)] == ["W000", "W001", "S002"]
    for one in (idle, serial, stdio):
        assert advise_job(one, JobSite(), None, None).hints == {}
    assert shape(idle[0]) is None


def test_stripes_never_shrink_nor_exceed_targets() -> None:
    large = replace(FACTS, posix=replace(LAYER, bytes_written=1000 * GIB))
    assert stripe_count(large) == 64
    assert stripe_count(large, osts=24) == 24
    assert stripe_count(replace(FACTS, stripe_count=16)) == 16


@pytest.mark.parametrize(
    ("site", "said"),
    [({"nodes": 0}, "--nodes 0"), ({"osts": 0}, "--osts 0"), ({"stripe_bytes": 1000}, "64 KiB")],
)
def test_impossible_sites_are_refused(site: dict[str, int], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        JobSite(**site)


def test_more_nodes_than_ranks_are_refused() -> None:
    with pytest.raises(UsageError, match="64 ranks"):
        advise_job((FACTS, TRAFFIC), JobSite(nodes=65), None, None)


def test_log_without_ranks_is_refused() -> None:
    with pytest.raises(DataError, match="0 ranks"):
        facts(RawLog("x", "", 0, 1.0, {}, []))
