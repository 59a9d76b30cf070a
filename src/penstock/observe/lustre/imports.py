"""`import` and `state`: how an OSC is connected to its server.

The text looks like YAML and is not: quoting and flag names differ between versions. Only keys on lines of
their own are used, and unknown ones are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import DataError
from penstock.observe.lustre.stats import check_whole


@dataclass(frozen=True, slots=True)
class Import:
    """The connection: its state, and the generation that rises whenever the server forgot this client."""

    state: str
    generation: int
    max_brw_bytes: int | None
    in_flight: int | None
    wait_us: int | None
    server_version: str | None


def parse_import(text: bytes, what: str = "import") -> Import:
    """Raise `DataError` where the state or the generation is missing: both are printed by every version."""
    state, generation, max_brw_bytes = find_connection(text, what)
    version = find_value(text, b" target_version:")
    return Import(
        state=state,
        generation=generation,
        max_brw_bytes=max_brw_bytes,
        in_flight=_number(text, b" inflight:", what),
        wait_us=_number(text, b" avg_waittime:", what),
        server_version=version.decode("utf-8", "replace") if version else None,
    )


def find_connection(text: bytes, what: str = "import") -> tuple[str, int, int | None]:
    """State, generation and negotiated bulk size alone: what every probe needs of an import."""
    check_whole(text, what)
    state = find_value(text, b" state:")
    generation = _number(text, b" generation:", what)
    if not state or generation is None:
        raise DataError(f"{what}: no {'generation' if state else 'state'}")
    return state.decode("utf-8", "replace"), generation, _number(text, b" max_brw_size:", what)


def parse_state(text: bytes, what: str = "state") -> str:
    """The current state from a `state` file, for clients whose `import` cannot be read."""
    check_whole(text, what)
    value = find_value(b"\n" + text, b"\ncurrent_state:")
    if not value:
        raise DataError(f"{what}: no current_state")
    return value.decode("utf-8", "replace")


def find_value(text: bytes, key: bytes) -> bytes:
    """The first word after a key at its first place; empty where there is none."""
    at = text.find(key)
    if at < 0:
        return b""
    words = text[at + len(key) : text.find(b"\n", at + len(key))].split(None, 1)
    return words[0] if words else b""


def _number(text: bytes, key: bytes, what: str) -> int | None:
    word = find_value(text, key)
    if not word:
        return None
    try:
        return int(word)
    except ValueError:
        raise DataError(f"{what}:{key.decode()} {word!r} is not a number") from None
