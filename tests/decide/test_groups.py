"""Tuning groups: who belongs together, and that members move as one."""

from __future__ import annotations

from random import Random

from penstock.decide.groups import beside, groups
from penstock.decide.objective import drains, rates_of
from penstock.decide.policies import Policy, Proposal
from penstock.decide.tuner import Tuner
from penstock.decide.work import Work, WorkBook, WorkTracker
from penstock.decision import Outlook
from penstock.knobs import KnobSpace, Setting
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.window import Window

GOAL = Setting(pages=64, flight=2)
# No knob is held by somebody else.
NONE = Setting()


class Grouped(Policy):
    """Wants one setting and remembers what it saw."""

    name = "grouped"
    in_groups = True
    seen: list[Window]

    def __init__(self, space: KnobSpace, rng: Random) -> None:
        super().__init__(space, rng)
        self.seen = []

    def propose(self, window: Window, outlook: Outlook | None = None) -> Proposal:
        self.seen.append(window)
        return Proposal(window.setting.replace(GOAL), "goal", "the test wants it")


def work(
    name: str, way: str, request: float = 2.0**20, t_s: float = 0.0, setting: Setting = LUSTRE.default
) -> Window:
    moved = 1e8
    metrics = {f"{way}.bytes": moved, f"app.{way}_bytes": moved, f"app.{way}_calls": moved / request}
    return Window(Target(name, "fs"), t_s, t_s + 0.5, setting, metrics)


def test_groups_are_targets_of_one_mount_that_do_the_same() -> None:
    windows = [work("a", "write"), work("b", "read"), work("c", "write"), work("d", "write", 4096.0)]
    book = WorkBook()
    found = groups([(w, WorkTracker().take(w, book), NONE) for w in windows])
    assert [[m.target.name for m in group.members] for group in found] == [["a", "c"], ["b"], ["d"]]
    assert len({group.target.name for group in found}) == 3


def test_members_get_one_setting_and_their_decisions_name_the_group() -> None:
    tuner = Tuner(Grouped)
    elsewhere = LUSTRE.default.replace(flight=16)
    windows = [work("a", "write"), work("b", "write"), work("c", "write", setting=elsewhere)]
    decisions = tuner.step(windows, lambda _: LUSTRE, 0.5)
    assert {d.wanted.only("pages", "flight") for d in decisions} == {GOAL}
    assert {d.unit for d in decisions} == {"fs / writes of 1 MiB"}
    (shown,) = {d.history[-1].setting.only("pages", "flight") for d in decisions}
    assert shown == LUSTRE.default.only("pages", "flight")


def test_a_target_whose_work_changes_joins_the_group_of_its_new_work() -> None:
    tuner = Tuner(Grouped)
    for i in range(12):
        way = "read" if i < 4 else "write"
        made = tuner.step([work("a", way, t_s=i * 0.5)], lambda _: LUSTRE, i * 0.5)
        # While the work seems to change nothing is decided.
        assert bool(made) != (4 <= i < 6)
    assert made[0].unit == "fs / writes of 1 MiB"


def test_one_odd_window_does_not_change_the_work() -> None:
    tracker, book = WorkTracker(), WorkBook()
    usual = [tracker.take(work("a", "read"), book) for _ in range(4)][-1]
    assert tracker.take(work("a", "write"), book) == usual
    assert tracker.take(work("a", "read"), book) == usual
    assert [tracker.take(work("a", "write"), book) for _ in range(8)][-1].kind == "write"


def test_somebody_who_waits_counts_however_few_bytes_move() -> None:
    metrics = {
        "read.bytes": 7.5e5,
        "read.rpcs": 3.0,
        "read.usec": 5e5,
        "write.bytes": 2e8,
        "write.rpcs": 50.0,
    }
    assert (
        WorkTracker().take(Window(Target("a", "fs"), 0.0, 0.5, LUSTRE.default, metrics), WorkBook()).kind
        == "both"
    )
    stray = metrics | {"read.usec": 1e3}
    assert (
        WorkTracker().take(Window(Target("a", "fs"), 0.0, 0.5, LUSTRE.default, stray), WorkBook()).kind
        == "write"
    )


def test_work_is_alike_by_direction_and_request_size() -> None:
    assert Work("read", 20.0).like(Work("read", 20.9))
    assert not Work("read", 20.0).like(Work("read", 12.0))
    assert not Work("read", 20.0).like(Work("write", 20.0))
    assert Work("read", float("nan")).like(Work("read", 12.0))


def test_pages_written_before_and_reads_from_memory_are_known() -> None:
    target = Target("a", "fs")
    metrics = {"app.read_bytes": 1e8, "read.bytes": 6e7, "write.bytes": 1e8, "app.write_bytes": 0.0}
    window = Window(target, 0.0, 0.5, LUSTRE.default, metrics)
    assert drains(window)
    assert WorkTracker().take(window, WorkBook()).kind == "read"


def test_a_group_is_told_what_the_nodes_other_targets_did_meanwhile() -> None:
    def read(name: str, moved: float) -> Window:
        return Window(Target(name, "fs"), 0.0, 0.5, LUSTRE.default, {"read.bytes": moved})

    small, large = Work("read", 12.0), Work("read", 20.0)
    busy = [(read("a", 100.0), small), (read("b", 300.0), small), (read("c", 50.0), large)]
    found = groups([(window, work, NONE) for window, work in busy])
    rates = [rates_of(g.window(("pages", "flight"), o)) for g, o in zip(found, beside(found), strict=True)]
    # Per target of the group itself: two of them have one busy neighbour, one has two.
    assert [(r.others, r.others_busy) for r in rates] == [(50.0, 0.5), (800.0, 2.0)]
    (alone,) = groups([(read("a", 100.0), small, NONE)])
    assert beside([alone]) == [None]
    assert rates_of(alone.window(("pages", "flight"))).others_busy == 0.0
