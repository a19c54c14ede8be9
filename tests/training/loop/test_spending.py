"""What evolving may spend is counted over the round, the run and a resume; when it is used up the sentence names the budget."""

from types import SimpleNamespace

import pytest

from agents.chat import Usage
from agents.config import EvolverBudget
from agents.limits import Traffic
from memory.errors import ConfigError
from memory.journal import RoundRecord
from tests.builders import task
from training.config import parse_config
from training.loop.sampling import calibration_split
from training.loop.spending import Spending


def spending(budget: dict, rollouts=0, judged=0, compared=0, rounds=()) -> Spending:
    rehearsal = SimpleNamespace(rollouts=rollouts, judged=judged, quality_calls=compared)
    found = Spending(EvolverBudget.model_validate(budget), rehearsal, Traffic())  # type: ignore[arg-type]
    found.begin_round(rounds)
    return found


EARLIER = RoundRecord(round=1, task_ids=("t",), rollouts=100, judged=100, quality_calls=50)


@pytest.mark.parametrize(
    ("budget", "spent", "said"),
    [
        ({}, {"rollouts": 10**6}, None),
        ({"round": {"rollouts": 50}}, {"rollouts": 49}, None),
        ({"round": {"rollouts": 50}}, {"rollouts": 50}, "evolver.budget.round.rollouts=50 is used up (50 spent)"),
        ({"round": {"rollouts": 0}}, {}, "evolver.budget.round.rollouts=0 is used up (0 spent)"),
        ({"run": {"rollouts": 120}}, {"rollouts": 19, "rounds": [EARLIER]}, None),
        (
            {"run": {"rollouts": 120}},
            {"rollouts": 20, "rounds": [EARLIER]},
            "evolver.budget.run.rollouts=120 is used up (120 spent)",
        ),
        (
            {"run": {"judge_calls": 200}},
            {"judged": 40, "compared": 10, "rounds": [EARLIER]},
            "evolver.budget.run.judge_calls=200 is used up (200 spent)",
        ),
    ],
)
def test_rollouts_and_judge_calls_are_bounded(budget, spent, said):
    assert spending(budget, **spent).reached() == said


def test_tokens_of_the_round_are_those_since_it_began_and_of_the_run_all():
    found = spending({"round": {"tokens": 100}, "run": {"tokens": 1000}})
    usage = found.traffic.usages.setdefault("evolver.proposer", Usage())
    found.traffic.usages["judge"] = Usage(prompt_tokens=10**6)
    usage.prompt_tokens = 500
    found.begin_round([])
    assert found.reached() is None
    usage.completion_tokens = 100
    assert found.reached() == "evolver.budget.round.tokens=100 is used up (100 spent)"
    found.begin_round([])
    found.paid_before = (400, 0.0)
    assert found.reached() == "evolver.budget.run.tokens=1000 is used up (1000 spent)"


def test_a_budget_in_usd_needs_prices():
    with pytest.raises(ConfigError, match=r"evolver\.attributor\.price"):
        parse_config({"evolver": {"budget": {"run": {"usd": 5}}, "proposer": {"model": "m"}}})


def test_the_calibration_split_takes_from_every_domain_in_turn():
    tasks = [task(f"{domain}{k}", domain=domain) for domain, count in (("a", 5), ("b", 2), ("c", 1)) for k in range(count)]
    split = calibration_split(tasks, 5, seed=0)
    assert [t.domain for t in split] == ["a", "b", "c", "a", "b"]
    assert split == calibration_split(list(reversed(tasks)), 5, seed=0)
    assert len(calibration_split(tasks, 100, seed=0)) == 8
