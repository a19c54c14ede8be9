"""The critic accepts what helps, rejects what does not, and calls the rest inconclusive; its errors are rare and counted."""

import pytest

from agents.config import CriticConfig
from agents.critic import Critic
from agents.sample import Candidate
from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    RepriceCriterion,
    RetireField,
    RewriteTask,
    SetLevel,
    apply,
)
from memory.harness import GuidanceField, Harness
from memory.task import Message
from tests.builders import SimulatedRehearsal, criterion, task

RATES = {"alpha": 0.5, "beta": 0.5, "rare": 0.0, "sure": 1.0, "long": 0.5}
TASK = task("t", criterion("alpha", points=2), criterion("long", points=3), criterion("rare", points=2))


def quality(text: str) -> float:
    """Good answers say alpha, beta and rare; `long` is worth nothing."""
    return sum(word in text for word in ("alpha", "beta", "rare"))


def candidate(operation, pair_class="spurious", ids=(), of=TASK, before=None, number=0) -> Candidate:
    claim = Claim(pair_class=pair_class, criterion_ids=ids, reason="test")
    edit = Edit(id=f"e{number}", task_id=of.id, operation=operation, claim=claim, proposer="test")
    entry = before or Harness().of(of)
    return Candidate(edit=edit, before=entry, after=apply(edit, entry))


def measured(cand: Candidate, of=TASK, seed: int = 0, flip: float = 0.15, **settings):
    rehearsal = SimulatedRehearsal({of.id: of}, RATES, quality=quality, flip_rate=flip, seed=seed)
    (finding,) = Critic(CriticConfig(**settings), rehearsal).measure(f"seed{seed}", [cand])
    return finding, rehearsal


def outcomes(make, seeds: int, **settings) -> list[str]:
    return [measured(make(s), seed=s, **settings)[0].outcome for s in range(seeds)]


def hint(text: str, number: int = 0):
    field = GuidanceField(id="f", text=text, criterion_ids=("rare",))
    return candidate(AddField(field=field), "blind", ("rare",), number=number)


def test_guidance_that_works_is_accepted_and_its_effect_is_found():
    finding, rehearsal = measured(hint("rare"))
    assert finding.outcome == "accepted"
    effect = finding.measurement.effect
    # Half of the group says `rare` at 0.9: blind pairs fall from 1 to about (1 - 0.45)^2.
    assert effect.low < 1 - 0.55**2 < effect.high
    assert finding.measurement.rollouts == rehearsal.rolled_out == 24
    assert "Accepted" in finding.sentence
    assert "24 fresh rollouts" in finding.sentence


def test_guidance_that_says_nothing_is_not_accepted():
    assert "accepted" not in outcomes(lambda s: hint("something else", s), 20)


def test_deleting_the_criterion_that_carries_the_misordered_weight_is_accepted():
    found = outcomes(lambda s: candidate(DeleteCriterion(criterion_id="long"), number=s), 20)
    assert found.count("accepted") >= 14


def test_deleting_the_criterion_that_agrees_is_never_accepted():
    assert "accepted" not in outcomes(lambda s: candidate(DeleteCriterion(criterion_id="alpha"), number=s), 20)


def test_a_neutral_edit_is_rarely_accepted():
    """A criterion that doubles another in everything: 40 seeds at alpha = 0.05, one-sided 0.025 each, allow at most 5."""
    twin = criterion("twin", phrase="long", points=1e-6)
    found = outcomes(lambda s: candidate(CreateCriterion(criterion=twin), number=s), 40)
    assert found.count("accepted") <= 2


def test_a_criterion_of_noise_that_would_rule_the_ranking_breaks_the_guard():
    of = task("t", criterion("alpha", points=4), criterion("long", points=1))
    found = [
        measured(candidate(RepriceCriterion(criterion_id="long", points=30), of=of, number=s), of=of, seed=s)[0]
        for s in range(10)
    ]
    assert all(f.outcome != "accepted" for f in found)
    broken = [g.name for f in found for g in f.measurement.guards if not g.holds]
    assert broken.count("rank agreement with Q") >= 3
    assert all("fell by" in f.sentence for f in found if any(not g.holds for g in f.measurement.guards))


