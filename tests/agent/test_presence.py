"""What happens to targets is noticed once, and told apart."""

from __future__ import annotations

import pytest

from penstock.agent.discovery import Discovered, sentences
from penstock.agent.names import resolve, short_names
from penstock.agent.presence import Presence
from penstock.errors import MissingError
from penstock.knobs import Setting
from penstock.snapshot import NodeSnapshot, Problem, Target, TargetSnapshot

A, B = (Target(f"scratch-OST000{i}-osc-ff01", "scratch", f"OST000{i}") for i in range(2))


def look(*targets: Target, state: str = "FULL", problems: tuple[Problem, ...] = ()) -> NodeSnapshot:
    return NodeSnapshot(
        0.0,
        tuple(TargetSnapshot(target, 0.0, Setting(), state=state) for target in targets),
        problems=problems,
    )


def test_presence_tells_what_happened_and_says_it_once() -> None:
    presence = Presence()
    assert presence.note(look(A, B)) == ()
    assert presence.note(look(A, B)) == ()
    (gone,) = presence.note(look(A))
    assert (gone.what, gone.targets) == ("vanished", (B.name,))
    (back,) = presence.note(look(A, B))
    assert back.what == "back"
    (lost,) = presence.note(look(A, B, state="DISCONN"))
    assert (lost.what, lost.sentence[:9]) == ("lost", "2 targets")
    assert presence.note(look(A, B, state="REPLAY")) == ()
    (again,) = presence.note(look(A, B))
    assert again.what == "connected"


def test_presence_does_not_call_gone_what_cannot_be_read() -> None:
    presence = Presence()
    presence.note(look(A, B))
    stale = Problem(B.name, "its counters do not answer: stale")
    assert presence.note(look(A, problems=(stale,))) == ()
    assert presence.note(look(A, B)) == ()


def test_presence_keeps_a_thousand_targets_in_one_line() -> None:
    many = [Target(f"scratch-OST{i:04x}-osc-ff01", "scratch", f"OST{i:04x}") for i in range(1000)]
    presence = Presence()
    presence.note(look(*many))
    (gone,) = presence.note(look())
    assert len(gone.sentence) < 250
    assert "997 more" in gone.sentence


def test_short_names_are_used_only_where_one_target_can_be_meant() -> None:
    twin = Target("scratch-OST0001-osc-ff02", "scratch", "OST0001")
    assert short_names([A, B, twin]) == {A: "scratch-OST0000", B: B.name, twin: twin.name}
    assert resolve("scratch-OST0000", [A, B, twin]) == A.name
    assert resolve("scratch", [A]) == "scratch"
    with pytest.raises(MissingError, match='did you mean "scratch-OST0000"'):
        resolve("scratch-OST000", [A])


def test_a_name_near_nothing_is_answered_with_what_there_is() -> None:
    with pytest.raises(MissingError, match=r"there is scratch-OST0000, scratch-OST0000-osc-ff01, scratch$"):
        resolve("elsewhere", [A])
    with pytest.raises(MissingError, match="there is none at all"):
        resolve("elsewhere", [])


def test_what_may_be_set_is_said_once_for_a_thousand_targets() -> None:
    many = [Discovered(f"scratch-OST{i:04x}-osc-ff01", "scratch", ("pages", "flight")) for i in range(1000)]
    odd = Discovered("scratch-OST03e8-osc-ff01", "scratch", why="outside [scope] of the configuration")
    alike, alone = sentences([*many[:500], odd, *many[500:]])
    assert alike.startswith("scratch (1000 targets: scratch-OST0000-osc-ff01, ")
    assert alike.endswith(" and 997 more): may set pages, flight")
    assert alone == odd.sentence
