"""The files of all members, read again where they changed. What is damaged is put aside and said once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from penstock.agent.sharing.folder import MEMBERS, ShareFolder, Signature
from penstock.agent.sharing.member_format import MOST_BYTES, parse_member
from penstock.agent.sharing.told import MemberFile
from penstock.errors import PenstockError
from penstock.schemafile import NewerVersionError

# A node whose file was neither written nor touched for so long is no member.
MEMBER_S = 600.0
# All members' files together; of more, the smallest are read. In memory they take up to five times as much.
MOST_TOTAL_BYTES = 128 << 20
_SUFFIX = ".json"


@dataclass(slots=True)
class _SeenFile:
    """A file as it was at the last look; since when it has been so, by this node's clock; None if it is not used."""

    signature: Signature
    since_s: float
    file: MemberFile | None


@dataclass(slots=True)
class Roster:
    """The members of a fleet, from their files."""

    folder: ShareFolder
    puts_aside: bool = True
    problems: list[str] = field(default_factory=list)
    members: int = 0
    #: Whether at the last look any file told of another proof or contradiction, or of work explored, or was gone.
    has_news: bool = False
    _seen: dict[str, _SeenFile] = field(default_factory=dict)

    def read(self, now_s: float) -> list[MemberFile]:
        """Every usable file; `members` counts those that changed lately. Raises OSError."""
        names = self._within_bounds(
            {name: at for name, at in self.folder.names(MEMBERS).items() if name.endswith(_SUFFIX)}
        )
        gone = self._seen.keys() - names.keys()
        self.has_news = bool(gone)
        for name in gone:
            del self._seen[name]
        for name, signature in names.items():
            before = self._seen.get(name)
            if before is not None and before.signature[1:] == signature[1:]:
                # Touched at most: files are replaced, never written in place.
                if before.signature != signature:
                    before.signature, before.since_s = signature, now_s
            else:
                file = self._parse(name, signature[1])
                self.has_news |= _essence(file) != _essence(before.file if before is not None else None)
                self._seen[name] = _SeenFile(signature, now_s, file)
        self.members = sum(
            one.file is not None and now_s - one.since_s <= MEMBER_S for one in self._seen.values()
        )
        return list(self._files())

    def _within_bounds(self, names: dict[str, Signature]) -> dict[str, Signature]:
        sizes = (min(size, MOST_BYTES) for _, size, _ in names.values())
        if sum(sizes) <= MOST_TOTAL_BYTES:
            return names
        self.problems.append(
            f"{self.folder.path / MEMBERS}: more than {MOST_TOTAL_BYTES >> 20} MiB; the largest files are passed over"
        )
        kept, left = dict[str, Signature](), MOST_TOTAL_BYTES
        for name, signature in sorted(names.items(), key=lambda item: item[1][1]):
            left -= signature[1]
            if left < 0:
                break
            kept[name] = signature
        return kept

    def _files(self) -> Iterator[MemberFile]:
        return (one.file for one in self._seen.values() if one.file is not None)

    def _parse(self, name: str, size: int) -> MemberFile | None:
        where = str(self.folder.path / MEMBERS / name)
        try:
            raw = self.folder.read(MEMBERS, name, min(size, MOST_BYTES))
            # One that was replaced since it was listed has another size at the next look.
            found = None if size < len(raw) <= MOST_BYTES else parse_member(raw, where)
        except FileNotFoundError:
            return None
        except NewerVersionError as error:
            self.problems.append(str(error))
            return None
        except PenstockError as error:
            moved = self.puts_aside and self.folder.put_aside(MEMBERS, name)
            done = "put aside" if moved else "passed over"
            self.problems.append(f"{error}; {done}")
            return None
        except OSError as error:
            self.problems.append(f"{where}: {error.strerror}; passed over")
            return None
        if found is not None and f"{found.node}{_SUFFIX}" != name:
            self.problems.append(f"{where}: says it is node {found.node}'s; passed over")
            return None
        return found


def _essence(file: MemberFile | None) -> frozenset[tuple[object, ...]]:
    """What of a file other nodes act upon at once."""
    works = file.works if file is not None else ()
    return frozenset((work.key, work.explored_s, work.words) for work in works)
