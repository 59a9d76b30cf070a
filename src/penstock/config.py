"""Configuration: TOML in, validated frozen sections out, every refusal located in its file.

Unknown keys are errors that name the nearest legal key. Nothing is executed and nothing is guessed.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from penstock.errors import ConfigError, PenstockError, did_you_mean, unreadable
from penstock.trusted import WritableByAllError, contents, names_in_own, read_own
from penstock.units import parse_duration, parse_size

MAX_CONFIG_BYTES = 1_000_000
# As many mistakes as one line can bear.
MOST_NAMED = 12
# What the checking library calls a mistake -> what a value must be.
_WORDS = {
    "greater_than": "must be above {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list"),
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "must be a table"),
    "string_type": "must be text in quotes",
}


class Section(BaseModel):
    """One table of a file: frozen, strict about types, refusing unknown keys, NaN and infinity."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def spoken_size(value: object) -> object:
    """Text with a unit as bytes; anything else as it is."""
    return _spoken(parse_size, value)


def _duration(value: object) -> object:
    return _spoken(parse_duration, value)


def _spoken(parse: Any, value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)
    except PenstockError as error:
        raise ValueError(str(error)) from error


Size = Annotated[int, BeforeValidator(spoken_size)]
Duration = Annotated[float, BeforeValidator(_duration)]
SectionT = TypeVar("SectionT", bound=Section)


def load(path: Path, schema: type[SectionT]) -> SectionT:
    """Read, parse and validate one file. Raises exactly one located, one-line error."""
    return parse(read(path), schema, str(path))


def load_layered(path: Path, schema: type[SectionT]) -> SectionT:
    """Like `load`, of the document that `layered` gives."""
    return validate(layered(path), schema, str(path))


def layered(path: Path) -> dict[str, Any]:
    """A parsed file with the drop-ins `PATH.d/*.toml` over it, in the order of their names.

    A drop-in may override the main file. Two drop-ins that give one key different values are an error: which
    of them somebody meant cannot be known. Only root or this user may be able to write the files, the directory of
    the drop-ins, and every directory above them.
    """
    document = _parsed(read(path, own=True), str(path))
    origin: dict[str, Path] = {}
    for extra in _drop_ins(Path(f"{path}.d")):
        for key, value in _flat(_parsed(read(extra, own=True), str(extra))):
            known = _get(document, key)
            if key in origin and known != value:
                raise ConfigError(f"{extra}: key {key!r} contradicts {origin[key]}; keep one of them")
            origin[key] = extra
            _put(document, key, value)
    return document


def _drop_ins(directory: Path) -> list[Path]:
    try:
        names = names_in_own(directory)
    except OSError as error:
        raise unreadable(directory, error, ConfigError) from None
    return [directory / name for name in names if name.endswith(".toml") and not name.startswith(".")]


def read(path: Path, *, own: bool = False) -> str:
    """The text of a configuration file, refused when it is not a plain, private, sanely sized UTF-8 file.

    With `own`, nobody but root and this user may have written it.
    """
    try:
        if own:
            status, raw = read_own(path, MAX_CONFIG_BYTES + 1)
        else:
            # A pipe is not waited for.
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            status, raw = contents(handle, MAX_CONFIG_BYTES + 1)
    except WritableByAllError:
        raise _writable_by_all(path) from None
    except OSError as error:
        raise unreadable(path, error, ConfigError) from None
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError(f"{path}: not a regular file")
    if status.st_mode & stat.S_IWOTH:
        raise _writable_by_all(path)
    if len(raw) > MAX_CONFIG_BYTES:
        size = max(status.st_size, len(raw))
        raise ConfigError(f"{path}: {size} bytes; a configuration has at most {MAX_CONFIG_BYTES}")
    return _decode(raw, str(path))


def _writable_by_all(path: Path) -> ConfigError:
    return ConfigError(f"{path}: writable by everyone; chmod o-w it before it is trusted")


def parse(text: str, schema: type[SectionT], source: str) -> SectionT:
    """Validate TOML text; `source` names it in errors."""
    return validate(_parsed(text, source), schema, source, text)


