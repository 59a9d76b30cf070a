"""Where files lie: which OST holds each stream's file, and which files of several clients are one object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from penstock.errors import UsageError
from penstock.simulate.kernel.records import PAGE


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """An object as one client sees it. Files with the same `home` (the first of them) are the same object."""

    osc: int
    client: int
    pages: int
    written: bool
    cached: int
    home: int
    shared: bool = False


@dataclass(frozen=True, slots=True)
class FileWish:
    """What one stream asks for: a file of its own, or by its name one that others may use too."""

    client: int
    ost: int
    file_bytes: int
    cache_bytes: int
    written: bool
    shared: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """All files, and which of them each stream works on."""

    files: tuple[PlacedFile, ...]
    of_stream: tuple[int, ...]

    def by_osc(self) -> dict[int, list[PlacedFile]]:
        """The files of every OSC that has any."""
        found: dict[int, list[PlacedFile]] = {}
        for file in self.files:
            found.setdefault(file.osc, []).append(file)
        return found


def place(wishes: Iterable[FileWish], ost_count: int) -> Placement:
    """Give every stream its file; a shared object is as large as the largest wish and lies where the first says."""
    files: list[PlacedFile] = []
    of_stream: list[int] = []
    by_client: dict[tuple[str, int], int] = {}
    homes: dict[str, int] = {}
    for wish in wishes:
        if wish.ost >= ost_count:
            raise UsageError(f"a job wants OST {wish.ost}, the cluster has {ost_count} OSTs")
        key = (wish.shared, wish.client)
        if wish.shared and key in by_client:
            number = by_client[key]
            files[number] = _widened(files[number], wish)
        else:
            number = len(files)
            home = homes.setdefault(wish.shared, number) if wish.shared else number
            ost = files[home].osc % ost_count if home < number else wish.ost
            files.append(_file(wish, wish.client * ost_count + ost, home))
            if wish.shared:
                by_client[key] = number
        of_stream.append(number)
    return Placement(tuple(_evened(files)), tuple(of_stream))


def _file(wish: FileWish, osc: int, home: int) -> PlacedFile:
    pages = -(-wish.file_bytes // PAGE)
    return PlacedFile(
        osc, wish.client, pages, wish.written, max(1, wish.cache_bytes // PAGE), home, bool(wish.shared)
    )


def _widened(file: PlacedFile, wish: FileWish) -> PlacedFile:
    asked = _file(wish, file.osc, file.home)
    return replace(
        file,
        pages=max(file.pages, asked.pages),
        written=file.written or asked.written,
        cached=max(file.cached, asked.cached),
    )


def _evened(files: Sequence[PlacedFile]) -> Iterable[PlacedFile]:
    largest: dict[int, int] = {}
    for file in files:
        largest[file.home] = max(largest.get(file.home, 0), file.pages)
    return (replace(file, pages=largest[file.home]) for file in files)
