"""Whatever stands in the shared folder, nodes say one line, stay within their bounds, and go on."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.rigs.oddfiles import ODD, put
from tests.rigs.sharing import DAY_S, HOME, READS, SMALL, Fleet, findings, gain

from penstock.agent.sharing import digest as digest_module
from penstock.agent.sharing import roster as roster_module
from penstock.agent.sharing.digest import dump_digest, make_digest, parse_digest
from penstock.agent.sharing.folder import ASIDE, LEASES, MEMBERS, TOP, ShareFolder
from penstock.agent.sharing.leases import LEASE_S
from penstock.agent.sharing.member import DIGEST, DIGEST_S, FOLLOW_JITTER_S, LOOK_S, WRITE_S, Member
from penstock.agent.sharing.member_format import dump_member, parse_member
from penstock.agent.sharing.roster import Roster
from penstock.agent.sharing.told import DatedGain, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkFindings
from penstock.knobs import Setting

YEAR_S = 365 * 86400.0


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path / "share", 4)


def told(_node: str, **changed: Any) -> dict[str, Any]:
    """A member's file as JSON, one of whose fields, or of its first work or gain, is another."""
    work = MemberWork(READS, "", {SMALL: DatedGain(gain(0.6), DAY_S)}, DAY_S)
    said: dict[str, Any] = json.loads(dump_member(MemberFile(_node, "1.0", (work,))))
    for part in (said, said["works"][0], said["works"][0]["gains"][0]):
        part.update({name: value for name, value in changed.items() if name in part})
    return said


@pytest.mark.parametrize(
    "changed",
    [
        {"gain_log2": math.nan},
        {"gain_log2": math.inf},
        {"error_log2": -math.inf},
        {"gain_log2": 8.0},
        {"windows": 10**30},
        {"windows": True},
        {"time_s": -1.0},
        {"time_s": 1e300},
        {"explored_s": math.nan},
        {"look": [math.nan, 1.0]},
        {"look": [0.0] * 1000},
        {"knobs": {"pages": 1 << 50}},
        {"knobs": {"../pages": 4}},
        {"knobs": {f"knob{'x' * at}": 1 for at in range(100)}},
        {"home": {}},
        {"fs": "scratch\x1b[2J"},
        {"fs": "scratch\x9b2J"},
        {"fs": "scratch\u202eevil"},
        {"fs": "scratch\ud800"},
        {"fs": "x" * 257},
        {"job": "4711\n"},
        {"node": "../../etc/passwd"},
        {"node": "evil\x00"},
        {"made_by": "1.0\x1b"},
        {"facts": {"cpus": math.inf}},
        {"works": [{}] * 33},
        {"kind": "everything"},
        {"word": "sworn"},
    ],
    ids=repr,
)
def test_one_wrong_value_makes_a_members_file_unusable_and_is_said_in_one_line(
    fleet: Fleet, changed: dict[str, Any]
) -> None:
    fleet.members[0].folder.write(MEMBERS, "evil.json", json.dumps(told("evil", **changed)).encode())
    fleet.run(2 * WRITE_S)
    (said,) = fleet.problems()
    assert said.endswith("; put aside")
    assert said.isprintable()
    assert len(said) < 500
    assert (fleet.path / ASIDE / "evil.json").exists()
    assert len(fleet.scouts()) == 1
    assert fleet.proven("n3") == []


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_among_the_members_is_put_aside_and_said_in_one_line(
    odd: str, fleet: Fleet, tmp_path: Path
) -> None:
    (tmp_path / "victim").write_text(json.dumps(told("odd")))
    put(odd, fleet.path / MEMBERS / "odd.json", tmp_path / "victim")
    fleet.run(2 * WRITE_S)
    (said,) = fleet.problems()
    assert said.endswith("odd.json: not a file; put aside")
    assert os.path.lexists(fleet.path / ASIDE / "odd.json")
    assert fleet.proven("n3") == []
    assert (tmp_path / "victim").read_text() == json.dumps(told("odd"))