def test_criteria_are_compared_on_the_same_rollouts():
    finding, rehearsal = measured(candidate(DeleteCriterion(criterion_id="long")), rollouts=(16,))
    assert rehearsal.rolled_out == finding.measurement.rollouts == 16


@pytest.mark.parametrize(
    ("of", "operation", "expected"),
    [
        (task("t", criterion("sure")), SetLevel(op="lower_level", level=0.5), "accepted"),
        (task("t", criterion("rare")), SetLevel(op="lower_level", level=0.5), "accepted"),
        (task("t", criterion("alpha")), SetLevel(op="lower_level", level=0.5), "rejected"),
        (task("t", criterion("alpha")), SetLevel(op="raise_level", level=2), "accepted"),
        (task("t", criterion("sure")), SetLevel(op="raise_level", level=2), "rejected"),
    ],
)
def test_levels_follow_the_informative_share(of, operation, expected):
    finding, _ = measured(candidate(operation, "saturated", of=of), of=of)
    assert finding.outcome == expected
    assert finding.measurement.quality_calls == 0


def test_without_a_quality_judge_no_quality_call_is_counted():
    rehearsal = SimulatedRehearsal({"t": TASK}, RATES, quality=quality)
    (finding,) = Critic(CriticConfig(), rehearsal).measure("t", [hint("rare")])
    assert finding.measurement.quality_calls > 0
    rehearsal.quality_source = "off"
    (finding,) = Critic(CriticConfig(), rehearsal).measure("t", [hint("rare")])
    assert finding.measurement.quality_calls == 0


def test_a_rewritten_task_is_measured_on_both_texts():
    operation = RewriteTask(direction="easier", messages=(Message(role="user", content="Other words, same answers"),))
    finding, rehearsal = measured(candidate(operation, "blind", ("rare",)), rollouts=(16,))
    assert finding.outcome != "accepted"
    assert rehearsal.rolled_out == 32


def test_retiring_guidance_that_saturates_is_accepted():
    of = task("t", criterion("alpha"))
    field = GuidanceField(id="f", text="alpha", criterion_ids=("alpha",))
    before = Harness().of(of).model_copy(update={"guidance": (field,)})
    rehearsal = SimulatedRehearsal({"t": of}, {"alpha": 0.6}, guided=1.0, quality=quality)
    retire = candidate(RetireField(field_id="f"), "saturated", ("alpha",), of=of, before=before)
    (finding,) = Critic(CriticConfig(rollouts=(32, 96)), rehearsal).measure("x", [retire])
    assert finding.outcome == "accepted"


def test_an_undecided_look_adds_rollouts_and_may_end_inconclusive():
    slight = criterion("beta", points=2)
    found = [measured(candidate(CreateCriterion(criterion=slight), number=s), seed=s, rollouts=(8, 12))[0] for s in range(20)]
    undecided = [f for f in found if f.outcome == "inconclusive"]
    assert undecided
    assert all(f.measurement.looks == 2 and len(f.measurement.rollout_ids) == 12 for f in undecided)
    assert all("nothing changes" in f.sentence for f in undecided)


def test_candidates_of_a_look_are_measured_together():
    rehearsal = SimulatedRehearsal({"t": TASK}, RATES, quality=quality)
    calls = []
    original = rehearsal.roll_out
    rehearsal.roll_out = lambda tag, requests: calls.append(len(requests)) or original(tag, requests)
    findings = Critic(CriticConfig(), rehearsal).measure("x", [hint("rare", 1), hint("nothing", 2)])
    assert [f.outcome == "accepted" for f in findings] == [True, False]
    assert calls[0] == 3, "one batch: the plain rollouts of both candidates, and those under each hint"
