"""What nodes tell each other, who may explore, and what a damaged, hostile, full or newer folder does to it."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from tests.rigs.sharing import DAY_S, HOME, READS, SMALL, TINY, Fleet, findings, gain

from penstock.agent.sharing.digest import dump_digest, make_digest, parse_digest
from penstock.agent.sharing.folder import ASIDE, MEMBERS, TOP, ShareFolder
from penstock.agent.sharing.leases import LEASE_S
from penstock.agent.sharing.member import (
    DIGEST,
    DIGEST_S,
    FOLLOW_JITTER_S,
    LOOK_S,
    MOST_AT_ONCE,
    SILENT_S,
    WRITE_S,
)
from penstock.agent.sharing.member_format import dump_member, parse_member
from penstock.agent.sharing.told import MOST_LOG2, DatedGain, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, WorkFindings, WorkKind
from penstock.decide.work import Work
from penstock.knobs import Setting


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path / "share", 5)


def test_of_all_who_want_to_one_explores_and_stays_the_one(fleet: Fleet) -> None:
    fleet.run(30.0)
    scouts = fleet.scouts()
    assert len(scouts) == 1
    fleet.run(300.0)
    assert fleet.scouts() == scouts


def test_one_in_a_hundred_members_explores(tmp_path: Path) -> None:
    many = Fleet(tmp_path / "share", 250)
    many.run(120.0)
    assert 1 <= len(many.scouts()) <= 2


def test_what_the_scout_proves_reaches_all_others_at_different_times(fleet: Fleet) -> None:
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    fleet.gains[scout] = [(SMALL, gain(0.6))]
    others, since_s = [one.node for one in fleet.members if one.node != scout], fleet.now_s
    reached: dict[str, float] = {}
    while len(reached) < len(others) and fleet.now_s < since_s + 600.0:
        fleet.run(1.0)
        for node in others:
            if fleet.proven(node) == [SMALL]:
                reached.setdefault(node, fleet.now_s - since_s)
    assert reached.keys() == set(others)
    assert max(reached.values()) <= 2 * LOOK_S + FOLLOW_JITTER_S + 5.0
    assert len(set(reached.values())) > 1
    advice = fleet.advice[others[0]]
    assert advice is not None
    told = advice.about(READS).proven[0]
    assert (told.node, told.gain_log2, told.windows) == (scout, 0.6, 40)
    assert f"proved on node {scout} just now, 1.5 times in 40 windows" in told.sentence
    assert fleet.proven(scout) == []


def test_when_the_scout_dies_one_other_takes_over(fleet: Fleet) -> None:
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    fleet.dead.add(scout)
    fleet.run(DIGEST_S + LEASE_S + 4 * LOOK_S)
    assert len(fleet.scouts()) == 1
    assert fleet.scouts() != [scout]


def test_a_scout_that_stops_makes_room_at_once(fleet: Fleet) -> None:
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    next(one for one in fleet.members if one.node == scout).close()
    fleet.dead.add(scout)
    fleet.run(2 * LOOK_S)
    assert len(fleet.scouts()) == 1


def test_who_contradicts_explores_only_when_the_scout_is_done_and_gives_its_lease_back(fleet: Fleet) -> None:
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    fleet.gains[scout] = [(SMALL, gain(0.6))]
    fleet.run(60.0)
    odd = next(one.node for one in fleet.members if one.node != scout)
    fleet.gains[odd] = [(SMALL, gain(-0.5, GainWord.CONTRADICTED))]
    fleet.run(2 * WRITE_S)
    assert fleet.scouts() == [scout]
    fleet.explored.add(scout)
    fleet.run(2 * WRITE_S)
    assert fleet.scouts() == [odd]


def test_what_more_nodes_contradict_than_prove_is_not_offered(fleet: Fleet) -> None:
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(60.0)
    assert fleet.proven("n4") == [SMALL]
    fleet.gains["n1"] = [(SMALL, gain(-0.5, GainWord.CONTRADICTED))]
    fleet.run(2 * WRITE_S)
    assert fleet.proven("n4") == []


def test_what_most_nodes_agree_on_comes_before_what_one_claims(fleet: Fleet) -> None:
    fleet.gains = {node: [(SMALL, gain(0.6))] for node in ("n0", "n1", "n2")}
    fleet.gains["n3"] = [(TINY, gain(5.0))]
    fleet.run(2 * WRITE_S)
    assert fleet.proven("n4") == [SMALL, TINY]


def test_proofs_are_told_at_once_but_only_so_many_an_hour(fleet: Fleet) -> None:
    member, told = fleet.members[0], 0
    fleet.run(5.0)
    path = fleet.path / MEMBERS / "n0.json"
    settings = [Setting(pages=1 << at, flight=16) for at in range(11)]
    for at in range(1, 11):
        before = path.stat().st_mtime_ns
        gains = [(setting, gain(0.5)) for setting in settings[:at]]
        fleet.now_s += 1.0
        shown = findings(*gains, now_s=fleet.now_s)
        if member.is_due(shown, "", fleet.now_s):
            member.turn(shown, "", fleet.now_s, DAY_S + fleet.now_s)
        told += path.stat().st_mtime_ns != before
    assert told == MOST_AT_ONCE


def test_what_a_node_told_is_kept_over_its_restart(fleet: Fleet) -> None:
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(WRITE_S + 10.0)
    again = fleet.member("n0")
    other = WorkKind("scratch", "", Work("write", 16.0), HOME, (1.0, 16.0, -3.0))
    again.turn([WorkFindings(other, {}, False, False, fleet.now_s)], "", fleet.now_s, DAY_S + fleet.now_s)
    told = parse_member((fleet.path / MEMBERS / "n0.json").read_bytes(), "n0")
    assert [work.kind.work.kind for work in told.works] == ["read", "write"]
    assert told.works[0].gains[SMALL].told == gain(0.6)


def test_jobs_are_told_only_where_they_are_handed_in(fleet: Fleet) -> None:
    member = fleet.members[0]
    member.turn(findings(now_s=1.0), "", 1.0, DAY_S)
    member.turn(findings(now_s=100.0), "4711", 100.0, DAY_S + 100.0)
    told = parse_member((fleet.path / MEMBERS / "n0.json").read_bytes(), "n0")
    assert [work.job for work in told.works] == ["", "4711"]


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00" * 100,
        b"[" * 100_000,
        b"x" * (2 << 20),
        b'{"schema": "penstock-member", "version": 1}',
        b'{"schema": "other", "version": 1}',
    ],
)
def test_a_damaged_members_file_is_put_aside_and_said_once(fleet: Fleet, raw: bytes) -> None:
    bad = fleet.path / MEMBERS / "evil.json"
    bad.write_bytes(raw)
    bad.chmod(0o600)
    fleet.run(60.0)
    said = fleet.problems()
    assert len(said) == 1
    assert "put aside" in said[0]
    assert "\n" not in said[0]
    assert not bad.exists()
    assert (fleet.path / ASIDE / "evil.json").read_bytes() == raw
    assert len(fleet.scouts()) == 1


def test_a_file_that_says_it_is_another_nodes_is_passed_over(fleet: Fleet) -> None:
    work = MemberWork(READS, "", {SMALL: DatedGain(gain(0.6), DAY_S)})
    fleet.members[0].folder.write(MEMBERS, "evil.json", dump_member(MemberFile("n1", "1.0", (work,))))
    fleet.run(60.0)
    assert fleet.proven("n2") == []


def test_a_newer_members_file_stays_and_the_others_go_on(fleet: Fleet) -> None:
    newer = {"schema": "penstock-member", "version": 2, "works": "of another shape"}
    fleet.members[0].folder.write(MEMBERS, "n9.json", json.dumps(newer).encode())
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(60.0)
    said = fleet.problems()
    assert len(said) == 1
    assert "newer Penstock" in said[0]
    assert (fleet.path / MEMBERS / "n9.json").exists()
    assert fleet.proven("n2") == [SMALL]


def test_a_damaged_digest_is_put_aside_and_written_again(fleet: Fleet) -> None:
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(60.0)
    fleet.members[0].folder.write(TOP, DIGEST, b"\x00" * 1000)
    fleet.run(LOOK_S + 2.0)
    assert fleet.proven("n4") == [SMALL]
    assert parse_digest((fleet.path / DIGEST).read_bytes(), "digest").members == 5


def test_when_nobody_can_write_the_digest_every_node_decides_alone(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet.run(30.0)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(ShareFolder, "write", full)
    monkeypatch.setattr(ShareFolder, "create", full)
    fleet.run(SILENT_S + LOOK_S + 2.0)
    assert all(advice is None for advice in fleet.advice.values())
    assert any("No space left" in problem for one in fleet.members for problem in one.problems)
    monkeypatch.undo()
    fleet.run(2 * LEASE_S + DIGEST_S)
    assert all(advice is not None for advice in fleet.advice.values())
    assert len(fleet.scouts()) == 1


def test_no_claim_is_larger_than_the_bound(fleet: Fleet) -> None:
    fleet.gains["n0"] = [(SMALL, gain(99.0, windows=10**9))]
    fleet.run(60.0)
    advice = fleet.advice["n1"]
    assert advice is not None
    assert [one.gain_log2 for one in advice.about(READS).proven] == [MOST_LOG2]


def test_a_digest_reads_back_as_it_was_written() -> None:
    said = {SMALL: DatedGain(gain(0.6), DAY_S), TINY: DatedGain(gain(0.1, GainWord.MEASURED), DAY_S)}
    files = [MemberFile(f"n{at}", "1.0", (MemberWork(READS, "", said, DAY_S),)) for at in range(3)]
    digest = make_digest(files, 3, 0.0)
    assert parse_digest(dump_digest(digest), "digest") == digest
    best = digest.works[0].gains[0]
    assert (best.setting, best.agree, best.contradict, best.nodes) == (SMALL, 3, 0, 3)
    assert make_digest(files, 3, DAY_S + 1.0).works == ()
