"""The screen fits any terminal and says what matters."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.serve.screen import ASK_MODE, KEYS, Size, View, compose, rows

NOW_S = 1_700_000_000.0
SSH = Size(80, 24)


def target(index: int, **changed: Any) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "target": f"scratch-OST{index:04x}-osc-ff1100010dabc800",
        "short": f"scratch-OST{index:04x}",
        "fs": "scratch",
        "resource": f"OST{index:04x}",
        "setting": {"pages": 1024, "flight": 8, "dirty": 2000},
        "read_bytes_per_s": 1.5e9,
        "write_bytes_per_s": 0.0,
        "paused": False,
        "in_scope": True,
        "manual": [],
        "guard": "",
        "last_change": None,
    }
    return {**entry, **changed}


LAST = {
    "id": "3fa9c2d1e0b4",
    "time_s": NOW_S - 90,
    "changes": ["pages 256 -> 1024", "flight 16 -> 8"],
    "reason": "try",
    "sentence": "trying pages=1024 flight=8, next to pages=256 flight=16",
    "made": True,
    "gain": 1.25,
    "low": 1.2,
    "high": 1.3,
}


def status(*targets: dict[str, Any], **changed: Any) -> dict[str, Any]:
    document: dict[str, Any] = {
        "mode": "tune",
        "policy": "climb",
        "interval_s": 0.5,
        "uptime_s": 7300.0,
        "paused": [],
        "problems": [],
        "jobs": ["4711", "4712", "4713", "4714"],
        "node": {
            "dirty_limits_bytes": 512 * 2**20,
            "dirty_budget_bytes": 1024 * 2**20,
            "memory_available_ratio": 0.61,
        },
        "targets": list(targets),
    }
    return {**document, **changed}


def shown(document: dict[str, Any] | None, view: View | None = None, size: Size = SSH) -> str:
    return "\n".join(line.text for line in compose(document, view or View(), size, NOW_S))


def test_screen_shows_throughput_setting_budget_and_jobs() -> None:
    text = shown(status(target(0, last_change=LAST)))
    assert "1500.0" in text
    assert "1024/8/2000" in text
    assert "90s pages=1024" in text
    assert "dirty 512 of 1024 MiB [#####.....]  memory left 61%  jobs 4711 4712 4713 +1" in text
    assert text.splitlines()[0].startswith("penstock  tune  climb  every 0.5 s  up 2h")
    assert text.splitlines()[-1] == KEYS


def test_screen_says_why_for_the_chosen_target() -> None:
    entry = target(0, last_change=LAST)
    text = " ".join(shown(status(entry), View(chosen=entry["target"])).split())
    assert "set pages 256 -> 1024, flight 16 -> 8 [3fa9c2d1e0b4] because trying pages=1024" in text
    assert "throughput is 1.25 times what it was" in text


def test_screen_says_where_a_target_stands() -> None:
    assert "  paused " in shown(status(target(0, state="paused")))
    # An agent of an earlier version does not say it.
    assert rows(status(target(0)))[0].state == ""


def test_screen_shows_advice_as_advice() -> None:
    assert "adv. pages=1024" in shown(status(target(0, last_change={**LAST, "made": False})))


def test_screen_shows_busy_targets_first_and_counts_the_rest() -> None:
    idle = [target(i, read_bytes_per_s=0.0) for i in range(1000)]
    text = shown(status(*idle, target(0x7FF)))
    assert "OST07ff" in text.splitlines()[4]
    assert "more targets" in text


def test_screen_scrolls_to_the_chosen_target() -> None:
    many = [target(i) for i in range(1000)]
    assert "OST0200 " in shown(status(*many), View(chosen=many[0x200]["target"]))
    assert "OST03e7 " in shown(status(*many), View(chosen=many[999]["target"]))


def test_screen_without_an_agent_or_targets_says_so() -> None:
    assert "no agent answers" in shown(None, View(message="no agent answers at x"))
    assert "no targets" in shown(status())


def test_screen_asks_for_the_mode_and_shows_an_explanation() -> None:
    assert shown(status(), View(asking=True)).endswith(ASK_MODE)
    pane = shown(status(), View(pane=("what:     flight 8 -> 16", "x" * 200)))
    assert "what:     flight 8 -> 16" in pane
    assert pane.endswith("any other key: back")


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(0, 60),
    width=st.integers(20, 300),
    height=st.integers(6, 90),
    view=st.builds(
        View,
        chosen=st.sampled_from([target(3)["target"], ""]),
        message=st.text(max_size=400),
        asking=st.booleans(),
        pane=st.lists(st.text(max_size=300), max_size=40).map(tuple),
    ),
)
def test_screen_never_outgrows_the_terminal(count: int, width: int, height: int, view: View) -> None:
    entries = [target(i, last_change=LAST if i % 2 else None) for i in range(count)]
    lines = compose(status(*entries, problems=["p" * 500] * 3), view, Size(width, height), NOW_S)
    assert len(lines) <= height
    assert all(len(line.text) <= width for line in lines)


def test_screen_scrolls_a_long_text_to_its_end() -> None:
    pane = tuple(f"line {i}" for i in range(100))
    first, last = (shown(status(), View(pane=pane, scroll=scroll)) for scroll in (0, 10**6))
    assert "line 0\n" in first
    assert "78 lines below" in first
    assert "line 99" in last
    assert "lines below" not in last


CHANGE: dict[str, Any] = {
    "id": "d1",
    "time_s": 1_699_999_990.0,
    "changes": ["flight 8 -> 16"],
    "reason": "try",
    "sentence": "it promises more than anything measured so far",
    "made": True,
    "gain": None,
}


def test_screen_uses_a_large_terminal() -> None:
    many = status(*(target(i, last_change=CHANGE) for i in range(60)))
    small, large = (
        "\n".join(line.text for line in compose(many, View(), size, 1_700_000_000.0))
        for size in (Size(80, 24), Size(200, 80))
    )
    assert CHANGE["sentence"] not in small.split("-" * 20)[0]
    assert large.count(str(CHANGE["sentence"])) >= 60
    assert small.count("scratch-OST") < 60 <= large.count("scratch-OST")


def test_screen_names_units_and_how_the_effect_was_measured() -> None:
    text = shown(status(target(0)))
    assert "pages/RPCs/MiB" in text
    assert "MB/s" in text
    assert "nothing was judged" in text
    figures = {"gain": 1.2, "low": 1.1, "high": 1.3}
    before = {**status(), "effect": {"kind": "before/after", **figures, "changes": 4}}
    assert "1.20 times as fast, 95 % between 1.10 and 1.30 (before/after, 4 comparis" in shown(before)
    trial = {"kind": "switchback", "gain": 1.2, "low": 1.1, "high": 1.3, "pairs": 9}
    assert "95 % between 1.10 and 1.30 (switchback, 9 pairs)" in shown({**status(), "effect": trial})
