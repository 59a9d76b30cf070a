"""What tuning brings in other worlds, case by case: kinds of work as they look untuned, and the gain."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from penstock.errors import DataError

SCHEMA, VERSION = "penstock-tuned-cases", 1
SHIPPED = Path(__file__).parent / "tuned_cases.json"
MOST_BYTES, MOST_CASES = 4 << 20, 20_000


@dataclass(frozen=True, slots=True)
class TunedCase:
    """One client's work in one world: what it looks like untuned (`penstock.decide.look`), and what tuning brings."""

    origin: str
    work: str
    look: tuple[float, ...]
    gain_log2: float
    weight: float = 1.0


_Log2 = Annotated[float, Field(ge=-64, le=64)]


class _CasePart(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    origin: Annotated[str, Field(max_length=100)]
    work: Literal["read", "write", "both"]
    look: Annotated[list[_Log2], Field(max_length=3)]
    gain_log2: _Log2
    weight: Annotated[float, Field(gt=0, le=1000)]


class _CasesFile(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    schema_name: Annotated[Literal["penstock-tuned-cases"], Field(alias="schema")]
    version: Literal[1]
    source: Annotated[str, Field(max_length=500)]
    cases: Annotated[list[_CasePart], Field(min_length=1, max_length=MOST_CASES)]


@cache
def shipped_cases() -> tuple[TunedCase, ...]:
    """The cases of the package."""
    return parse_cases(SHIPPED.read_bytes(), str(SHIPPED))


def dump_cases(cases: Sequence[TunedCase], source: str) -> bytes:
    """One case a line, so that a change of the file can be read."""
    head = {"schema": SCHEMA, "version": VERSION, "source": source}
    lines = ",\n".join(json.dumps(_fields(case), allow_nan=False) for case in cases)
    return f'{json.dumps(head)[:-1]}, "cases": [\n{lines}\n]}}\n'.encode()


def parse_cases(raw: bytes, where: str) -> tuple[TunedCase, ...]:
    """What `dump_cases` wrote; raises `DataError` for anything else."""
    if len(raw) > MOST_BYTES:
        raise DataError(f"{where}: larger than {MOST_BYTES} bytes")
    try:
        found = _CasesFile.model_validate(json.loads(raw))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DataError(f"{where}: {'.'.join(map(str, first['loc']))!a}: {first['msg']}") from None
    except (ValueError, RecursionError):
        raise DataError(f"{where}: damaged: not JSON") from None
    return tuple(
        TunedCase(one.origin, one.work, tuple(one.look), one.gain_log2, one.weight) for one in found.cases
    )


def _fields(case: TunedCase) -> dict[str, Any]:
    return {
        "origin": case.origin,
        "work": case.work,
        "look": [round(value, 3) for value in case.look],
        "gain_log2": round(case.gain_log2, 4),
        "weight": case.weight,
    }
