"""JSON files of ours that others may have touched: data only, bounded, refused as a whole where anything is wrong."""

from __future__ import annotations

import json
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from penstock.errors import DataError


class FilePart(BaseModel):
    """A part of such a file."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class NewerVersionError(DataError):
    """A later Penstock wrote it: nothing is wrong with the file."""


PartT = TypeVar("PartT", bound=FilePart)


def checked(raw: bytes, where: str, most_bytes: int, schema: tuple[str, int], model: type[PartT]) -> PartT:
    """A file of this schema and version; raises `DataError` for anything else."""
    name, version = schema
    if len(raw) > most_bytes:
        raise DataError(f"{where}: larger than {most_bytes} bytes")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        raise DataError(f"{where}: damaged: not JSON") from None
    if not isinstance(document, dict) or document.get("schema") != name:
        raise DataError(f"{where}: not a file of schema {name}")
    theirs = document.get("version")
    if isinstance(theirs, int) and theirs > version:
        raise NewerVersionError(
            f"{where}: version {theirs} of a newer Penstock, this one reads up to {version}"
        )
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part)[:40] for part in first["loc"])
        raise DataError(f"{where}: {place!a}: {first['msg']}") from None
