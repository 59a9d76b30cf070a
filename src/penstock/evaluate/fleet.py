"""A fleet of simulated clients that tell each other what they found through one folder, as agents do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.sharing.member import Member
from penstock.decide.advice import FleetAdvice, WorkFindings
from penstock.evaluate.drivers import Course, Loops
from penstock.simulate.simulation import Simulation

# What a client's clock shows of the time of day; only differences count.
DAY_S = 1_700_000_000.0


@dataclass(slots=True)
class _Client:
    """One client's part in the fleet, and what it was told last."""

    member: Member
    job: str
    advice: FleetAdvice | None = None


class FleetLoops(Loops):
    """A control loop on every tuned client, each with a member of the fleet beside it.

    `jobs` names the job of each client, where jobs are told.
    """

    def __init__(
        self, simulation: Simulation, course: Course, share: Path, jobs: Mapping[int, str] | None = None
    ) -> None:
        super().__init__(simulation, course)
        share.mkdir(mode=0o700, exist_ok=True)
        seed = simulation.plan.seed
        self._clients: dict[int, _Client] = {}
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

    def advance(self) -> int:
        """Simulate one interval, run every loop, then let every member whose turn it is have it."""
        changed = super().advance()
        now_s = self._simulation.now_s
        for client, one in self._clients.items():
            findings = self._loops[client].tuner.findings()
            if one.member.is_due(findings, one.job, now_s):
                one.advice = take_turn(one.member, findings, one.job, now_s)
        return changed


def take_turn(member: Member, findings: Sequence[WorkFindings], job: str, now_s: float) -> FleetAdvice | None:
    """A member's turn at a moment of the simulation; a share that does not answer says nothing."""
    with suppress(OSError):
        return member.turn(findings, job, now_s, DAY_S + now_s)
    return None
