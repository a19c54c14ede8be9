"""Where the judge failed the critic knows less, and never more: failures are not scores."""

import json

import numpy as np
import pytest

from agents.config import CriticConfig
from agents.critic import Critic
from agents.sample import Candidate
from agents.statistics import LARGEST, jackknife, left_out, left_out_of, scored_pairs, taking_part
from memory.edit import AddField, Claim, CreateCriterion, Edit, SetLevel, apply
from memory.harness import GuidanceField, Harness
from memory.pairs import Orders
from memory.task import Verdict
from tests.builders import SimulatedRehearsal, criterion, task

RATES = {"rare": 0.3, "alpha": 0.5}
TASK = task("t", criterion("rare", points=3), criterion("alpha"))


def failing(graded):
    unscored = tuple(Verdict(criterion_id=v.criterion_id, status="unscored", reason="timeout") for v in graded.verdicts)
    return graded.model_copy(update={"verdicts": unscored, "score": None})


class PoorJudge(SimulatedRehearsal):
    """Its judge fails on a share of the responses; ``fails_on`` says on which, else by chance.
    ``only_under`` names a criterion without which it does not fail."""

    share = 0.0
    fails_on = None
    only_under = None

    def grade(self, requests):
        self.fate = getattr(self, "fate", {})
        return [tuple(self._judged(q, r) for r in group) for q, group in zip(requests, super().grade(requests), strict=True)]

    def _judged(self, request, graded):
        if self.only_under is not None and self.only_under not in {c.id for c in request.rubric}:
            return graded
        lost = self.fate.setdefault(graded.id, self.rng.random() < self.share)
        lost = self.fails_on(graded.text) if self.fails_on else lost
        return failing(graded) if lost else graded


def measured(operation, seed=0, pair_class="blind", share=0.0, **parts):
    rehearsal = PoorJudge({"t": TASK}, RATES, quality=lambda t: float("rare" in t) + float("alpha" in t), seed=seed)
    rehearsal.share = share
    for name, value in parts.items():
        setattr(rehearsal, name, value)
    claim = Claim(pair_class=pair_class, reason="r")
    edit = Edit(id="e", task_id="t", operation=operation, claim=claim, proposer="x")
    entry = Harness().of(TASK)
    candidate = Candidate(edit=edit, before=entry, after=apply(edit, entry))
    return Critic(CriticConfig(), rehearsal).measure(f"s{seed}", [candidate])[0]


HINT = AddField(field=GuidanceField(id="f", text="useless"))


@pytest.mark.parametrize("share", [0.8, 0.95, 1.0])
def test_an_edit_is_not_accepted_on_the_few_rollouts_that_a_failing_judge_left(share):
    found = [measured(HINT, seed, share=share) for seed in range(40)]
    assert "accepted" not in [f.outcome for f in found]
    assert all(np.isfinite(f.measurement.effect.high) and "inf" not in f.sentence for f in found)


def test_what_nobody_judged_is_no_reason_to_change_a_level():
    for op, level in (("raise_level", 2.0), ("lower_level", 0.5)):
        finding = measured(SetLevel(op=op, level=level), pair_class="saturated", share=1.0)
        assert finding.outcome == "inconclusive"
        assert finding.measurement.p_value == 0.5


def test_a_criterion_under_which_the_judge_fails_on_the_bad_answers_is_not_accepted():
    """What is left looks better than what was there, since the rest was not looked at."""
    new = CreateCriterion(criterion=criterion("new", phrase="rare", points=2))
    parts = {"only_under": "new", "fails_on": lambda text: "rare" not in text}
    for seed in range(10):
        finding = measured(new, seed, "spurious", **parts)
        assert finding.outcome != "accepted"
        assert "unscored share" in [g.name for g in finding.measurement.guards if not g.holds]


def test_a_measurement_without_anything_to_compare_is_written_as_plain_json():
    measurement = measured(HINT, share=1.0).measurement
    json.dumps(measurement.model_dump(mode="json"), allow_nan=False)
    assert type(measurement).model_validate_json(measurement.model_dump_json()) == measurement
    assert measurement.effect.low == -LARGEST


def test_rollouts_that_take_no_part_make_nothing_more_certain():
    pairs = Orders(first=np.array([0, 1, 0]), second=np.array([2, 3, 3]), order=np.array([1.0, 1.0, -1.0]))
    values = np.array([1.0, 0.0, 0.5])

    def of(size):
        mass = left_out_of(pairs, 4 + 2 * size)
        return jackknife(mass @ values / mass.sum(axis=1), [0, 0, 1, 1] + [0, 1] * size, taking_part(4 + 2 * size, pairs))

    assert of(0) == of(20)


def test_a_difference_that_hangs_on_one_rollout_is_not_known():
    known = jackknife(np.array([1.0, 0.0, 0.0]), [0, 0], None)
    assert known.value == 1.0
    hanging = jackknife(np.array([1.0, np.nan, np.nan]), [0, 0])
    assert hanging.value == 1.0
    assert hanging.error == np.inf
    assert hanging.p_value() == 0.5
    alone_in_its_stratum = jackknife(left_out(4).mean(axis=1), [0, 0, 0, 1])
    assert alone_in_its_stratum.error == np.inf


def test_an_unscored_rollout_is_no_tie():
    old, new = np.array([1.0, 0.0, np.nan]), np.array([1.0, np.nan, 0.0])
    pairs = Orders(first=np.array([0, 0]), second=np.array([1, 2]), order=np.array([1.0, 1.0]))
    assert scored_pairs(pairs, old).second.tolist() == [1]
    assert scored_pairs(pairs, old, new).second.tolist() == []
