"""The cluster to experiment with: Gymnasium's manners, equal seeds give equal episodes, the example runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock
from penstock.errors import UsageError
from penstock.evaluate.gym import Cluster
from penstock.knobs import Setting

EXAMPLE = Path(__file__).parents[2] / "examples" / "compare_policy.py"


def test_episode_has_gymnasiums_shape() -> None:
    world = Cluster("s_rd_rn_1m", seconds=2.0, warmup_s=1.0)
    seen, info = world.reset(seed=7)
    assert (seen["pages"], seen["flight"], info["t_s"]) == (1024.0, 8.0, 1.0)
    outcomes = [world.step(Setting(pages=64, flight=16)) for _ in range(4)]
    assert [outcome[3] for outcome in outcomes] == [False, False, False, True]
    seen, reward, terminated, _, info = outcomes[-1]
    assert (seen["pages"], seen["flight"], terminated) == (64.0, 16.0, False)
    assert reward == pytest.approx(seen["read.mbps"], rel=0.2)
    assert seen["read.page_latency_us"] > 0 == seen["write.page_latency_us"]
    assert len(info["windows"]) == 8


def test_equal_seeds_and_actions_give_equal_episodes() -> None:
    def rewards(seed: int) -> list[float]:
        world = Cluster("s_rd_rn_8k", seconds=1.5, warmup_s=0.5)
        world.reset(seed=seed)
        return [world.step(index)[1] for index in (0, 50, 98)]

    assert rewards(3) == rewards(3) != rewards(4)


def test_refused_settings_are_told_and_change_nothing() -> None:
    world = Cluster("s_rd_rn_8k", seconds=2.0, warmup_s=0.5)
    world.reset()
    seen, *_, info = world.step(Setting(pages=64, flight=1000))
    assert "1000" in info["refused"][0]
    assert seen["flight"] == 8.0


def test_one_target_can_be_set_alone() -> None:
    world = Cluster("f_rd_rn_8k", seconds=2.0, warmup_s=0.5)
    _, info = world.reset()
    target = info["windows"][1].target
    *_, info = world.step({target: Setting(flight=32)})
    assert [one.setting["flight"] for one in info["windows"][:3]] == [8, 32, 8]


def test_several_clients_add_up_and_another_workload_may_follow() -> None:
    world = Cluster("s_rd_rn_8k", clients=2, seconds=1.0, warmup_s=0.5)
    seen, _ = world.reset()
    seen, reward, *_ = world.step(None)
    assert reward > 1.5 * seen["read.mbps"]
    world.reset(options={"workload": "s_wr_sq_1m"})
    assert world.step(None)[0]["write.mbps"] > 0


def test_play_takes_a_policy_by_name_or_as_a_function() -> None:
    world = Cluster("s_rd_rn_1m", seconds=2.0, warmup_s=1.0)
    left_alone = world.play("default")
    assert world.play(lambda seen: None) == pytest.approx(left_alone, rel=1e-6)
    assert world.play(lambda seen: Setting(pages=1, flight=1)) < 0.5 * left_alone


def test_misuse_is_refused() -> None:
    with pytest.raises(UsageError, match="reset"):
        Cluster().step(None)
    with pytest.raises(UsageError, match="s_rd_rn_1m"):
        Cluster("s_rd_rn_1n")
    with pytest.raises(UsageError, match="interval"):
        Cluster(seconds=0.1)


def test_package_offers_the_cluster() -> None:
    assert penstock.Cluster is Cluster
    with pytest.raises(AttributeError, match="Clutser"):
        _ = penstock.Clutser  # type: ignore[attr-defined]


@pytest.mark.slow
def test_example_compares_a_policy_within_twenty_lines() -> None:
    assert len(EXAMPLE.read_text(encoding="utf-8").splitlines()) <= 20
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert all("mine" in line and "carat" in line for line in lines)
