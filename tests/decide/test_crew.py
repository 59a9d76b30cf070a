from __future__ import annotations

from random import Random

from penstock.decide.crew import crews
from penstock.decide.policies._base import Policy, Proposal
from penstock.decide.tuner import Tuner
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

GOAL = Setting(pages=64, flight=2)


class Crewed(Policy):
    """Wants one setting and remembers what it saw."""

    name = "crewed"
    in_crews = True

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self.seen: list[Window] = []

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        self.seen.append(window)
        return Proposal(window.setting.replace(GOAL), "goal", "the test wants it")


def write(name: str, moved: float = 1e8, t_s: float = 0.0, setting: Setting = LUSTRE.default) -> Window:
    metrics = {"write.bytes": moved, "app.write_bytes": 2 * moved, "write.page_utilisation": None}
    return Window(Target(name, "fs"), t_s, t_s + 0.5, setting, metrics)


def read(name: str) -> Window:
    return Window(Target(name, "fs"), 0.0, 0.5, LUSTRE.default, {"read.bytes": 1e8})


def test_crew_is_made_of_writers_of_one_mount() -> None:
    found = crews(
        [write("a"), read("b"), write("c"), Window(Target("d", "other"), 0.0, 0.5, LUSTRE.default, {})]
    )
    assert [[member.target.name for member in crew.members] for crew in found] == [["a", "c"]]
    assert crews([write("a"), read("b")]) == []


def test_crew_is_made_of_readers_whose_readahead_is_wasted() -> None:
    def reader(name: str, wanted: float | None) -> Window:
        metrics = {"read.bytes": 1e8, "app.read_bytes": wanted}
        return Window(Target(name, "fs"), 0.0, 0.5, LUSTRE.default, metrics)

    found = crews([reader("a", 5e7), reader("b", 5e7), write("c"), write("d")])
    assert [[member.target.name for member in crew.members] for crew in found] == [["a", "b"], ["c", "d"]]
    assert len({crew.target for crew in found}) == 2
    assert crews([reader("a", 1e8), reader("b", 9e7)]) == crews([reader("a", None), reader("b", None)]) == []


def test_crew_window_is_the_mean_of_its_members() -> None:
    crew = crews([write("a", 1e8), write("b", 3e8)])[0]
    window = crew.window()
    assert window.metrics["write.bytes"] == 2e8
    assert window.metrics["app.write_bytes"] == 4e8
    assert window.metrics["write.page_utilisation"] is None


def test_crew_moves_together_and_readers_alone() -> None:
    made: list[Crewed] = []

    def make(space: KnobSpace, rng: Random) -> Policy:
        made.append(Crewed(space, rng))
        return made[-1]

    decisions = Tuner(make).step([write("a"), write("b"), read("c")], lambda _: LUSTRE, 0.5)
    assert {d.target.name: d.wanted.only("pages", "flight") for d in decisions} == dict.fromkeys("abc", GOAL)
    assert len({d.id for d in decisions}) == 3
    assert sorted(len(policy.seen) for policy in made) == [0, 0, 1, 1]


class Slow(Crewed):
    """Makes up its mind at the second window."""

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        if self.seen:
            return super().propose(window)
        self.seen.append(window)
        return Proposal(window.setting, "measuring", "the test waits", decided=False)


def test_crew_leaves_who_is_elsewhere_alone_until_it_is_decided() -> None:
    tuner = Tuner(Slow)
    elsewhere = LUSTRE.default.replace(pages=8, flight=64)
    wanted = []
    for number in range(2):
        seen = [write(name, t_s=number / 2) for name in "ab"]
        seen.append(write("c", t_s=number / 2, setting=elsewhere))
        decisions = tuner.step(seen, lambda _: LUSTRE, number / 2 + 0.5)
        wanted.append([d.wanted.only("pages", "flight") for d in decisions])
    default = LUSTRE.default.only("pages", "flight")
    assert wanted == [[default, default, elsewhere.only("pages", "flight")], [GOAL] * 3]
