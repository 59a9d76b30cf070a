"""Models of the judged world: made once, of seeds that nobody is judged on."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.evidence.asks import policy_of

from penstock.errors import UsageError
from penstock.evaluate.ownmodels import FIRST_SEED, OwnWorld, own_models
from penstock.evaluate.request import OWN, Request
from penstock.evaluate.tuners import make_predictor
from penstock.predict import modelfile
from penstock.predict.featuresets import PRINTED
from penstock.simulate.cluster import builtin_cluster


@pytest.mark.slow
def test_own_models_are_made_once_and_handed_to_their_policies(tmp_path: Path) -> None:
    cluster = builtin_cluster("c220g5")
    world = OwnWorld(cluster, runs=2, seconds=8.0)
    said: list[str] = []
    made = own_models(world, ["carat", "dial", "default", "climb"], tmp_path, 1, said.append)
    assert made.keys() == {"carat", "dial"}
    assert made["carat"] == made["dial"]
    model = modelfile.load(Path(made["carat"]))
    assert model["read"].features is PRINTED
    assert str(FIRST_SEED) in str(model.provenance["origin"])
    assert own_models(world, ["carat"], tmp_path, 1, lambda text: said.append(f"again {text}")).keys() == {
        "carat"
    }
    assert not any(text.startswith("again") for text in said)
    request = Request(("carat",), 5.0, model=OWN, cluster=cluster, own=made)
    plan = world.plan("s_rd_rn_1m", 0)
    assert request.trial(plan, "carat").course.model == made["carat"]
    assert request.trial(plan, "climb").course.model is None


def test_own_model_depends_on_the_cluster_and_its_kind() -> None:
    here, there = (OwnWorld(builtin_cluster(name)) for name in ("c220g5", "c6525-25g"))
    faster = OwnWorld(builtin_cluster("c220g5").override({"client_mb_per_s": "5000"}))
    assert (
        len(
            {here.digest("printed"), here.digest("forest"), there.digest("printed"), faster.digest("printed")}
        )
        == 4
    )


@pytest.mark.slow
def test_own_model_of_application_labels_learns_from_settings_that_were_held(tmp_path: Path) -> None:
    world = OwnWorld(builtin_cluster("c220g5"), runs=2, seconds=4.0)
    said: list[str] = []
    policy = policy_of("carat-application")
    made = own_models(world, [policy], tmp_path, 1, said.append)
    model = modelfile.load(Path(made[policy]))
    assert make_predictor(policy, Path(made[policy])) is not None
    with pytest.raises(UsageError, match="--label application"):
        make_predictor(policy)
    assert said[0].endswith("24 runs of 64 s to train on")
    assert "held before" in str(model.provenance["label"])
    # Eight settings a run, each but the first a sample where something was moved before it.
    assert 0 < model["read"].metrics["held_out_samples"] <= 12 * 7
