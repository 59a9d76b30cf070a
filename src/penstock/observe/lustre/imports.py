"""`import` and `state`: the connection of an OSC to its server.

The text looks like YAML but is not: quoting and flag names differ between versions. Only keys on lines of their own
are used, and unknown ones are ignored.
"""

from __future__ import annotations

from penstock.errors import DataError
from penstock.observe.lustre.stats import check_whole


def find_connection(text: bytes, what: str = "import") -> tuple[str, int, int | None]:
    """The state, the connection's generation (it rises whenever the server forgot this client), and the bulk size.

    Raises `DataError` if the state or the generation is missing, because every version prints both.
    """
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
