"""What sharing costs a node: CPU time, files and bytes, by how many members the fleet has.

usage: python -m benchmarks.fleet_cost [--members 100,1000] [--seconds 300] [--write]

One member takes its turns in virtual time over a folder with the files of all others, each of which knows four kinds
of work and eight settings of each. All files are touched once a minute, one time of ten written anew. Measured
is the CPU time of everything that the member does, the asking once a second whether a turn is due included: of a
*follower*, which reads the digest that another node writes every 30 s, and of the one node that *puts the digest
together*. Bytes and operations are counted at the folder.

Beside it: what handing over costs the control loop, on a simulated client after a minute of tuning.

--write leaves benchmarks/results/fleet_cost.json and the tables in docs/explanation/fleet-learning.md.
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

from penstock.agent.sharing.digest import MOST_BYTES as MOST_DIGEST_BYTES
from penstock.agent.sharing.digest import dump_digest, make_digest
from penstock.agent.sharing.folder import LEASES, MEMBERS, MOST_NAMES, TOP, ShareFolder, Signature
from penstock.agent.sharing.member import DIGEST, LOOK_S, MEMBERS_A_SCOUT, REWRITE_S, WRITE_S, Member
from penstock.agent.sharing.member_format import MOST_BYTES, dump_member
from penstock.agent.sharing.sharer import HAND_S
from penstock.agent.sharing.told import DatedGain, MemberFile, MemberWork
from penstock.decide.fleet_advice import GainWord, ToldGain, WorkFindings, WorkKind
from penstock.decide.work import Work
from penstock.evaluate.simulated_client import INTERVAL_S, Tuning, simulated_client
from penstock.evaluate.tuners import shipped_policy
from penstock.knobs import Setting
from penstock.simulate.catalogue import named_plan
from penstock.simulate.cluster import builtin_cluster
from penstock.simulate.simulation import Simulation

RESULT = Path(__file__).parent / "results" / "fleet_cost.json"
DAY_S = 1_700_000_000.0
KINDS, SETTINGS = 4, 8
#: One time of so many that a member's minute has come, something is new.
NEWS = 10
# Fleets that the page computes.
FLEETS = (1000, 10_000)
HANDED = 200
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


def handing_over() -> float:
    """The part of a core that the loop spends on telling the sharing thread what it knows, once a second."""
    simulation = Simulation(named_plan(builtin_cluster("c220g5"), "f_rd_rn_1m", seed=1))
    loop = simulated_client(simulation, Tuning(shipped_policy()))
    while simulation.now_s < WARM_S:
        simulation.run_until(simulation.now_s + INTERVAL_S)
        loop.tick()
    assert loop.tuner.findings()
    began_s = time.process_time()
    for _ in range(HANDED):
        loop.tuner.findings()
    return (time.process_time() - began_s) / HANDED / HAND_S


def cost_table(rows: list[CostRow], handing: float) -> str:
    heads = (
        "members", "node", "of a core", "its first turn, s", "operations a second", "read, kB/s", "written, kB/s",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    lines += [
        f"| {row.members:,} | {row.role} | {row.core:.3%} | {row.first_s:.3f} | {row.operations_per_s:.2f} | "
        f"{row.read_per_s / 1e3:.2f} | {row.written_per_s / 1e3:.2f} |"
        for row in rows
    ]
    return "\n".join(
        [
            *lines,
            "",
            f"Besides, handing over what the tuner knows takes {handing:.3%} of a core in the loop itself. A "
            f"member's file is {rows[-1].member_bytes / 1e3:.1f} kB here, the digest "
            f"{rows[-1].digest_bytes / 1e3:.1f} kB: it grows with the kinds of work and their settings, not with the "
            "members.",
        ]
    )


def scaling_table(rows: list[CostRow]) -> str:
    """For larger fleets, from the largest that was measured: everything is in proportion to the members."""
    largest = max(row.members for row in rows)
    follower, maker = (row for row in rows if row.members == largest)
    most_read = follower.digest_bytes / REWRITE_S
    lines = ["| of the whole fleet | " + " | ".join(f"{count:,} nodes" for count in FLEETS) + " |"]
    lines.append("|---" * (1 + len(FLEETS)) + "|")

    def line(name: str, per_node: float, unit: str, digits: int = 0) -> None:
        cells = (f"{per_node * count:,.{digits}f}{unit}" for count in FLEETS)
        lines.append(f"| {name} | {' | '.join(cells)} |")

    line("nodes that scout one kind of work, at most", 1 / MEMBERS_A_SCOUT, "")
    line("files written or touched a second", 1 / WRITE_S, "")
    line("operations of all followers a second", follower.operations_per_s, "")
    line("read by all followers, where the digest changes every 30 s", most_read / 1e6, " MB/s", 1)
    line(
        "operations of the node that puts the digest together, a second", maker.operations_per_s / largest, ""
    )
    line("its part of a core", 100 * maker.core / largest, " %", 2)
    line("its first turn, CPU seconds", maker.first_s / largest, " s", 1)
    line("the folder", maker.member_bytes / 1e6, " MB", 1)
    return "\n".join(
        [
            *lines,
            "",
            f"Computed from the rows of {largest:,} members. A follower's own part does not grow: it looks at one "
            f"file every {LOOK_S:.0f} s and shows every {WRITE_S:.0f} s that it is alive. What bounds a fleet is the "
            f"one directory: a file system that serves {FLEETS[-1] * follower.operations_per_s:,.0f} look-ups a "
            f"second. No node reads more than {MOST_NAMES:,} members, {MOST_BYTES >> 20} MiB of each, and a digest "
            f"of {MOST_DIGEST_BYTES >> 20} MiB.",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--members", default="100,1000")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    rows = [
        measure(members, role, asked.seconds)
        for members in map(int, asked.members.split(","))
        for role in ("follower", "puts the digest together")
    ]
    handing = handing_over()
    print(cost_table(rows, handing), scaling_table(rows), sep="\n\n")
    if asked.write:
        document = {"handing_over": handing, "rows": [asdict(row) for row in rows]}
        RESULT.write_text(json.dumps(document, indent=1) + "\n")
        replace_part(PAGE, "cost", cost_table(rows, handing))
        replace_part(PAGE, "scaling", scaling_table(rows))


if __name__ == "__main__":
    main()
