"""A served mount's readahead knobs answer as a real client's did."""

from __future__ import annotations

import errno

import pytest

from penstock.emulate.served_readahead import ServedReadahead
from penstock.emulate.stores import Rules, visible_bytes
from penstock.knobs import Setting
from penstock.spaces import readahead

START = Setting(ahead_total=122, ahead_file=30, ahead_whole=30, ahead_async=30)
FILES = {
    "ahead_total": ServedReadahead.store_total,
    "ahead_file": ServedReadahead.store_file,
    "ahead_whole": ServedReadahead.store_whole,
    "ahead_async": ServedReadahead.store_async,
}


def made() -> tuple[ServedReadahead, list[Setting]]:
    told: list[Setting] = []
    return ServedReadahead(Rules(modern=False, ram_bytes=visible_bytes(4.0)), told.append, START), told


def number_of(store: object, served: ServedReadahead, text: str) -> int:
    """The errno of a write; 0 if it was taken."""
    try:
        store(served, text)  # type: ignore[operator]
    except OSError as error:
        return error.errno or 0
    return 0


@pytest.mark.parametrize(
    ("knob_id", "text", "error", "value"),
    [
        ("ahead_total", "0\n", 0, 0),
        ("ahead_total", "1956\n", 0, 1956),
        ("ahead_total", "1957\n", errno.ERANGE, 122),
        ("ahead_total", "1.5M", 0, 2),
        ("ahead_total", "-1", errno.EINVAL, 122),
        ("ahead_total", "many", errno.EINVAL, 122),
        ("ahead_file", "122", 0, 122),
        ("ahead_file", "123", errno.ERANGE, 30),
        ("ahead_file", "1G", errno.ERANGE, 30),
        ("ahead_whole", "31", errno.ERANGE, 30),
        ("ahead_whole", "2", 0, 2),
        ("ahead_async", "31", errno.ERANGE, 30),
        ("ahead_async", "4", 0, 4),
        ("ahead_async", "1.5", errno.EINVAL, 30),
    ],
)
def test_store_takes_and_refuses(knob_id: str, text: str, error: int, value: int) -> None:
    served, told = made()
    assert number_of(FILES[knob_id], served, text) == error
    assert served.setting == START.replace({knob_id: value})
    assert served.text(knob_id) == f"{value}\n"
    assert told == ([] if error else [served.setting])


def test_lowering_the_outer_knob_lowers_nothing() -> None:
    served, _ = made()
    served.store_total("16")
    assert served.setting == START.replace(ahead_total=16)
    assert number_of(ServedReadahead.store_file, served, "17") == errno.ERANGE
    served.store_file("8")
    assert served.setting == START.replace(ahead_total=16, ahead_file=8)


def test_store_agrees_with_the_space_on_every_candidate() -> None:
    space = readahead(visible_bytes(4.0))
    served, _ = made()
    for one in space.candidates():
        for knob_id, value in one.items():
            assert number_of(FILES[knob_id], served, str(value)) == 0
        assert served.setting.only(*one) == one
