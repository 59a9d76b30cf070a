"""Which policy runs on which knobs: a model's own where it knows them, a learner elsewhere."""

from __future__ import annotations

from random import Random

from penstock.agent.surveyed import surveyed, where_surveyed
from penstock.decide.policies.climb import ClimbPolicy
from penstock.decide.policies.weir import WeirPolicy
from penstock.predict.kinds import default_predictor
from penstock.spaces import LUSTRE, fuse, nfs


def test_the_model_in_use_says_where_its_policy_runs() -> None:
    forest, survey = (default_predictor(kind) for kind in ("forest", "survey"))
    spaces = (LUSTRE, fuse(), nfs())
    for predictor in (forest, survey, None):
        make = where_surveyed(WeirPolicy, ClimbPolicy, predictor)
        made = {space.name: type(make(space, Random(0))) for space in spaces}
        known = () if predictor is None else predictor.spaces
        assert {name for name, kind in made.items() if kind is WeirPolicy} == set(known)
        assert len(surveyed(predictor, spaces)) == len(known)
    assert forest.spaces == ("lustre",)
    assert "nfs" not in survey.spaces
