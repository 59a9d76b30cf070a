"""Text from outside, as it may be shown: nothing in it moves a cursor, changes a terminal or begins a line.

Paths, names and messages are kept as they are. They are escaped once, where they leave: in the log's formatter and in
the streams of the command line.
"""

from __future__ import annotations

import io
import re
import sys
from typing import Any

# Control characters of both tables, line and paragraph separators, marks that reorder or hide text, lone surrogates.
_REST = "\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
_IN_A_LINE = re.compile(f"[\x00-\x1f{_REST}]")
_IN_LINES = re.compile(f"[\x00-\x08\x0b\x0c\x0e-\x1f{_REST}]")


def line(text: str) -> str:
    r"""One line: whatever would end it or act on a terminal is written as an escape.

    >>> line("a\x1b[2Jb\nc\u2028d")
    'a\\x1b[2Jb\\x0ac\\u2028d'
    """
    return _IN_A_LINE.sub(_escape, text)


def lines(text: str) -> str:
    """As `line`, but newline, carriage return and tab stay: the caller laid the text out."""
    return _IN_LINES.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


class ShownStream(io.TextIOWrapper):
    """A text stream that escapes what would act on a terminal."""

    def write(self, text: str, /) -> int:
        return super().write(lines(text))

    def __del__(self) -> None:
        # What lies below belongs to somebody else, who may still write to it.
        # No module is sure to be there any more when the interpreter ends.
        try:  # noqa: SIM105
            self.detach()
        except (ValueError, OSError):
            pass


class LaidOut:
    """The same stream for a writer that has escaped its text and adds control sequences of its own."""

    def __init__(self, stream: ShownStream) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return io.TextIOWrapper.write(self._stream, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_streams() -> None:
    """Escape everything that is written to stdout and stderr from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, ShownStream):
            guarded = ShownStream(
                stream.buffer,
                encoding=stream.encoding,
                errors="backslashreplace",
                line_buffering=stream.line_buffering,
                write_through=stream.write_through,
            )
            setattr(sys, name, guarded)