def validate(document: Mapping[str, Any], schema: type[SectionT], source: str, text: str = "") -> SectionT:
    """Turn a parsed document into its section; everything wrong with it is reported at once, in one line."""
    try:
        return schema.model_validate(document)
    except ValidationError as error:
        found = error.errors()
        missing = [_key(each) for each in found if each["type"] == "missing"]
        said = [_describe(each, schema, text) for each in found if each["type"] != "missing"]
        if missing:
            words = "key {} is missing" if len(missing) == 1 else "keys {} are missing"
            said.append(words.format(", ".join(map(repr, missing[:MOST_NAMED]))) + _rest(missing))
        raise ConfigError(f"{source}: {'; '.join(said[:MOST_NAMED])}{_rest(said)}") from None


def _parsed(text: str, source: str) -> dict[str, Any]:
    if not text.strip():
        raise ConfigError(f"{source}: empty")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from None
    except ValueError:
        # Python reads no number of so many digits.
        raise ConfigError(f"{source}: not valid TOML: a number with thousands of digits") from None
    except RecursionError:
        raise ConfigError(f"{source}: nested too deeply") from None


def _flat(document: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _get(document: Mapping[str, Any], key: str) -> Any:
    found: Any = document
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _put(document: dict[str, Any], key: str, value: Any) -> None:
    *tables, name = key.split(".")
    for table in tables:
        inner = document.setdefault(table, {})
        if not isinstance(inner, dict):
            inner = document[table] = {}
        document = inner
    document[name] = value


def _decode(raw: bytes, source: str) -> str:
    if raw.startswith(b"\xef\xbb\xbf"):
        raise ConfigError(f"{source}: starts with a byte order mark; save it as plain UTF-8")
    if b"\0" in raw:
        raise ConfigError(f"{source}: contains a NUL byte at offset {raw.index(0)}")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{source}: not UTF-8 at byte {error.start}") from None


def _key(error: ErrorDetails) -> str:
    return ".".join(str(part) for part in error["loc"])


def _rest(found: Sequence[str]) -> str:
    """How many more there are than a line can bear."""
    return f" (and {len(found) - MOST_NAMED} more)" if len(found) > MOST_NAMED else ""


def _describe(error: ErrorDetails, schema: type[BaseModel], text: str) -> str:
    key = _key(error)
    where = _line_of(error["loc"], text)
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, list(_keys(schema)), n=1, cutoff=0.5)
        return f"unknown key {key!r}{where}" + (f'; did you mean "{near[0]}"?' if near else "")
    message = _plain_words(error)
    if not key:
        return message
    given = _short(error["input"])
    told = "" if isinstance(error["input"], str) and given in message else f", got {given}"
    return f"key {key!r}{where}: {message}{told}{_nearest(error)}"


def _nearest(error: ErrorDetails) -> str:
    """The legal word that was probably meant, where only certain words are legal."""
    if error["type"] != "literal_error" or not isinstance(error["input"], str):
        return ""
    return did_you_mean(error["input"].lower(), re.findall("'([^']*)'", error["ctx"]["expected"]))


def _plain_words(error: ErrorDetails) -> str:
    """What a value must be, without the words of the library that checks it."""
    given = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in error.get("ctx", {}).items()
    }
    kind = error["type"]
    if kind in _WORDS:
        return _WORDS[kind].format(**given)
    message = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return message[:1].lower() + message[1:]


def _short(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."


def _keys(schema: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in schema.model_fields.items():
        yield prefix + name
        for inner in _sections(field):
            yield from _keys(inner, f"{prefix}{name}.")


def _sections(field: FieldInfo) -> Iterator[type[BaseModel]]:
    waiting: list[Any] = [field.annotation]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield kind
        else:
            waiting.extend(getattr(kind, "__args__", ()))


def _line_of(location: tuple[int | str, ...], text: str) -> str:
    names = [part for part in location if isinstance(part, str)]
    if not names:
        return ""
    pattern = re.compile(rf"\s*(\[+\s*)?([\w.\"-]+\.)?\"?{re.escape(names[-1])}\"?\s*[\]=.]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if pattern.match(line)]
    return f" (line {lines[0]})" if len(lines) == 1 else ""
