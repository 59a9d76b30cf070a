"""What sharing costs a node: CPU time, files and bytes, by how many members the fleet has.

usage: python -m benchmarks.fleet_cost [--members 100,1000,10000] [--seconds 300] [--write]

One member takes its turns in virtual time over a folder with the files of all others, each of which knows four kinds
of work and eight settings of each. All files are touched once a minute, one time of ten written anew. Measured
is the CPU time of everything that the member does, the asking once a second whether a turn is due included: of a
*follower*, which reads the digest that another node writes every 30 s, and of the one node that *puts the digest
together*. Bytes and operations are counted at the folder.

--write leaves benchmarks/results/fleet_cost.json and the table in docs/explanation/fleet-learning.md.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random

from benchmarks.fleet_page import PAGE
from benchmarks.made_part import replace_part

from penstock.agent.sharing.digest import dump_digest, make_digest
from penstock.agent.sharing.folder import LEASES, MEMBERS, TOP, ShareFolder, Signature
from penstock.agent.sharing.member import DIGEST, LOOK_S, REWRITE_S, WRITE_S, Member
from penstock.agent.sharing.member_format import dump_member
from penstock.agent.sharing.told import DatedGain, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkFindings, WorkKind
from penstock.decide.work import Work
from penstock.knobs import Setting

RESULT = Path(__file__).parent / "results" / "fleet_cost.json"
DAY_S = 1_700_000_000.0
KINDS, SETTINGS = 4, 8
#: One time of so many that a member's minute has come, something is new.
NEWS = 10
#: Turns before this are the first ones, which read everything.
WARM_S = 60.0


@dataclass(frozen=True, slots=True)
class CostRow:
    """What one member costs, a second and in parts of a core; `first_s` is its first turn's CPU time."""

    members: int
    role: str
    core: float
    first_s: float
    operations_per_s: float
    read_per_s: float
    written_per_s: float
    member_bytes: int
    digest_bytes: int


class CountedFolder(ShareFolder):
    """A shared folder that counts what is asked of it."""

    def __init__(self, path: Path, node: str) -> None:
        super().__init__(path, node)
        self.counts: Counter[str] = Counter()

    def names(self, room: str) -> dict[str, Signature]:
        found = super().names(room)
        self.counts["operations"] += 1 + len(found)
        return found

    def signature(self, room: str, name: str) -> Signature | None:
        self.counts["operations"] += 1
        return super().signature(room, name)

    def read(self, room: str, name: str, most_bytes: int) -> bytes:
        self.counts["operations"] += 1
        raw = super().read(room, name, most_bytes)
        self.counts["read"] += len(raw)
        return raw

    def write(self, room: str, name: str, raw: bytes) -> None:
        self.counts["operations"] += 1
        self.counts["written"] += len(raw)
        super().write(room, name, raw)

    def touch(self, room: str, name: str) -> bool:
        self.counts["operations"] += 1
        return super().touch(room, name)


def told(node: int, news: int) -> MemberFile:
    """What one node says; `news` makes it another file."""
    rng = Random(f"{node}/{news}")
    works = []
    for at in range(KINDS):
        gains = {
            Setting(pages=1 << place, flight=16): DatedGain(
                ToldGain(rng.gauss(0.3, 0.1), 0.02, 40 + news, GainWord.PROVEN), DAY_S
            )
            for place in range(SETTINGS)
        }
        works.append(MemberWork(kind(at), "", gains, DAY_S))
    return MemberFile(f"n{node}", "1.0", tuple(works), {"cpus": 128.0, "ram_bytes": 5.4e11})


def kind(at: int) -> WorkKind:
    """One of the kinds of work."""
    home = Setting(pages=1024, flight=8)
    return WorkKind(
        "scratch", "", Work("read" if at % 2 else "write", 14.0 + 2 * at), home, (0.0, 20.0, -7.0)
    )


