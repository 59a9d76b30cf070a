"""What is kept across restarts: recalled once the original was measured anew, dropped where it is contradicted."""

from __future__ import annotations

import json
from random import Random

import pytest

from penstock.decide.guard import Guard, GuardLimits
from penstock.decide.memory import Memories, Remembered, WorkMemory, like
from penstock.decide.memoryfile import MOST_BYTES, MOST_SETTINGS, MOST_UNITS, DatedMemory, dump, parse
from penstock.decide.objective import Rates
from penstock.decide.policies.weir import WeirPolicy
from penstock.decide.work import Work
from penstock.decision import Outlook
from penstock.errors import DataError
from penstock.knobs import Setting
from penstock.predict.drawn import drawn_cases
from penstock.snapshot import Target
from penstock.spaces import LUSTRE
from penstock.testing.policies import AskedPolicy
from penstock.window import Window

GRID = LUSTRE.candidates()
HOME = LUSTRE.default.only("pages", "flight")
BEST, OTHER = Setting(pages=64, flight=16), Setting(pages=256, flight=16)
MB = 1e6


def remembered(**rates: float) -> dict[Setting, Remembered]:
    places = {"home": HOME, "best": BEST, "other": OTHER}
    return {places[name]: Remembered(Rates(rate, 0.0, 4.0), 20, 0.02) for name, rate in rates.items()}


def run(memory: Memories, rates: dict[Setting, float], windows: int = 60) -> tuple[WeirPolicy, list[Setting]]:
    """Every setting that was moved to, in a world where settings not named bring a twentieth of the original."""
    policy, setting, moves = WeirPolicy(LUSTRE, Random(1)), LUSTRE.default, []
    policy.recall(memory)
    cases, asked = drawn_cases(GRID), AskedPolicy(policy, Guard(GuardLimits(jitter_s=0.0)))
    for i in range(windows):
        rate = rates.get(setting.only("pages", "flight"), rates[HOME] / 20) * 0.5
        metrics = {"read.bytes": rate, "app.read_bytes": rate, "app.read_calls": 10.0}
        window = Window(Target("t / reads", "t"), i * 0.5, i * 0.5 + 0.5, setting, metrics, LUSTRE.default)
        asked.propose(window, Outlook("read", GRID, (), True, "m", cases=cases))
        wanted = asked.verdict.wanted
        if wanted != setting:
            moves.append(wanted.only("pages", "flight"))
            setting = LUSTRE.settle(setting, wanted.only("pages", "flight"))
    return policy, moves


def test_a_remembered_setting_is_the_first_change_whatever_the_load_is_today() -> None:
    policy, moves = run(
        remembered(home=100 * MB, best=200 * MB, other=150 * MB), {HOME: 10 * MB, BEST: 20 * MB}
    )
    assert moves[0] == BEST
    kept = policy.remembered()
    # Trials that lose everything use up the account; what was measured to bring twice as much is returned to.
    assert moves.count(BEST) > 1
    assert kept[BEST].rates.read == pytest.approx(20 * MB)
    assert kept[OTHER].rates.read == pytest.approx(15 * MB)
    assert kept[OTHER].windows < 20 < kept[BEST].windows


def test_a_measurement_that_contradicts_ends_the_whole_recollection() -> None:
    memory = remembered(home=100 * MB, best=200 * MB, other=190 * MB)
    policy, moves = run(memory, {HOME: 100 * MB, BEST: 50 * MB, OTHER: 50 * MB})
    assert moves[0] == BEST
    assert BEST not in moves[1:]
    assert OTHER not in policy.remembered()
    assert policy.remembered()[BEST].rates.read < 100 * MB


def test_memory_of_another_original_or_of_settings_that_cannot_be_set_is_not_used() -> None:
    world = {HOME: 100 * MB, BEST: 100 * MB, OTHER: 100 * MB}
    nothing, elsewhere = run({}, world)[1], run(remembered(best=100 * MB, other=300 * MB), world)[1]
    foreign = {**remembered(home=100 * MB), Setting(readahead=5): Remembered(Rates(9e8, 0.0), 9, 0.1)}
    assert elsewhere == nothing == run(foreign, world)[1]


def test_memory_that_was_not_used_yet_is_kept_as_it_was() -> None:
    memory = remembered(home=100 * MB, best=200 * MB)
    policy, moves = run(memory, {HOME: 100 * MB}, windows=1)
    assert not moves
    assert policy.remembered() == memory


def test_a_file_holds_the_newest_units_and_gives_back_what_was_kept() -> None:
    many = {
        Setting(pages=1 << i % 11, flight=i + 1): Remembered(Rates(1.0 + i, 0.0), 5, 0.1) for i in range(90)
    }
    kept = [
        DatedMemory(WorkMemory(f"fs{i}", Work("read", 20.0), many), float(i)) for i in range(MOST_UNITS + 9)
    ]
    raw = dump(kept)
    found = parse(raw, "here")
    assert [one.memory.fs for one in found] == [f"fs{i}" for i in range(9, MOST_UNITS + 9)]
    assert len(found[0].memory.settings) == MOST_SETTINGS
    assert all(many[setting] == one for setting, one in found[0].memory.settings.items())
    assert len(raw) < MOST_BYTES


def test_work_of_unknown_request_size_is_found_again() -> None:
    memory = WorkMemory("fs", Work("both", float("nan")), remembered(home=1.0, best=2.0))
    (back,) = parse(dump([DatedMemory(memory, 5.0)]), "here")
    assert like([back.memory], "fs", Work("both", 20.0)) == [back.memory]
    assert not like([back.memory], "fs", Work("read", 20.0))
    assert not like([back.memory], "other", Work("both", 20.0))


def _changed(**changes: object) -> bytes:
    document = json.loads(
        dump([DatedMemory(WorkMemory("fs", Work("read", 20.0), remembered(home=1.0, best=2.0)), 5.0)])
    )
    setting = document["units"][0]["settings"][0]
    for key, value in changes.items():
        (document if key in document else setting)[key] = value
    return json.dumps(document).encode()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x00\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"{}", "not a file of schema"),
        (_changed(version=2), "newer Penstock"),
        (_changed(version="1"), "version"),
        (_changed(noise=7.5), "noise"),
        (_changed(noise=float("nan")), "noise"),
        (_changed(windows=10**9), "windows"),
        (_changed(read=-1.0), "read"),
        (_changed(knobs={"pages": "64"}), "pages"),
        (_changed(code="os.system"), "code"),
        (_changed()[:-40], "not JSON"),
        (b" " * (MOST_BYTES + 1), "larger"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused_as_a_whole(raw: bytes, said: str) -> None:
    with pytest.raises(DataError, match=said):
        parse(raw, "here")