def test_a_hard_link_to_a_file_elsewhere_harms_neither(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "victim").write_bytes(b"root:x:0:0\n")
    (tmp_path / "victim").chmod(0o600)
    before = (tmp_path / "victim").stat().st_mtime_ns
    for name in ("hard.json", "n1.json"):
        (fleet.path / MEMBERS / name).unlink(missing_ok=True)
        os.link(tmp_path / "victim", fleet.path / MEMBERS / name)
    fleet.run(3 * WRITE_S)
    assert (tmp_path / "victim").read_bytes() == b"root:x:0:0\n"
    assert (tmp_path / "victim").stat().st_mtime_ns == before
    assert (fleet.path / ASIDE / "hard.json").exists()
    assert parse_member((fleet.path / MEMBERS / "n1.json").read_bytes(), "n1").node == "n1"
    assert all("root:" not in said for said in fleet.problems())


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("what", ["digest", "lease"])
def test_what_is_no_file_stops_neither_the_digest_nor_the_scouts(
    odd: str, what: str, fleet: Fleet, tmp_path: Path
) -> None:
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    fleet.gains[scout] = [(SMALL, gain(0.6))]
    fleet.run(30.0)
    (lease,) = (path for path in (fleet.path / LEASES).iterdir() if not path.name.startswith("digest"))
    put(odd, fleet.path / DIGEST if what == "digest" else lease, tmp_path / "none")
    fleet.run(DIGEST_S + 2 * LEASE_S + 4 * LOOK_S)
    assert len(fleet.scouts()) == 1
    others = [one.node for one in fleet.members if one.node != scout]
    assert all(fleet.proven(node) == [SMALL] for node in others)


@pytest.mark.parametrize(
    "fs", ["/mnt/a\nb", "/mnt/\x9b2J", "/mnt/\udcff", "/mnt/" + "x" * 1000, "/mnt/\u202e"]
)
def test_work_of_a_mount_with_any_name_is_told_and_followed(fs: str, tmp_path: Path) -> None:
    """Whoever may mount something names it; a node's other work must not be refused for that."""
    share = tmp_path / "share"
    share.mkdir(mode=0o700)
    kind = dataclasses.replace(READS, fs=fs)
    members = [Member(node, ShareFolder(share, node), Random(node)) for node in ("n0", "n1")]
    advice: dict[str, Any] = {}
    for now_s in range(1, 120):
        for one in members:
            gains = {SMALL: gain(0.6)} if one.node == "n0" else {}
            said = [
                WorkFindings(kind, gains, True, False, float(now_s)),
                WorkFindings(READS, gains, True, False, float(now_s)),
            ]
            if one.is_due(said, "", float(now_s)):
                advice[one.node] = one.turn(said, "", float(now_s), DAY_S + now_s)
    assert [one.problems for one in members] == [[], []]
    for work in (kind, READS):
        assert [one.setting for one in advice["n1"].about(work).proven] == [SMALL]
    assert len(parse_member((share / MEMBERS / "n0.json").read_bytes(), "n0").works) == 2


def test_what_is_no_number_is_not_told_and_takes_nothing_else_along(fleet: Fleet) -> None:
    odd = Setting(pages=16, flight=16)
    for told_gain in (
        ToldGain(math.nan, 0.1, 40, GainWord.PROVEN),
        ToldGain(0.5, math.nan, 40, GainWord.PROVEN),
    ):
        fleet.gains["n0"] = [(odd, told_gain), (SMALL, gain(0.6))]
        fleet.run(2 * WRITE_S)
        assert fleet.proven("n3") == [SMALL]


def test_a_digest_is_never_larger_than_what_followers_read(monkeypatch: pytest.MonkeyPatch) -> None:
    works = tuple(
        MemberWork(dataclasses.replace(READS, fs=f"fs{at}"), "", {SMALL: DatedGain(gain(0.6), DAY_S)})
        for at in range(30)
    )
    digest = make_digest([MemberFile("n0", "1.0", works)], 1, 0.0)
    monkeypatch.setattr(digest_module, "MOST_BYTES", 4000)
    raw = dump_digest(digest)
    assert len(raw) <= 4000
    kept = parse_digest(raw, "digest").works
    assert 0 < len(kept) < 30
    assert kept == digest.works[: len(kept)]


