"""Members of a fleet around one folder, whose clock a test moves."""

from __future__ import annotations

from pathlib import Path
from random import Random

from penstock.agent.sharing.folder import ShareFolder
from penstock.agent.sharing.member import Member
from penstock.decide.fleet_advice import FleetAdvice, GainWord, ToldGain, WorkFindings, WorkKind
from penstock.decide.work import Work
from penstock.knobs import Setting

HOME, SMALL, TINY = Setting(pages=1024, flight=8), Setting(pages=64, flight=16), Setting(pages=16, flight=16)
READS = WorkKind("scratch", "", Work("read", 20.0), HOME, (0.0, 20.0, -7.0))
DAY_S = 1.7e9


def gain(log2: float, word: GainWord = GainWord.PROVEN, windows: int = 40) -> ToldGain:
    return ToldGain(log2, 0.02, windows, word)


def findings(
    *gains: tuple[Setting, ToldGain], now_s: float, wants: bool = True, explored: bool = False
) -> list[WorkFindings]:
    return [WorkFindings(READS, dict(gains), wants, explored, now_s)]


class Fleet:
    """So many members; `wall_s` is how far each node's clock is off."""

    def __init__(self, path: Path, count: int) -> None:
        self.path = path
        path.mkdir(mode=0o700, exist_ok=True)
        self.now_s = 0.0
        self.wall_s: dict[str, float] = {}
        self.members = [self.member(f"n{at}") for at in range(count)]
        self.gains: dict[str, list[tuple[Setting, ToldGain]]] = {}
        self.explored: set[str] = set()
        self.dead: set[str] = set()
        self.advice: dict[str, FleetAdvice | None] = {}

    def member(self, node: str) -> Member:
        found = Member(node, ShareFolder(self.path, node), Random(node))
        found.open(DAY_S)
        return found

    def run(self, seconds: float) -> None:
        """Let time pass; every living member has its turns."""
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += 1.0
            for one in self.members:
                told = findings(
                    *self.gains.get(one.node, ()), now_s=self.now_s, explored=one.node in self.explored
                )
                if one.node not in self.dead and one.is_due(told, "", self.now_s):
                    self.advice[one.node] = one.turn(
                        told, "", self.now_s, DAY_S + self.now_s + self.wall_s.get(one.node, 0.0)
                    )

    def scouts(self) -> list[str]:
        alive = (one for one in self.members if one.node not in self.dead)
        return [
            one.node
            for one in alive
            if (advice := self.advice[one.node]) is not None and advice.about(READS).may_explore
        ]

    def problems(self) -> list[str]:
        """What all members say is wrong."""
        return [problem for one in self.members for problem in one.problems]

    def proven(self, node: str) -> list[Setting]:
        advice = self.advice[node]
        assert advice is not None
        return [one.setting for one in advice.about(READS).proven]
