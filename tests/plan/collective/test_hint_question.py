"""Runs that confirm a forecast say where their conditions differ from the profile's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.plan.collective import hint_question
from penstock.plan.collective.advise import HintAdvice
from penstock.plan.collective.confirm import HintBench
from penstock.plan.collective.hint_question import HintQuestion, answer_hints

FIXTURE = Path(__file__).parents[2] / "fixtures" / "collective" / "profile-4-8-ranks.json"


@pytest.mark.parametrize(
    ("profiled", "warned"), [("sh -c '{ranks}'", False), ("sh -c bound '{ranks}'", True)]
)
def test_other_binding_than_the_profiles_is_said(
    profiled: str, warned: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sklearn")
    document = json.loads(FIXTURE.read_text())
    path = tmp_path / "profile.json"
    path.write_text(json.dumps({**document, "launcher": profiled}))
    levels: list[str] = []

    def no_runs(advice: HintAdvice, bench: HintBench, top: int) -> HintAdvice:
        levels.append(bench.launcher.thread_level)
        return advice

    monkeypatch.setattr(hint_question, "confirm", no_runs)
    said: list[str] = []
    question = HintQuestion(path, 4, 1 << 20, confirm=3, directory=tmp_path, launcher="sh -c {ranks}")
    answer_hints(question, said.append)
    assert any("--launcher makes them alike" in line for line in said) == warned
    # The profile's thread level is the job's unless another is named.
    assert levels == [document.get("thread_level", "multiple")]
