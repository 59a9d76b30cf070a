"""Every write that was recorded on a real client gets the same answer from a served one."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.rigs.served import Served

from penstock.emulate.stores import Rules, visible_bytes
from penstock.knobs import Setting
from penstock.spaces import lustre
from penstock.units import GIB, MIB

KNOBS = ("max_pages_per_rpc", "max_rpcs_in_flight", "max_dirty_mb")
START = {"max_pages_per_rpc": "1024", "max_rpcs_in_flight": "8", "max_dirty_mb": "490"}


def find(client: Served, name: str) -> Path:
    osc = client.osc()
    for place in ("sys/fs/lustre", "proc/fs/lustre"):
        path = client.root / place / "osc" / osc / name
        if path.exists():
            return path
    raise FileNotFoundError(name)


def store(path: Path, text: str) -> dict[str, Any]:
    fd = os.open(path, os.O_WRONLY)
    try:
        return {"written": os.write(fd, text.encode())}
    except OSError as error:
        return {"write_errno": errno.errorcode[error.errno or 0]}
    finally:
        os.close(fd)


def values(client: Served) -> dict[str, str]:
    return {name: find(client, name).read_text().strip() for name in KNOBS}


def rows(recorded: Path, kind: str) -> list[dict[str, Any]]:
    lines = (recorded / "actuation/stores.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if row["ev"] == kind]


def test_store_answers_every_recorded_write_as_the_kernel_did(client: Served, recorded: Path) -> None:
    compared = 0
    for row in rows(recorded, "set"):
        if row["value"] == "" and "write_errno" in row["result"]:
            # Linux itself answers a write of nothing before FUSE hears of it; see the test below.
            continue
        for name in KNOBS:
            store(find(client, name), row["before"] if name == row["param"] else START[name])
        assert values(client)[row["param"]] == row["before"].strip()
        got = store(find(client, row["param"]), row["value"])
        assert (got, values(client)) == (row["result"], row["tri"]), row
        compared += 1
    assert compared >= 82


def test_store_of_nothing_is_refused_where_the_recorded_kernel_did() -> None:
    old, new = (Rules(modern, visible_bytes(4.0)) for modern in (False, True))
    with pytest.raises(OSError, match="Invalid argument"):
        old.pages("", 1024, 1)
    with pytest.raises(OSError, match="Invalid argument"):
        new.pages("", 1024, 1)


def test_store_couples_dirty_as_recorded_step_by_step(client: Served, recorded: Path) -> None:
    sequence = None
    for row in rows(recorded, "bump"):
        if row["seq"] != sequence:
            sequence = row["seq"]
            for name in KNOBS:
                store(find(client, name), START[name])
        name, value = row["set"]
        got = store(find(client, name), value)
        assert (got, values(client)) == (row["result"], row["tri"]), row


def test_store_works_with_truncation_and_repeatedly(client: Served) -> None:
    path = find(client, "max_rpcs_in_flight")
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(fd, b"32\n")
        os.write(fd, b"64\n")
    finally:
        os.close(fd)
    assert path.read_text() == "64\n"
    path.write_text("16\n")
    assert path.read_text() == "16\n"


def test_store_refuses_pwrite_on_old_procfs_only(client: Served, layout: str) -> None:
    fd = os.open(find(client, "max_pages_per_rpc"), os.O_WRONLY)
    try:
        if layout == "2.15":
            with pytest.raises(OSError, match="Illegal seek"):
                os.pwrite(fd, b"64", 0)
        else:
            assert os.pwrite(fd, b"64", 0) == 2
    finally:
        os.close(fd)


def test_store_in_a_read_only_file_is_refused_even_for_root(client: Served) -> None:
    with pytest.raises(PermissionError):
        os.open(find(client, "cur_dirty_bytes"), os.O_WRONLY)


@pytest.mark.parametrize(
    ("text", "pages"), [("1M", 256), ("1MiB", 256), ("1.5M", 384), ("64K", 16), ("1048576", 256)]
)
def test_store_of_pages_reads_sizes(text: str, pages: int) -> None:
    for modern in (False, True):
        assert Rules(modern, visible_bytes(4.0)).pages(text, 1024, 1) == pages


def test_store_of_pages_is_rounded_up_to_the_chunk() -> None:
    assert Rules(True, visible_bytes(4.0)).pages("17", 1024, 16) == 32


def test_default_dirty_limit_is_an_eighth_of_memory_at_most_2000() -> None:
    assert Rules(True, visible_bytes(4.0)).default_dirty_mib() == 490
    assert Rules(True, visible_bytes(192.0)).default_dirty_mib() == 2000


memories = st.integers(64 * MIB // 4096, 512 * GIB // 4096).map(lambda pages: pages * 4096)


@given(memories, st.integers(1, 4096), st.integers(1, 256), st.integers(0, 8192))
@example(64 * GIB, 4096, 256, 2000)
@example(64 * GIB, 4096, 256, 0)
def test_coupling_of_the_product_is_that_of_the_served_client(
    ram_bytes: int, pages: int, flight: int, dirty: int
) -> None:
    rules, space = Rules(True, ram_bytes), lustre(ram_bytes, pages_ceiling=4096)
    now = Setting(pages=pages, flight=flight, dirty=dirty)
    for knob_id in ("pages", "flight"):
        left = space.store(now, knob_id, now[knob_id])
        assert left == now.replace(dirty=rules.adjusted_dirty(pages, flight, dirty))
    assert space.store(now, "dirty", dirty) == now
    assert space.default["dirty"] == rules.default_dirty_mib()


@given(memories, st.integers(0, 4096))
def test_product_knows_which_limits_the_served_client_refuses(ram_bytes: int, dirty: int) -> None:
    try:
        Rules(False, ram_bytes).dirty(str(dirty))
        accepted = True
    except OSError:
        accepted = False
    assert accepted == (dirty <= lustre(ram_bytes)["dirty"].ceiling)


@given(st.integers(1, 1024), st.sampled_from([1, 16, 64, 256]))
def test_product_rounds_pages_as_the_served_client_does(pages: int, chunk_pages: int) -> None:
    space = lustre(chunk_pages=chunk_pages)
    stored = space.store(space.default, "pages", pages)["pages"]
    assert stored == Rules(False, 64 * GIB).pages(str(pages), 1024, chunk_pages)


def test_product_couples_dirty_as_recorded_step_by_step(recorded: Path) -> None:
    ids = {"max_pages_per_rpc": "pages", "max_rpcs_in_flight": "flight", "max_dirty_mb": "dirty"}
    space = lustre(visible_bytes(4.0))
    now, sequence, compared = Setting(), None, 0
    for row in rows(recorded, "bump"):
        if row["seq"] != sequence:
            sequence, now = row["seq"], Setting(pages=1024, flight=8, dirty=490)
        name, value = row["set"]
        if "write_errno" not in row["result"]:
            now = space.store(now, ids[name], int(value))
            compared += 1
        assert now == Setting({ids[knob]: int(text) for knob, text in row["tri"].items()}), row
    assert compared >= 20
