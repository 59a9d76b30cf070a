"""Sizes and durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PenstockError, UsageError
from penstock.units import format_size, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("4", 4),
        ("4b", 4),
        ("4k", 4096),
        ("4K", 4096),
        ("4G", 4 << 30),
        ("4GiB", 4 << 30),
        ("4GB", 4 * 10**9),
        ("1.5MiB", 3 << 19),
        (" 16m ", 16 << 20),
        ("2TB", 2 * 10**12),
    ],
)
def test_size_is_read(text: str, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text", ["4Q", "-1", "1e400", "nan", "", "4 kb b", "k", "0x10", "4i", "٤", "9" * 400]
)
def test_size_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1y", "1e9", "nan", "inf"])
def test_duration_that_is_none_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="duration"):
        parse_duration(text)


@given(st.integers(0, 2**62), st.sampled_from(["", "k", "m", "g", "KiB", "MB"]))
def test_size_is_exact_for_whole_numbers(number: int, unit: str) -> None:
    factor = parse_size("1" + unit)
    if number * factor < 2**62:
        assert parse_size(f"{number}{unit}") == number * factor


@given(st.text())
def test_size_of_any_text_is_a_number_or_a_documented_error(text: str) -> None:
    try:
        assert parse_size(text) >= 0
    except PenstockError as error:
        assert repr(text) in str(error)


@given(st.integers(0, 2**50))
def test_size_printed_is_near_the_size_read(size_bytes: int) -> None:
    assert parse_size(format_size(size_bytes)) == pytest.approx(size_bytes, rel=1e-3)
