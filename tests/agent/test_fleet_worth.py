"""What tuning would bring is said from what like cases gained, with intervals, and from nothing else."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from penstock.agent.fleet_worth import FleetWorth, fleet_worth, read_seen, sentence
from penstock.agent.log import DecisionLog
from penstock.agent.sharing.digest import make_digest
from penstock.agent.sharing.folder import MEMBERS, ShareFolder
from penstock.agent.sharing.member_format import dump_member
from penstock.agent.sharing.told import DatedGain, MemberFile, MemberWork
from penstock.agent.startup import LOG_FILE
from penstock.cli.main import cli
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkKind
from penstock.decide.work import Work
from penstock.errors import MissingError
from penstock.events import StartEvent, WorkSeenEvent
from penstock.knobs import Setting
from penstock.predict.tuned_cases import TunedCase

LOOK, HOME = (0.0, 20.0, -7.0), Setting(pages=1024, flight=8)
READS = WorkSeenEvent(
    time_s=1e9, fs="scratch", work="read", request_log2=20.0, home=dict(HOME) | {"dirty": 2000}, look=LOOK,
    busy_s=600.0, read_bytes=1e11,
)  # fmt: skip
WRITES = replace(READS, work="write", look=(3.0, 22.0, -3.0), busy_s=1800.0, read_bytes=0.0, write_bytes=1e12)


def cases(work: str, look: tuple[float, ...], gains: Sequence[float]) -> list[TunedCase]:
    return [TunedCase(f"{work}-{at}", work, look, gain) for at, gain in enumerate(gains)]


# Such reads gain 1.5 to 1.7 times, such writes nothing.
CASES = [
    *cases("read", LOOK, [0.6, 0.65, 0.7, 0.75] * 3),
    *cases("read", (3.0, 22.0, -2.0), [0.0] * 12),
    *cases("write", (3.0, 22.0, -3.0), [0.0, 0.01, -0.01] * 4),
]


def of(*events: WorkSeenEvent) -> FleetWorth:
    return fleet_worth({"n0": events}, CASES)


def test_work_gains_what_cases_that_look_like_it_gained() -> None:
    (one,) = of(READS).works
    assert one.chance > 0.9
    assert 1.5 < one.gain.ratio < 1.7
    assert one.low < one.gain.ratio < one.high
    assert one.cases == pytest.approx(12.0, rel=0.2)
    (other,) = of(replace(READS, look=(3.0, 22.0, -2.0))).works
    assert other.gain.ratio < 1.05


def test_a_site_gains_in_time_and_says_how_much_of_it_would_gain() -> None:
    found = of(READS, WRITES)
    assert [one.seen.kind.work.kind for one in found.works] == ["write", "read"]
    assert found.busy_s == 2400.0
    assert found.gaining[0] == pytest.approx(0.25)
    reads = found.works[1].gain.ratio
    assert found.total.ratio == pytest.approx(2400.0 / (1800.0 + 600.0 / reads), rel=0.02)
    assert found.total.low is not None and found.total.high is not None
    assert 1.0 < found.total.low < found.total.ratio < found.total.high
    assert "25% of that time would gain at least 5 %" in sentence(found)
    assert of(READS, WRITES) == found


def test_the_same_work_of_several_nodes_is_one_kind() -> None:
    near = replace(READS, look=(0.2, 20.0, -6.5), request_log2=20.1, busy_s=1200.0)
    found = fleet_worth({"n0": [READS, READS], "n1": [near]}, CASES)
    (one,) = found.works
    assert (one.seen.nodes, one.seen.busy_s, one.seen.read_bytes) == (2, 2400.0, 3e11)
    assert one.seen.kind.look == pytest.approx((0.1, 20.0, -6.75))


def test_of_work_that_nobody_knows_nothing_is_said() -> None:
    found = of(replace(READS, work="both", look=()))
    (one,) = found.works
    assert (one.gain.ratio, one.gain.low, one.cases, one.chance) == (1.0, None, 0.0, 0.0)
    assert found.gaining == (0.0, 0.0, 0.0)


def test_what_the_fleet_itself_proved_comes_before_cases() -> None:
    kind = WorkKind("scratch", "", Work("write", 20.0), HOME, (3.0, 22.0, -3.0))
    gain = DatedGain(ToldGain(1.0, 0.02, 40, GainWord.PROVEN), 1e9)
    files = [
        MemberFile(f"n{at}", "1.0", (MemberWork(kind, "", {Setting(pages=64): gain}),)) for at in range(3)
    ]
    known = make_digest(files, 3, 0.0)
    (one,) = fleet_worth({"n0": [WRITES]}, CASES, known).works
    assert (one.proved_on, one.gain.ratio) == (3, 2.0)
    assert one.low < 2.0 < one.high
    (elsewhere,) = fleet_worth({"n0": [replace(WRITES, fs="home")]}, CASES, known).works
    assert elsewhere.proved_on == 0


@pytest.fixture
def logs(tmp_path: Path) -> list[Path]:
    """Two nodes: a log named after the first, and the second's state directory."""
    state = tmp_path / "n1"
    state.mkdir()
    now_s = time.time()
    paths = [tmp_path / "n0.jsonl", state / LOG_FILE]
    for path in paths:
        log = DecisionLog(path)
        log.append(StartEvent(time_s=now_s - 60.0, mode="observe"))
        log.append(replace(READS, time_s=now_s - 30.0))
    DecisionLog(paths[1]).append(replace(WRITES, time_s=now_s - 86400.0))
    return [paths[0], state]


