"""A served mount's metadata knobs answer as a real client's did."""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.rigs.served import SteadyClient

from penstock.emulate.served_client import MetadataFigures
from penstock.emulate.served_metadata import ServedMetadata
from penstock.emulate.served_node import NodePlan, ServedNode
from penstock.emulate.treelayout import load_layout
from penstock.spaces import mdc

RECORDED = Path(__file__).parent.parent / "fixtures" / "lustre-metadata" / "accepts.txt"
ERRORS = {os.strerror(number): number for number in (errno.ERANGE, errno.EINVAL)}
SHORT = {
    "max_rpcs": "max_rpcs_in_flight",
    "max_mod": "max_mod_rpcs_in_flight",
    "agl": "statahead_agl",
    "running_max": "statahead_running_max",
    "ra_mb": "max_read_ahead_mb",
    "per_file": "max_read_ahead_per_file_mb",
    "whole": "max_read_ahead_whole_mb",
    "async_active": "max_read_ahead_async_active",
}
STORES = {
    "max_rpcs_in_flight": ServedMetadata.store_rpcs,
    "max_mod_rpcs_in_flight": ServedMetadata.store_mod_rpcs,
}


def made() -> ServedMetadata:
    return ServedMetadata(
        MetadataFigures, lambda *_: None, wide=False, statahead=32, import_text="max_mod_rpcs: 8\n"
    )


def recorded() -> Iterator[tuple[str, str, int, dict[str, str]]]:
    """Each write: the file, the text, the error (0 for none), and what files read then, if that was looked up."""
    lines = RECORDED.read_text().splitlines()
    for said, after in itertools.pairwise([*lines, ""]):
        match = re.fullmatch(r"write (\w+)=(\S+): (?:ok|refused \((.*)\))", said)
        if match:
            values = dict(re.findall(r"(\w+)=(\d+)", after)) if after.strip().startswith("->") else {}
            alone = re.fullmatch(r" *-> (\d+)", after)
            if alone:
                values = {match[1]: alone[1]}
            yield match[1], match[2], ERRORS[match[3]] if match[3] else 0, values


def test_tree_answers_every_recorded_write_as_the_kernel_did() -> None:
    # The recorded machine had one processor and 4 GiB.
    node = ServedNode(NodePlan(load_layout("2.15"), 1, 4.0, cores=1), SteadyClient())
    files = {
        path.rpartition("/")[2]: file
        for path, file in node.tree.files.items()
        if "/mdc/" in path or "/llite/" in path
    }
    compared = looked_up = 0
    for name, text, error, after in recorded():
        found = 0
        try:
            files[name].store(f"{text}\n")
        except OSError as raised:
            found = raised.errno or 0
        assert found == error, (name, text)
        for short, value in after.items():
            assert files[SHORT.get(short, short)].text() == f"{value}\n", (name, text, short)
            looked_up += 1
        compared += 1
    assert compared == 117
    assert looked_up > 200


@pytest.mark.parametrize("start", [(8, 7), (64, 63), (2, 1)])
def test_store_has_the_side_effects_that_the_space_declares(start: tuple[int, int]) -> None:
    space = mdc(511)
    for file, knob_id, value in (
        ("max_rpcs_in_flight", "rpcs", 4),
        ("max_rpcs_in_flight", "rpcs", 128),
        ("max_mod_rpcs_in_flight", "mod_rpcs", 3),
        ("max_mod_rpcs_in_flight", "mod_rpcs", 100),
    ):
        served = made()
        served.rpcs, served.mod_rpcs, served.server_limit = *start, 128
        before = space.default.replace(rpcs=served.rpcs, mod_rpcs=served.mod_rpcs)
        STORES[file](served, str(value))
        assert dict(space.store(before, knob_id, value)) == {"rpcs": served.rpcs, "mod_rpcs": served.mod_rpcs}


def test_import_says_what_the_server_allows() -> None:
    served = made()
    served.server_limit = 16
    assert served.connection() == "max_mod_rpcs: 16\n"
