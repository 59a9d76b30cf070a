"""A served mount's metadata knobs answer as a real client's did."""

from __future__ import annotations

import errno
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.emulate.served_client import MetadataFigures
from penstock.emulate.served_metadata import ServedMetadata
from penstock.spaces import mdc

RECORDED = Path(__file__).parent.parent / "fixtures" / "lustre-metadata" / "accepts.txt"
ERRORS = {os.strerror(number): number for number in (errno.ERANGE, errno.EINVAL)}
STORES = {
    "max_rpcs_in_flight": ServedMetadata.store_rpcs,
    "max_mod_rpcs_in_flight": ServedMetadata.store_mod_rpcs,
    "statahead_max": ServedMetadata.store_statahead,
}


def made() -> ServedMetadata:
    return ServedMetadata(
        MetadataFigures, lambda *_: None, wide=False, statahead=32, import_text="max_mod_rpcs: 8\n"
    )


def recorded() -> Iterator[tuple[str, str, int, dict[str, int]]]:
    """Each write: the file, the text, the error (0 for none), and what the knobs then read."""
    lines = RECORDED.read_text().splitlines()
    for said, after in itertools.pairwise(lines[1:]):
        match = re.fullmatch(r"write (\w+)=(\S+): (?:ok|refused \((.*)\))", said)
        if match:
            values = dict(re.findall(r"(max_rpcs|max_mod|statahead_max)=(\d+)", after))
            yield (
                match[1],
                match[2],
                ERRORS[match[3]] if match[3] else 0,
                {k: int(v) for k, v in values.items()},
            )


def test_store_answers_every_recorded_write_as_the_kernel_did() -> None:
    served, compared = made(), 0
    for file, text, error, after in recorded():
        found = 0
        try:
            STORES[file](served, f"{text}\n")
        except OSError as raised:
            found = raised.errno or 0
        assert found == error, (file, text)
        now = {"max_rpcs": served.rpcs, "max_mod": served.mod_rpcs, "statahead_max": served.statahead}
        assert after.items() <= now.items(), (file, text)
        compared += 1
    assert compared > 45


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
