"""A fleet of simulated clients that tell each other what they found through one folder, as agents do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from penstock.agent.loop import Loop
from penstock.agent.sharing.digest import FleetDigest, FleetGain, FleetWork, dump_digest
from penstock.agent.sharing.folder import TOP, ShareFolder
from penstock.agent.sharing.member import DIGEST, Member
from penstock.decide.fleet_advice import FleetAdvice, GainWord, WorkFindings
from penstock.evaluate.drivers import Course, Loops
from penstock.knobs import Setting
from penstock.simulate.simulation import Simulation

# What a client's clock shows of the time of day; only differences count.
DAY_S = 1_700_000_000.0


@dataclass(slots=True)
class _Client:
    """One client's part in the fleet, and what it was told last."""

    member: Member
    job: str
    advice: FleetAdvice | None


class Liar:
    """A node that writes the digest in place of all others and praises these settings beyond measure.

    It is the worst that somebody can do who may write the folder: all others believe that the whole fleet agrees.
    """

    def __init__(self, share: Path, lies: Sequence[Setting]) -> None:
        self._folder, self._lies = ShareFolder(share, "liar"), lies

    def turn(self, findings: Sequence[WorkFindings], now_s: float) -> None:
        """Tell everybody about the work of one node."""
        gains = tuple(
            FleetGain(setting, 1000, 1000, 0, 5.0, 0.01, "liar", 5.0, 1000, DAY_S + now_s)
            for setting in self._lies
        )
        works = tuple(FleetWork(one.kind, "", 1000, DAY_S + now_s, gains) for one in findings)
        self._folder.write(TOP, DIGEST, dump_digest(FleetDigest(1000, works)))


class FleetLoops(Loops):
    """A control loop on every tuned client, each with a member of the fleet beside it.

    `jobs` names the job of each client, where jobs are told. `lies` are what one more node, a liar, praises.
    """

    def __init__(
        self,
        simulation: Simulation,
        course: Course,
        share: Path,
        jobs: Mapping[int, str] | None = None,
        lies: Sequence[Setting] = (),
    ) -> None:
        super().__init__(simulation, course)
        share.mkdir(mode=0o700, exist_ok=True)
        seed = simulation.plan.seed
        self._clients: dict[int, _Client] = {}
        self._liar = Liar(share, lies) if lies else None
        #: When a setting was first proven on any node.
        self.proved_s: float | None = None
        for client, loop in self._loops.items():
            node = f"node{client:04d}"
            member = Member(node, ShareFolder(share, node), Random(f"{seed}/{node}"))
            member.open(DAY_S)
            one = self._clients[client] = _Client(member, (jobs or {}).get(client, ""), FleetAdvice())
            loop.advice = lambda one=one: one.advice  # type: ignore[misc]

    @property
    def members(self) -> list[Member]:
        """The members, in the order of the clients."""
        return [one.member for one in self._clients.values()]

    @property
    def loops(self) -> list[Loop]:
        """Their control loops, in the same order."""
        return list(self._loops.values())

    def advance(self) -> int:
        """Simulate one interval, run every loop, then let every member whose turn it is have it."""
        changed = super().advance()
        now_s = self._simulation.now_s
        for client, one in self._clients.items():
            findings = self._loops[client].tuner.findings()
            if self.proved_s is None and _has_proof(findings):
                self.proved_s = now_s
            if self._liar is not None and client == min(self._clients):
                self._liar.turn(findings, now_s)
            if one.member.is_due(findings, one.job, now_s):
                one.advice = _turn(one.member, findings, one.job, now_s)
        return changed


def _turn(member: Member, findings: Sequence[WorkFindings], job: str, now_s: float) -> FleetAdvice | None:
    """A member's turn at a moment of the simulation; a share that does not answer says nothing."""
    with suppress(OSError):
        return member.turn(findings, job, now_s, DAY_S + now_s)
    return None


def _has_proof(findings: Sequence[WorkFindings]) -> bool:
    return any(told.word is GainWord.PROVEN for one in findings for told in one.gains.values())
