"""One node in a fleet: tells what it found, reads what the others say, and knows for which work it may explore.

A new proof is told at once, other news once a minute. Whoever holds the digest's lease reads all members' files and
writes the digest; everybody else reads only that. For each kind of work few nodes hold a lease to explore it. All
others try what is proven, each after a wait of its own.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from penstock import __version__
from penstock.agent.sharing.digest import MOST_BYTES as MOST_DIGEST_BYTES
from penstock.agent.sharing.digest import FleetDigest, FleetWork, dump_digest, make_digest, parse_digest
from penstock.agent.sharing.folder import MEMBERS, TOP, ShareFolder, Signature
from penstock.agent.sharing.leases import LeaseBook
from penstock.agent.sharing.member_format import MOST_BYTES, dump_member, parse_member
from penstock.agent.sharing.roster import Roster
from penstock.agent.sharing.told import (
    DatedGain,
    GroupKey,
    MemberFile,
    MemberWork,
    believable,
    group_key,
    tellable,
)
from penstock.decide.fleet_advice import FleetAdvice, GainWord, ProvenElsewhere, WorkAdvice, WorkFindings
from penstock.errors import DataError
from penstock.knobs import Setting

# Files of another version have other names, so that versions do not take each other's digest away.
DIGEST = "digest-1.json"
LOOK_S, WRITE_S = 10.0, 60.0
# New proofs told at once, in an hour.
MOST_AT_ONCE, HOUR_S = 6, 3600.0
# What nodes tell is put together at once where one proves or contradicts something, else so often; the digest is
# written again more often, to show that somebody does. Where it has not changed for longer, another node writes it;
# where for longer still, nobody does: this node decides alone.
REMAKE_S, REWRITE_S, DIGEST_S, SILENT_S = 60.0, 30.0, 90.0, 180.0
# The third time a node tells something it looks whether its file is still its own.
LOOKS_AT_OWN = 3
# One node in so many explores a kind of work.
MEMBERS_A_SCOUT = 100
# Before a node asks for a lease, and before it tries what others proved, it waits up to so long.
SEEK_JITTER_S, FOLLOW_JITTER_S = 3.0, 10.0
# Work that was not seen for so long needs no scout here.
GONE_S = 60.0
# What was explored longer ago is explored again; what was measured longer ago is no longer told.
EXPLORED_S, KEEP_S = 3600.0, 7 * 86400.0


@dataclass(slots=True)
class Member:
    """One node's part in a fleet. `turn` does all file access; it may hang where the folder does."""

    node: str
    folder: ShareFolder
    rng: Random
    facts: Mapping[str, float] = field(default_factory=dict)
    #: What went wrong since somebody asked.
    problems: list[str] = field(default_factory=list)
    digest: FleetDigest = field(default_factory=lambda: FleetDigest(1))
    _leases: LeaseBook = field(init=False)
    _roster: Roster = field(init=False)
    _works: dict[GroupKey, MemberWork] = field(default_factory=dict)
    _proofs: frozenset[tuple[GroupKey, Setting]] = frozenset()
    _written: bytes = b""
    _written_s: float | None = None
    _told_s: float = -math.inf
    _tells: int = 0
    _own_file: int | None = None
    _at_once: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_AT_ONCE))
    _digest_seen: tuple[Signature | None, float] = (None, -math.inf)
    _next_look_s: float = -math.inf
    _wanted_s: dict[GroupKey, float] = field(default_factory=dict)
    _visible_s: dict[tuple[GroupKey, Setting], float] = field(default_factory=dict)
    #: The leases to explore, by kind of work.
    _scouting: dict[GroupKey, str] = field(default_factory=dict)
    _digest_made: tuple[bytes, float] = (b"", -math.inf)
    _digest_written: tuple[bytes, float] = (b"", -math.inf)

    def __post_init__(self) -> None:
        self._leases = LeaseBook(self.folder, self.node)
        self._roster = Roster(self.folder)

    @property
    def scouts(self) -> int:
        """For how many kinds of work it may explore now."""
        return sum(name in self._leases.held for name in self._scouting.values())

    @property
    def _name(self) -> str:
        return f"{self.node}.json"

    def open(self, wall_s: float) -> None:
        """Make the rooms, and take up what this node told before it was started anew."""
        self.folder.prepare()
        try:
            raw = self.folder.read(MEMBERS, self._name, MOST_BYTES)
            known = parse_member(raw, str(self.folder.path / MEMBERS / self._name))
        except (FileNotFoundError, DataError):
            return
        for work in known.works:
            kept = {s: dated for s, dated in work.gains.items() if wall_s - dated.time_s < KEEP_S}
            self._works[work.key] = replace(work, gains=kept)

    def is_due(self, findings: Sequence[WorkFindings], job: str, now_s: float) -> bool:
        """Whether a turn is due: it is time to look, or there is a new proof or a new wish."""
        if now_s >= self._next_look_s:
            return True
        findings = _tellable(findings)
        if len(_proofs(findings, job) - self._proofs) and self._may_tell_at_once(now_s):
            return True
        return any(one.wants and group_key(one.kind, job) not in self._wanted_s for one in findings)

    def turn(
        self, findings: Sequence[WorkFindings], job: str, now_s: float, wall_s: float
    ) -> FleetAdvice | None:
        """Tell, look, and answer what the fleet says now; None where it says nothing any more. Raises OSError."""
        self._next_look_s = now_s + self.rng.uniform(0.8, 1.0) * LOOK_S
        if self._digest_seen[1] == -math.inf:
            self._digest_seen = None, now_s
        named, findings = findings, _tellable(findings)
        self._take_in(findings, job, wall_s)
        self._tell(_proofs(findings, job), now_s)
        self._look(now_s, wall_s)
        if len(self._visible_s) > _MOST_WAITS:
            self._visible_s.clear()
        said = [self._advise(one, job, now_s, wall_s) for one in findings]
        advice = FleetAdvice(tuple(replace(a, kind=one.kind) for a, one in zip(said, named, strict=True)))
        self._give_up(findings, job, now_s)
        return advice if now_s - self._digest_seen[1] <= SILENT_S else None

    def close(self) -> None:
        """Give the leases back."""
        self._leases.release_all()

    # -- telling ------------------------------------------------------------------------------------------------

    def _take_in(self, findings: Sequence[WorkFindings], job: str, wall_s: float) -> None:
        for one in findings:
            key = group_key(one.kind, job)
            before = self._works.pop(key, None)
            gains = dict(before.gains) if before is not None else {}
            for setting, told in one.gains.items():
                known, fresh = gains.get(setting), believable(told)
                if fresh is None:
                    continue
                if known is None or known.told != fresh:
                    gains[setting] = DatedGain(fresh, wall_s)
            explored_s = before.explored_s if before is not None else None
            if one.explored and (explored_s is None or wall_s - explored_s > EXPLORED_S / 2):
                explored_s = wall_s
            # Work seen last comes last; a file holds the last ones.
            self._works[key] = MemberWork(one.kind, job, gains, explored_s)

    def _tell(self, proofs: frozenset[tuple[GroupKey, Setting]], now_s: float) -> None:
        """Write this node's file, or show that it is alive."""
        due = now_s - self._told_s >= WRITE_S
        urgent = bool(proofs - self._proofs) and self._may_tell_at_once(now_s)
        if not due and not urgent:
            return
        self._told_s = now_s
        if urgent and not due:
            self._at_once.append(now_s)
        raw = dump_member(MemberFile(self.node, __version__, tuple(self._works.values()), self.facts))
        try:
            self._look_at_own_file()
            if raw == self._written and self.folder.touch(MEMBERS, self._name):
                return
            self.folder.write(MEMBERS, self._name, raw)
            self._written, self._proofs = raw, proofs
            if self._tells < LOOKS_AT_OWN:
                self._own_file = self._inode()
        except OSError as error:
            self._cannot_write(error)

    def _look_at_own_file(self) -> None:
        """Say so where another node has the same name: each would take the other's word away."""
        self._tells += 1
        if self._tells == LOOKS_AT_OWN and self._own_file not in (None, self._inode()):
            self.problems.append(
                f"{self.folder.path / MEMBERS / self._name}: another agent writes it, too; "
                "give each node a name of its own (knowledge.node)"
            )

    def _inode(self) -> int | None:
        there = self.folder.signature(MEMBERS, self._name)
        return None if there is None else there[2]

    def _may_tell_at_once(self, now_s: float) -> bool:
        return len(self._at_once) < MOST_AT_ONCE or now_s - self._at_once[0] > HOUR_S

    def _cannot_write(self, error: OSError) -> None:
        """Say it in the same words whatever could not be written, so that it is one condition."""
        said = f"{self.folder.path}: {error.strerror}: this node tells others nothing and explores nothing"
        if said not in self.problems:
            self.problems.append(said)

    # -- looking ------------------------------------------------------------------------------------------------

    def _look(self, now_s: float, wall_s: float) -> None:
        """Read the digest; write it where that is this node's part."""
        if (
            _DIGEST_LEASE in self._leases.held
            or now_s - self._digest_seen[1] > DIGEST_S
            or self._is_missing()
        ):
            try:
                if self._leases.take(_DIGEST_LEASE, now_s):
                    self._write_digest(now_s, wall_s)
                    return
            except OSError as error:
                self._cannot_write(error)
        seen = self.folder.signature(TOP, DIGEST)
        if seen is None or seen == self._digest_seen[0]:
            return
        self._digest_seen = seen, now_s
        try:
            self.digest = parse_digest(
                self.folder.read(TOP, DIGEST, MOST_DIGEST_BYTES), str(self.folder.path / DIGEST)
            )
        except FileNotFoundError:
            return
        except DataError as error:
            moved = self.folder.put_aside(TOP, DIGEST)
            self.problems.append(f"{error}; {'put aside' if moved else 'passed over'}")

    def _is_missing(self) -> bool:
        return self.folder.signature(TOP, DIGEST) is None

    def _write_digest(self, now_s: float, wall_s: float) -> None:
        files = self._roster.read(now_s)
        self.problems += self._roster.problems
        self._roster.problems.clear()
        if self._roster.has_news or now_s - self._digest_made[1] >= REMAKE_S:
            self.digest = make_digest(files, self._roster.members, wall_s - KEEP_S, wall_s)
            self._digest_made = dump_digest(self.digest), now_s
        raw, (before, written_s) = self._digest_made[0], self._digest_written
        there = self.folder.signature(TOP, DIGEST)
        if raw != before or there != self._digest_seen[0] or now_s - written_s >= REWRITE_S:
            self.folder.write(TOP, DIGEST, raw)
            self._digest_written = raw, now_s
            self._digest_seen = self.folder.signature(TOP, DIGEST), now_s

    # -- advice -------------------------------------------------------------------------------------------------

    def _advise(self, one: WorkFindings, job: str, now_s: float, wall_s: float) -> WorkAdvice:
        works = [work for work in self.digest.works if work.kind.like(one.kind)]
        try:
            may_explore = self._may_explore(one, job, works, now_s, wall_s)
        except OSError as error:
            self._cannot_write(error)
            may_explore = False
        return WorkAdvice(one.kind, may_explore, self._proven(works, now_s, wall_s))

    def _proven(self, works: Sequence[FleetWork], now_s: float, wall_s: float) -> tuple[ProvenElsewhere, ...]:
        """What other nodes proved, best first, each from a moment on that is this node's own."""
        found: dict[Setting, ProvenElsewhere] = {}
        for work in works:
            for gain in work.gains:
                if not gain.is_proven or gain.node == self.node or gain.setting in found:
                    continue
                seen = (group_key(work.kind, work.job), gain.setting)
                wait_s = self.rng.uniform(0.0, FOLLOW_JITTER_S) if seen not in self._visible_s else 0.0
                visible_s = self._visible_s.setdefault(seen, now_s + wait_s)
                if now_s < visible_s:
                    self._next_look_s = min(self._next_look_s, visible_s)
                else:
                    age_s = max(wall_s - gain.time_s, 0.0)
                    found[gain.setting] = ProvenElsewhere(
                        gain.setting, gain.node_gain_log2, gain.windows, gain.node, age_s, gain.agree
                    )
        return tuple(found.values())

    def _may_explore(
        self, one: WorkFindings, job: str, works: Sequence[FleetWork], now_s: float, wall_s: float
    ) -> bool:
        """Whether this node holds a lease for the work, after renewing, asking for, or giving back one."""
        key = group_key(one.kind, job)
        contradicts = any(told.word is GainWord.CONTRADICTED for told in one.gains.values())
        lease = self._scouting.get(key)
        if lease is not None and lease in self._leases.held:
            explored = _is_explored(works, wall_s - EXPLORED_S, wall_s - 2 * LOOK_S)
            if (
                one.explored
                and explored
                and not contradicts
                and any(_is_contradicted(work) for work in works)
            ):
                # Whoever contradicts may have a turn. All others have seen by now that nothing is left to try.
                self._leases.release(lease)
                return False
            return self._leases.take(lease, now_s)
        if not one.wants:
            return False
        since_s = self._wanted_s.setdefault(key, now_s + self.rng.uniform(0.0, SEEK_JITTER_S))
        if now_s < since_s:
            self._next_look_s = min(self._next_look_s, since_s)
            return False
        if _is_explored(works, wall_s - EXPLORED_S, wall_s) and not contradicts:
            return False
        slots = max(1, self.digest.members // MEMBERS_A_SCOUT)
        lease = f"{_digest_of(key)}.{int(_digest_of((*key, self.node)), 16) % slots}"
        self._scouting[key] = lease
        return self._leases.take(lease, now_s)

    def _give_up(self, findings: Sequence[WorkFindings], job: str, now_s: float) -> None:
        """Give back the leases for work that is not done here any more."""
        busy = {group_key(one.kind, job) for one in findings if now_s - one.last_s <= GONE_S}
        for key in self._scouting.keys() - busy:
            self._leases.release(self._scouting.pop(key))
        for key in self._wanted_s.keys() - busy:
            del self._wanted_s[key]


# So many waits before trying what is proven are remembered.
_MOST_WAITS = 10_000
_DIGEST_LEASE = "digest-1"


def _digest_of(key: object) -> str:
    return hashlib.sha256(repr(key).encode()).hexdigest()[:16]


def _is_explored(works: Sequence[FleetWork], since_s: float, until_s: float) -> bool:
    return any(work.explored_s is not None and since_s < work.explored_s <= until_s for work in works)


def _is_contradicted(work: FleetWork) -> bool:
    return any(gain.agree and gain.contradict for gain in work.gains)


def _tellable(findings: Sequence[WorkFindings]) -> list[WorkFindings]:
    """The same under names that other nodes accept."""
    return [replace(one, kind=tellable(one.kind)) for one in findings]


def _proofs(findings: Sequence[WorkFindings], job: str) -> frozenset[tuple[GroupKey, Setting]]:
    return frozenset(
        (group_key(one.kind, job), setting)
        for one in findings
        for setting, told in one.gains.items()
        if told.word is GainWord.PROVEN
    )
