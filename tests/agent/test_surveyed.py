"""Which policy runs on which knobs: one that needs its model where that knows them, a learner elsewhere."""

from __future__ import annotations

from random import Random

from penstock.agent.run_start import start_of
from penstock.agent.settings import AgentConfig
from penstock.agent.surveyed import surveyed, where_surveyed
from penstock.decide.policies.climb import ClimbPolicy
from penstock.decide.policies.greedy import GreedyPolicy
from penstock.decide.policies.weir import WeirPolicy
from penstock.predict.kinds import default_predictor
from penstock.snapshot import Target
from penstock.spaces import LUSTRE, fuse, nfs
from penstock.window import Window


def test_a_policy_that_needs_its_model_runs_where_that_knows_the_knobs() -> None:
    forest, survey = (default_predictor(kind) for kind in ("forest", "survey"))
    spaces = (LUSTRE, fuse(), nfs())
    for predictor in (forest, survey, None):
        make = where_surveyed(GreedyPolicy, ClimbPolicy, predictor)
        made = {space.name: type(make(space, Random(0))) for space in spaces}
        known = () if predictor is None else predictor.spaces
        assert {name for name, kind in made.items() if kind is GreedyPolicy} == set(known)
        assert len(surveyed(predictor, spaces)) == len(known)
    assert forest.spaces == ("lustre",)
    assert survey.spaces == ("lustre",)


def test_the_shipped_policy_runs_on_knobs_that_nobody_surveyed() -> None:
    config, space, target = AgentConfig(), nfs(), Target("nfs.x", "/mnt")
    for policy, its_own in ((WeirPolicy, "promising"), (GreedyPolicy, "try")):
        predictor = default_predictor(policy.model_kind)
        start = start_of(config, policy, predictor, 0)
        tuner, _ = start.deciders(policy, predictor, lambda _: None)
        said = set()
        for i in range(30):
            window = Window(target, i / 2, (i + 1) / 2, space.default, {"read.bytes": 5e7})
            said |= {decision.reason for decision in tuner.step([window], lambda _: space, i / 2)}
        assert said & {"promising", "try"} == {its_own}
