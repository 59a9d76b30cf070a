"""A lease is held by one node, lasts as long as it is renewed, and passes on when its holder dies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.rigs.oddfiles import ODD, put

from penstock.agent.sharing.folder import LEASES, ShareFolder
from penstock.agent.sharing.leases import LEASE_S, LeaseBook


@pytest.fixture
def books(tmp_path: Path) -> list[LeaseBook]:
    path = tmp_path / "share"
    path.mkdir(mode=0o700)
    found = [LeaseBook(ShareFolder(path, name), name) for name in ("a", "b", "c")]
    found[0].folder.prepare()
    return found


def test_the_first_who_asks_has_it_and_keeps_it_while_it_renews(books: list[LeaseBook]) -> None:
    one, other, _ = books
    for now_s in range(0, int(5 * LEASE_S), 10):
        assert one.take("x", float(now_s))
        assert not other.take("x", float(now_s))


def test_a_dead_holders_lease_passes_to_one_other_after_a_while_of_no_change(books: list[LeaseBook]) -> None:
    dead, *others = books
    assert dead.take("x", 0.0)
    taken_s = None
    for now_s in range(1000, 1000 + int(3 * LEASE_S), 10):
        # Their clocks differ from the dead one's and from each other's.
        holds = [book.take("x", now_s + 5000.0 * at) for at, book in enumerate(others)]
        assert sum(holds) <= 1
        if any(holds) and taken_s is None:
            taken_s = now_s
    assert taken_s is not None
    assert taken_s - 1000 > LEASE_S
    assert sum("x" in book.held for book in others) == 1


def test_of_two_who_take_an_expired_lease_at_once_one_finds_it_lost(books: list[LeaseBook]) -> None:
    dead, one, other = books
    dead.take("x", 0.0)
    for now_s in (0.0, LEASE_S + 1.0):
        one.take("x", now_s)
    # The other one had looked before the first one wrote.
    other._seen["x"] = other.folder.read(LEASES, "x", 512), 0.0
    other.take("x", LEASE_S + 1.0)
    assert [one.take("x", LEASE_S + 10.0), other.take("x", LEASE_S + 10.0)] == [False, True]
    assert "x" not in one.held


def test_a_lease_that_is_given_back_is_free_at_once(books: list[LeaseBook]) -> None:
    one, other, _ = books
    one.take("x", 0.0)
    one.release("x")
    assert other.take("x", 1.0)
    one.release("x")
    assert other.take("x", 2.0)


def test_an_agent_that_was_started_anew_waits_like_anybody_else(books: list[LeaseBook]) -> None:
    before = books[0]
    before.take("x", 0.0)
    again = LeaseBook(before.folder, before.node)
    assert not again.take("x", 0.0)
    assert not again.take("x", LEASE_S + 1.0)
    assert again.take("x", LEASE_S + 2.0)


@pytest.mark.parametrize("raw", [b"", b"\x00" * 100, b"x" * 100_000, b'{"token": 5}'])
def test_what_is_no_lease_expires_like_one(books: list[LeaseBook], raw: bytes) -> None:
    one = books[0]
    one.folder.write(LEASES, "x", raw)
    assert not one.take("x", 0.0)
    assert not one.take("x", LEASE_S + 1.0)
    assert one.take("x", LEASE_S + 2.0)


@pytest.mark.parametrize("odd", ODD)
def test_what_is_no_file_does_not_keep_a_lease_from_everybody(
    odd: str, books: list[LeaseBook], tmp_path: Path
) -> None:
    place = books[0].folder.path / LEASES / "x"
    (tmp_path / "victim").write_bytes(b"victim")
    put(odd, place, tmp_path / "victim")
    assert not books[0].take("x", 0.0)
    books[0].take("x", LEASE_S + 1.0)
    assert books[0].take("x", LEASE_S + 2.0)
    assert (tmp_path / "victim").read_bytes() == b"victim"
