"""The MPI-IO hints that we may write. MPI silently ignores a misspelt hint, so each is checked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.errors import UsageError, did_you_mean
from penstock.plan.storage import STRIPE_UNIT_BYTES

SWITCHES = ("romio_cb_read", "romio_cb_write", "romio_ds_read", "romio_ds_write")
COUNTS = (
    "cb_nodes",
    "cb_buffer_size",
    "striping_factor",
    "striping_unit",
    "start_iodevice",
    "ind_wr_buffer_size",
)
TEXTS = ("cb_config_list",)
MOST_PROMISED = 1000.0


def check_hint(name: str, value: str) -> None:
    """Refuse an unknown hint, and a value its hint cannot take."""
    known = (*SWITCHES, *COUNTS, *TEXTS)
    if name not in known:
        raise UsageError(f"unknown hint {name!r}{did_you_mean(name, known)}")
    if name in TEXTS and (not value or not value.isprintable() or " " in value):
        raise UsageError(f"hint {name} {value!r} is empty or holds white space")
    if name in SWITCHES and value not in {"enable", "disable", "automatic"}:
        raise UsageError(f"hint {name} {value!r} is not enable, disable or automatic")
    if name in COUNTS and not (value.isascii() and value.isdigit() and len(value) < 19):
        raise UsageError(f"hint {name} {value!r} is not a whole number")
    if name in {"cb_nodes", "cb_buffer_size"} and int(value) == 0:
        raise UsageError(f"hint {name} must not be 0")
    if name == "striping_unit" and (int(value) == 0 or int(value) % STRIPE_UNIT_BYTES):
        raise UsageError(f"hint striping_unit {value} is not a multiple of 64 KiB")


def parse_hints(words: Sequence[str]) -> dict[str, str]:
    """Hints given as `name=value`, each checked.

    >>> parse_hints(["romio_ds_write=disable"])
    {'romio_ds_write': 'disable'}
    """
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageError(f"hint {word!r} is not NAME=VALUE")
        check_hint(name, value)
        found[name] = value
    return found


PROMISE = "# penstock: promised to be so many times as fast: "


def hints_file(hints: Mapping[str, str], promised: float | None = None) -> str:
    """A ROMIO hints file, to be named in ROMIO_HINTS; what was promised of the hints is a comment in it.

    >>> parse_promise(hints_file({"cb_nodes": "2"}, 1.25))
    1.25
    """
    for name, value in hints.items():
        check_hint(name, value)
    lines = "".join(f"{name} {value}\n" for name, value in hints.items())
    return lines if promised is None else f"{PROMISE}{promised:.4f}\n{lines}"


def parse_promise(text: str) -> float | None:
    """The gain that a hints file says was promised, if it says so."""
    for line in text.splitlines():
        if line.startswith(PROMISE):
            try:
                found = float(line.removeprefix(PROMISE))
            except ValueError:
                return None
            return found if 0 < found < MOST_PROMISED else None
    return None
