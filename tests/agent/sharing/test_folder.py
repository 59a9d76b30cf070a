"""What others put into the shared folder is not followed, not waited for and not believed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.rigs.oddfiles import ODD, put

from penstock.agent.sharing.folder import ASIDE, LEASES, MEMBERS, TOP, ShareFolder
from penstock.errors import AccessError, DataError, MissingError


@pytest.fixture
def folder(tmp_path: Path) -> ShareFolder:
    path = tmp_path / "share"
    path.mkdir(mode=0o700)
    found = ShareFolder(path, "n1")
    found.prepare()
    return found


def test_a_file_is_replaced_in_one_step_and_leaves_nothing_beside(folder: ShareFolder) -> None:
    folder.write(MEMBERS, "n1.json", b"one")
    before = folder.signature(MEMBERS, "n1.json")
    folder.write(MEMBERS, "n1.json", b"two")
    assert folder.read(MEMBERS, "n1.json", 100) == b"two"
    assert folder.signature(MEMBERS, "n1.json") != before
    assert [path.name for path in (folder.path / MEMBERS).iterdir()] == ["n1.json"]


def test_what_a_killed_writer_left_beside_is_no_hindrance(folder: ShareFolder) -> None:
    (folder.path / MEMBERS / ".n1.tmp").write_bytes(b"half")
    folder.write(MEMBERS, "n1.json", b"whole")
    assert folder.names(MEMBERS).keys() == {"n1.json"}


def test_only_one_makes_a_file_that_is_not_there(folder: ShareFolder) -> None:
    other = ShareFolder(folder.path, "n2")
    assert [folder.create(LEASES, "x", b"1"), other.create(LEASES, "x", b"2")] == [True, False]
    assert other.read(LEASES, "x", 10) == b"1"


def test_a_touch_shows_and_says_whether_the_file_is_there(folder: ShareFolder) -> None:
    assert not folder.touch(MEMBERS, "n1.json")
    folder.write(MEMBERS, "n1.json", b"one")
    os.utime(folder.path / MEMBERS / "n1.json", (1.0, 1.0))
    before = folder.signature(MEMBERS, "n1.json")
    assert folder.touch(MEMBERS, "n1.json")
    assert folder.signature(MEMBERS, "n1.json") != before


def test_what_is_no_file_is_not_read_and_can_be_put_aside(folder: ShareFolder, tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    for odd in ODD:
        put(odd, folder.path / MEMBERS / f"{odd}.json", tmp_path / "secret")
        with pytest.raises(DataError, match="not a file"):
            folder.read(MEMBERS, f"{odd}.json", 100)
        assert folder.put_aside(MEMBERS, f"{odd}.json")
    assert folder.names(MEMBERS) == {}
    assert (tmp_path / "secret").read_bytes() == b"secret"


def test_a_link_in_the_place_of_our_file_is_replaced_and_not_followed(
    folder: ShareFolder, tmp_path: Path
) -> None:
    (tmp_path / "victim").write_bytes(b"victim")
    (folder.path / MEMBERS / "n1.json").symlink_to(tmp_path / "victim")
    (folder.path / MEMBERS / ".n1.tmp").symlink_to(tmp_path / "victim")
    folder.write(MEMBERS, "n1.json", b"ours")
    assert (tmp_path / "victim").read_bytes() == b"victim"
    assert folder.read(MEMBERS, "n1.json", 100) == b"ours"


def test_no_more_is_read_than_one_byte_beyond_the_limit(folder: ShareFolder) -> None:
    folder.write(MEMBERS, "n2.json", b"x" * 1000)
    assert len(folder.read(MEMBERS, "n2.json", 10)) == 11


def test_files_that_others_may_write_are_not_believed(folder: ShareFolder) -> None:
    folder.write(MEMBERS, "n2.json", b"{}")
    (folder.path / MEMBERS / "n2.json").chmod(0o666)
    with pytest.raises(DataError, match="others may write it"):
        folder.read(MEMBERS, "n2.json", 100)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a file to somebody else")
def test_files_of_somebody_else_than_the_folders_owner_are_not_believed(folder: ShareFolder) -> None:
    folder.write(MEMBERS, "n2.json", b"{}")
    os.chown(folder.path / MEMBERS / "n2.json", 65534, 65534)
    with pytest.raises(DataError, match="belongs to uid 65534"):
        folder.read(MEMBERS, "n2.json", 100)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder to somebody else")
def test_a_folder_of_the_squashed_user_works_where_all_files_are_that_users(folder: ShareFolder) -> None:
    folder.write(MEMBERS, "n2.json", b"{}")
    for path in (folder.path, *folder.path.rglob("*")):
        os.chown(path, 65534, 65534)
    assert folder.read(MEMBERS, "n2.json", 100) == b"{}"


def test_a_folder_that_others_may_write_is_refused(folder: ShareFolder) -> None:
    folder.path.chmod(0o770)
    with pytest.raises(AccessError, match="others may write it"):
        folder.names(MEMBERS)
    folder.path.chmod(0o700)
    (folder.path / LEASES).chmod(0o777)
    with pytest.raises(AccessError, match="leases"):
        folder.names(LEASES)


def test_a_room_that_is_a_link_is_refused(folder: ShareFolder, tmp_path: Path) -> None:
    (folder.path / ASIDE).rmdir()
    (folder.path / ASIDE).symlink_to(tmp_path)
    with pytest.raises(DataError, match="not a folder of ours"):
        folder.names(ASIDE)


def test_a_folder_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="no such folder"):
        ShareFolder(tmp_path / "none", "n1").signature(TOP, "digest-1.json")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to give a folder to somebody else")
def test_a_folder_whose_owner_this_node_does_not_write_as_is_refused_and_stays_empty(
    folder: ShareFolder,
) -> None:
    for path in (folder.path, *folder.path.rglob("*")):
        os.chown(path, 65534, 65534)
    with pytest.raises(AccessError, match="belongs to uid 65534"):
        folder.write(MEMBERS, "n1.json", b"{}")
    with pytest.raises(AccessError, match="nobody would believe it"):
        folder.create(LEASES, "x", b"{}")
    assert [path.name for room in (MEMBERS, LEASES) for path in (folder.path / room).iterdir()] == []
