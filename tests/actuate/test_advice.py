"""Advice reads like the real thing and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.actuate.advice import AdviceActuator
from penstock.actuate.lustre import LustreActuator
from penstock.knobs import Setting
from penstock.testing.served import Served


def test_advice_prints_commands_once_and_writes_nothing(
    client: Served, make: Callable[..., LustreActuator], tmp_path: Path
) -> None:
    lines: list[str] = []
    reader = make(client.root)
    target = reader.targets()[0]
    advice = AdviceActuator(reader, lines.append)
    before = advice.get(target)
    for _ in range(3):
        receipt = advice.set(target, Setting(pages=256, flight=8, dirty=64))
    assert lines == [
        f"lctl set_param osc.{target.name}.max_pages_per_rpc=256",
        f"lctl set_param osc.{target.name}.max_dirty_mb=64",
    ]
    assert receipt.actual == advice.get(target) == before
    assert "advice only" in (receipt.error or "")
    assert advice.restore(target).actual == before
    assert advice.space(target).knobs == reader.space(target).knobs
    assert not (tmp_path / "state").exists()


def test_advice_to_leave_things_alone_is_silent(client: Served, make: Callable[..., LustreActuator]) -> None:
    lines: list[str] = []
    advice = AdviceActuator(make(client.root), lines.append)
    target = make(client.root).targets()[0]
    assert advice.set(target, advice.get(target)).error is None
    assert lines == []