def test_logs_of_the_period_are_read_and_what_cannot_be_is_left_out(logs: list[Path]) -> None:
    hostile = {"busy_s": 1e12}, {"busy_s": -5.0}, {"read_bytes": 1e300}, {"look": [1e9]}, {"work": "x"}
    with logs[0].open("a") as file:
        for wrong in hostile:
            file.write(
                json.dumps({"event": "work", "time_s": time.time(), "busy_s": 1.0, "work": "read", **wrong})
            )
            file.write("\n")
    noted = read_seen(logs, time.time() - 3600.0, time.time())
    assert {name: len(events) for name, events in noted.items()} == {"n0": 1, "n1": 1}
    assert len(read_seen(logs, 0.0, time.time())["n1"]) == 2


def test_logs_without_noted_work_are_an_error_that_says_which_modes_note_it(tmp_path: Path) -> None:
    DecisionLog(tmp_path / "n0.jsonl").append(StartEvent(time_s=1.0, mode="tune"))
    with pytest.raises(MissingError, match="observe or advise"):
        read_seen([tmp_path / "n0.jsonl"], 0.0, time.time())
    with pytest.raises(MissingError, match="no such log"):
        read_seen([tmp_path / "n9.jsonl"], 0.0, time.time())


def test_the_command_says_what_tuning_would_bring_by_the_shipped_cases(
    logs: list[Path], tmp_path: Path
) -> None:
    words = ["fleet", "worth", *map(str, logs)]
    said = CliRunner(env={"COLUMNS": "200"}).invoke(cli, words, catch_exceptions=False)
    assert said.exit_code == 0
    assert said.stdout.startswith("2 nodes were busy for ")
    assert "scratch: reads of 1 MiB" in said.stdout
    found = json.loads(CliRunner().invoke(cli, [*words, "--json"], catch_exceptions=False).stdout)
    assert found["low"] <= found["gain"] <= found["high"]
    assert found["nodes"] == ["n0", "n1"]
    share = tmp_path / "share"
    share.mkdir(mode=0o700)
    folder = ShareFolder(share, "test")
    folder.prepare()
    kind = WorkKind("scratch", "", Work("read", 20.0), HOME, LOOK)
    gain = DatedGain(ToldGain(1.0, 0.02, 40, GainWord.PROVEN), time.time())
    work = MemberWork(kind, "", {Setting(pages=64): gain})
    folder.write(MEMBERS, "n5.json", dump_member(MemberFile("n5", "1.0", (work,))))
    words += ["--knowledge", str(share), "--json"]
    found = json.loads(CliRunner().invoke(cli, words, catch_exceptions=False).stdout)
    assert {work["kind"]: work["proved_on"] for work in found["works"]} == {"read": 1, "write": 0}