def findings(now_s: float) -> list[WorkFindings]:
    """What the measured member's tuner hands over: it does two of the kinds."""
    gains = {Setting(pages=64, flight=16): ToldGain(0.3, 0.02, 40, GainWord.PROVEN)}
    return [WorkFindings(kind(at), gains, False, False, now_s) for at in range(2)]


def measure(members: int, role: str, seconds: float) -> CostRow:
    """One member among so many."""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch)
        folder, others = CountedFolder(path, "n0"), ShareFolder(path, "others")
        files = {at: dump_member(told(at, 0)) for at in range(1, members)}
        others.prepare()
        for at, raw in files.items():
            others.write(MEMBERS, f"n{at}.json", raw)
        digest = dump_digest(make_digest([told(at, 0) for at in range(members)], members, 0.0))
        others.write(TOP, DIGEST, digest)
        if role == "follower":
            # Somebody else holds the digest's lease.
            others.write(LEASES, "digest-1", b'{"token": "other"}')
        else:
            (path / DIGEST).unlink()
        member = Member("n0", folder, Random(1))
        member.open(DAY_S)
        spent_s = list(_turns(member, others, members, seconds, digest if role == "follower" else None))
        counts: Mapping[str, int] = folder.counts
        return CostRow(
            members,
            role,
            sum(spent_s[round(WARM_S) :]) / (len(spent_s) - WARM_S),
            max(spent_s[: round(WARM_S)]),
            counts["operations"] / seconds,
            counts["read"] / seconds,
            counts["written"] / seconds,
            len(next(iter(files.values()))),
            len(digest),
        )


def _turns(
    member: Member, others: ShareFolder, members: int, seconds: float, digest: bytes | None
) -> Iterator[float]:
    """The CPU time of each second; the others do their part between them."""
    for second in range(round(seconds)):
        for at in range(1 + second % round(WRITE_S), members, round(WRITE_S)):
            minute = second // round(WRITE_S)
            if (at + minute) % NEWS == 0:
                others.write(MEMBERS, f"n{at}.json", dump_member(told(at, 1 + minute)))
            else:
                others.touch(MEMBERS, f"n{at}.json")
        if digest is not None and second % round(REWRITE_S) == 0:
            others.write(TOP, DIGEST, digest)
            others.write(LEASES, "digest-1", f'{{"token": "other", "beat": {second}}}'.encode())
        began_s, now_s = time.process_time(), float(second)
        if member.is_due(told_now := findings(now_s), "", now_s):
            member.turn(told_now, "", now_s, DAY_S + now_s)
        yield time.process_time() - began_s


def table(rows: list[CostRow]) -> str:
    heads = (
        "members", "node", "of a core", "first turn, s", "operations a second", "read, kB/s", "written, kB/s",
        "all followers: operations a second", "all followers: read, MB/s",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for row in rows:
        alone = row.role != "follower"
        everybody = "-" if alone else f"{row.operations_per_s * row.members:.0f}"
        lines.append(
            f"| {row.members:,} | {row.role} | {row.core:.3%} | {row.first_s:.3f} | {row.operations_per_s:.2f} | "
            f"{row.read_per_s / 1e3:.2f} | {row.written_per_s / 1e3:.2f} | {everybody} | "
            f"{'-' if alone else f'{row.read_per_s * row.members / 1e6:.2f}'} |"
        )
    files = rows[-1]
    lines += [
        "",
        f"A member's file is {files.member_bytes / 1e3:.1f} kB here, the digest {files.digest_bytes / 1e3:.1f} kB: "
        "it grows with the kinds of work and their settings, not with the members. A member looks every "
        f"{LOOK_S:.0f} s and shows that it is alive every {WRITE_S:.0f} s.",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", default="100,1000,10000")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = [
        measure(members, role, asked.seconds)
        for members in map(int, asked.members.split(","))
        for role in ("follower", "puts the digest together")
    ]
    print(table(rows))
    if asked.write:
        RESULT.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
        replace_part(PAGE, "cost", table(rows))


if __name__ == "__main__":
    main()
