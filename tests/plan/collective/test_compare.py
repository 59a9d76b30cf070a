"""What docs/explanation/collective.md says of its clean comparison, from the raw seconds committed beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.collective_study.compare import Instance, geomean, score_all

from penstock.config import validate
from penstock.plan.collective.access import Access
from penstock.plan.collective.candidates import candidates
from penstock.plan.collective.confirm import HintTrial, surely_faster
from penstock.plan.collective.operation_profile import OperationProfile
from penstock.plan.collective.surrogates import Surrogates

RUN = Path(__file__).parents[3] / "docs" / "explanation" / "collective" / "run-tmpfs.json"


def instances(rows: list[dict[str, object]]) -> list[Instance]:
    found = []
    for row in rows:
        access = Access(row["ranks"], 1, row["bytes_per_rank"], row["block_bytes"])  # type: ignore[arg-type]
        options = {option.name: option for option in candidates(access)}
        seconds = row["seconds"]
        assert isinstance(seconds, dict)
        found.append(
            Instance(access, tuple(HintTrial(options[name], tuple(taken)) for name, taken in seconds.items()))
        )
    return found


def test_advice_meets_its_aims_in_the_committed_run() -> None:
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'penstock[plan]'")
    document = json.loads(RUN.read_text())
    found = instances(document["instances"])
    scores = score_all(Surrogates(validate(document["profile"], OperationProfile, str(RUN))), found)
    means = {method: geomean([row[method].speedup for row in scores]) for method in scores[0]}
    for method in ("hybrid", "advice"):
        assert means[method] >= 0.97 * means["rule"]
        assert means[method] >= means["ml"] > means["random"]
        assert not any(row[method].worse for row in scores)
    wins = [
        row["hybrid"].choice
        for instance, row in zip(found, scores, strict=True)
        if _beats_the_rule(instance, row["hybrid"].choice)
    ]
    assert wins == ["2x1048576"]
    assert min(len(trial.seconds) for instance in found for trial in instance.trials) == 40


def _beats_the_rule(instance: Instance, choice: str) -> bool:
    trials = {trial.candidate.name: trial for trial in instance.half(1)}
    return choice != "rule" and surely_faster(trials[choice], trials["rule"])