def test_of_files_that_are_too_large_together_the_small_ones_are_read(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = ShareFolder(fleet.path, "x")
    for at in range(20):
        raw = json.dumps(told(f"big{at}")).encode()
        folder.write(MEMBERS, f"big{at}.json", raw + b" " * 100_000)
    monkeypatch.setattr(roster_module, "MOST_TOTAL_BYTES", 320_000)
    for node in ("n0", "n1"):
        folder.write(MEMBERS, f"{node}.json", json.dumps(told(node)).encode())
    roster = Roster(folder)
    found = {file.node for file in roster.read(0.0)}
    assert {"n0", "n1"} <= found
    assert len(found) == 2 + 3
    assert len(roster.problems) == 1
    assert (fleet.path / MEMBERS / "big19.json").exists()


def test_a_file_that_is_replaced_while_it_is_read_is_read_at_the_next_look(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, listed = ShareFolder(fleet.path, "x"), ShareFolder.names
    folder.write(MEMBERS, "n9.json", json.dumps(told("n9")).encode())

    def replaced_since(self: ShareFolder, room: str) -> dict[str, Any]:
        found = listed(self, room)
        folder.write(MEMBERS, "n9.json", json.dumps(told("n9"), indent=1).encode())
        return found

    roster = Roster(folder)
    with monkeypatch.context() as patched:
        patched.setattr(ShareFolder, "names", replaced_since)
        assert roster.read(0.0) == []
    assert [file.node for file in roster.read(10.0)] == ["n9"]
    assert roster.problems == []
    assert list((fleet.path / ASIDE).iterdir()) == []


@pytest.mark.parametrize("off_s", [-10 * YEAR_S, YEAR_S])
def test_nodes_whose_clocks_are_wrong_scout_and_follow_like_others(fleet: Fleet, off_s: float) -> None:
    """Leases and looks go by clocks that do not jump; what the time of day is matters only for how old proofs are."""
    fleet.run(30.0)
    (scout,) = fleet.scouts()
    others = [one.node for one in fleet.members if one.node != scout]
    fleet.wall_s[others[0]] = off_s
    fleet.run(2 * LEASE_S)
    assert fleet.scouts() == [scout]
    fleet.gains[scout] = [(SMALL, gain(0.6))]
    fleet.run(4 * LOOK_S + FOLLOW_JITTER_S)
    assert all(fleet.proven(node) == [SMALL] for node in others)
    advice = fleet.advice[others[0]]
    assert advice is not None
    assert all(one.age_s >= 0.0 for one in advice.about(READS).proven)


def test_whose_clock_is_ahead_does_not_hide_when_work_was_explored() -> None:
    late = MemberWork(READS, "", {}, DAY_S + YEAR_S)
    right = MemberWork(READS, "", {}, DAY_S - 60.0)
    files = [MemberFile("n0", "1.0", (late,)), MemberFile("n1", "1.0", (right,))]
    (work,) = make_digest(files, 2, DAY_S - YEAR_S, DAY_S).works
    assert work.explored_s == DAY_S - 60.0


def test_two_nodes_of_one_name_say_so(fleet: Fleet) -> None:
    twin = fleet.member("n0")
    fleet.members.append(twin)
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(4 * WRITE_S)
    said = [problem for problem in fleet.problems() if "knowledge.node" in problem]
    assert said
    assert all("n0.json: another agent writes it, too" in problem for problem in said)


def test_agents_of_a_later_and_of_this_version_share_one_folder(fleet: Fleet) -> None:
    """What a later one writes stays untouched, and so this one's digest and leases are no later one's."""
    later = {"schema": "penstock-member", "version": 2, "node": "n9"}
    folder = ShareFolder(fleet.path, "n9")
    folder.write(MEMBERS, "n9.json", json.dumps(later).encode())
    folder.write(TOP, "digest-2.json", b'{"schema": "penstock-fleet", "version": 2}')
    folder.write(LEASES, "digest-2", b'{"token": "later"}')
    fleet.gains["n0"] = [(SMALL, gain(0.6))]
    fleet.run(10 * WRITE_S)
    assert fleet.proven("n3") == [SMALL]
    assert json.loads((fleet.path / MEMBERS / "n9.json").read_bytes()) == later
    assert (fleet.path / "digest-2.json").read_bytes() == b'{"schema": "penstock-fleet", "version": 2}'
    assert (fleet.path / LEASES / "digest-2").read_bytes() == b'{"token": "later"}'
    assert [said for said in fleet.problems() if "put aside" in said] == []


def test_a_node_that_went_back_to_this_version_writes_its_file_anew(fleet: Fleet) -> None:
    folder = ShareFolder(fleet.path, "n0")
    folder.write(MEMBERS, "n0.json", json.dumps({"schema": "penstock-member", "version": 2}).encode())
    again = fleet.member("n0")
    again.turn(findings((SMALL, gain(0.6)), now_s=1.0), "", 1.0, DAY_S)
    assert parse_member((fleet.path / MEMBERS / "n0.json").read_bytes(), "n0").works[0].kind.home == HOME
