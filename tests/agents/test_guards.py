"""What is measured together shares its rollouts; what an edit teaches must do no harm on tasks like it, nor to the answers."""

import pytest

from agents.config import CriticConfig
from agents.critic import Critic
from agents.guards import carried_over
from agents.rehearsal import GradeRequest, RolloutRequest
from agents.sample import Candidate, GuardTask, Sample, arms_of
from benchmarks.planted import EVEN, Planted, PlantedRehearsal, catalogue, create, criteria, criterion, entry, hint
from memory.edit import RepriceCriterion
from memory.visit import Sign


class Counting(PlantedRehearsal):
    """Counts what it is asked for, and reports signs of hacking where told to."""

    def __init__(self, planted, seed, signs=None):
        super().__init__(planted, seed)
        self.graded, self.ordered, self.ids = 0, 0, []
        self.told = signs or ({}, {})

    def roll_out(self, tag, requests):
        found = super().roll_out(tag, requests)
        self.ids += [r.id for group in found for r in group]
        return found

    def grade(self, requests):
        self.graded += sum(len(q.rollouts) for q in requests)
        return super().grade(requests)

    def order(self, requests):
        self.ordered += sum(len(q.pairs) for q in requests)
        return super().order(requests)

    def signs(self, requests):
        return [self.told[k % 2] for k in range(len(requests))]


def measured(planted, candidates, seed=0, signs=None, **settings):
    rehearsal = Counting(planted, seed, signs)
    return Critic(CriticConfig(**settings), rehearsal).measure(f"seed{seed}", candidates), rehearsal


def same_task(*planted: Planted) -> list[Candidate]:
    """Candidates of one task, under their own edit ids."""
    task_id = f"{planted[0].name}/0"
    return [
        c.model_copy(update={"edit": c.edit.model_copy(update={"task_id": task_id})}) for c in (p.candidate(0) for p in planted)
    ]


ONE, TWO = criterion("one"), criterion("two")
GOOD = criteria("medium", "delete noise", catalogue()[15].operation, ONE, TWO, criterion("noise", 2))
ALSO = criteria("medium", "create one more", create("three"), ONE, TWO, criterion("noise", 2))


def test_criteria_candidates_of_one_task_share_rollouts_and_q():
    (_, alone), (_, both) = (
        measured([GOOD, ALSO], same_task(*c), rollouts=(16,), guard_tasks=0) for c in ((GOOD,), (GOOD, ALSO))
    )
    assert both.rolled_out == alone.rolled_out == 16
    assert both.ordered == alone.ordered
    assert both.graded == 3 * 16, "under the old criteria once, and under each candidate's"


def test_the_groups_before_and_after_never_share_a_rollout_but_the_plain_ones():
    planted = hint("A/A", "same", 0.3, 0.3)
    candidate = planted.candidate(0)
    (finding,), rehearsal = measured([planted], [candidate], rollouts=(16,), guard_tasks=0)
    assert len(set(rehearsal.ids)) == len(rehearsal.ids) == len(finding.measurement.rollout_ids) == 24


def test_of_two_that_hold_the_better_is_applied_and_the_other_held_back():
    deletes = [
        GOOD,
        criteria("medium", "reprice", create("three", 0.5), ONE, TWO, criterion("noise", 2), good=("one", "two", "three")),
    ]
    for seed in range(10):
        findings, _ = measured(deletes, same_task(*deletes), seed, acceptance="mean", min_effect=0.0, guard_tasks=0)
        outcomes = [f.outcome for f in findings]
        assert outcomes.count("accepted") <= 1
        if any("Held back" in f.sentence for f in findings):
            gains = [f.measurement.effect.estimate for f in findings]
            assert outcomes[gains.index(max(gains))] == "accepted"
            return
    pytest.fail("no seed in which both held")


def test_a_hint_that_spoils_the_answer_is_not_accepted():
    planted = next(p for p in catalogue() if "spoils" in p.name)
    outcomes = [measured([planted], [planted.candidate(s)], s)[0][0] for s in range(20)]
    assert all(f.outcome != "accepted" for f in outcomes)
    assert sum("quality fell by" in f.sentence for f in outcomes) >= 15


def spoils_elsewhere(seed):
    """A hint that helps its own task; on the guard task, which shares its name, it drives the good words out."""
    helps = hint("medium", "helps", 0.02, 0.8)
    near = hint("x", "near", 0.02, 0.8, ("one", "two"), one=0.02, two=0.02)
    candidate = helps.candidate(seed).model_copy(update={"guard_tasks": (GuardTask(task_id="near/0", entry=near.before),)})
    return measured([helps, near], [candidate], seed, guard_rollouts=16)[0][0]


def test_an_edit_that_would_hurt_a_task_like_it_is_rejected_and_the_task_named():
    findings = [spoils_elsewhere(seed) for seed in range(10)]
    assert sum(f.outcome == "rejected" and "on task 'near/0'" in f.sentence for f in findings) >= 8


def test_guard_rollouts_are_spent_on_what_is_about_to_be_accepted_only():
    useless = hint("A/A", "useless", 0.3, 0.3)
    _, rehearsal = measured([useless], [useless.candidate(0)], rollouts=(16,))
    assert rehearsal.rolled_out == 24
    helps = hint("large", "helps", 0.0, 1.0)
    (finding,), rehearsal = measured([helps], [helps.candidate(0)], rollouts=(16,))
    assert rehearsal.rolled_out == finding.measurement.rollouts == 24 + 24


def test_a_sign_of_hacking_that_rises_rejects():
    helps = hint("large", "helps", 0.0, 1.0)
    signs = ({"repetition": Sign(value=0.1, threshold=0.4)}, {"repetition": Sign(value=0.6, threshold=0.4)})
    (finding,), _ = measured([helps], [helps.candidate(0)], signs=signs)
    assert finding.outcome == "rejected"
    assert "sign of hacking (repetition) rose by 0.50, limit 0.30" in finding.sentence
    (finding,), _ = measured([helps], [helps.candidate(0)], signs=signs[::-1])
    assert finding.outcome == "accepted"


def test_only_what_brings_something_new_is_carried_over():
    deletes, hints = GOOD.candidate(0), hint("large", "helps", 0.0, 1.0).candidate(0)
    other = entry(criterion("four", 10))
    assert carried_over(Sample(deletes, arms_of(deletes)), other) is None
    assert [f.text for f in carried_over(Sample(hints, arms_of(hints)), other).guidance] == ["moves"]
    created = ALSO.candidate(0)
    new = carried_over(Sample(created, arms_of(created)), other).rubric[-1]
    assert new.points == pytest.approx(10 / 4), "the same share of the points as on the edited task"


def visits(rehearsal, candidate, count):
    """Graded plain rollouts of the candidate's task, as earlier visits left them."""
    task_id, before = candidate.edit.task_id, candidate.before
    (made,) = rehearsal.roll_out("window", [RolloutRequest(task_id=task_id, entry=before, guided=False, count=count)])
    return rehearsal.grade([GradeRequest(task_id=task_id, rubric=before.rubric, rollouts=made)])[0]


def test_the_window_may_contradict_a_level_change_but_never_carries_it():
    """The task was chosen by its window, so a flat window is no evidence; an informative one speaks against a lower level."""
    flat = next(p for p in catalogue() if p.name.startswith("lower a task with 5 %"))
    lively = next(p for p in catalogue() if p.name == "lower an informative task")
    for seed in range(5):
        candidate = flat.candidate(seed)
        (without,), _ = measured([flat], [candidate], seed)
        window = visits(PlantedRehearsal([flat], seed), candidate, 48)
        (within,), _ = measured([flat], [candidate.model_copy(update={"window": window})], seed)
        assert (within.outcome, within.measurement.p_value) == (without.outcome, without.measurement.p_value)
        against = visits(PlantedRehearsal([lively], seed), lively.candidate(seed), 48)
        (contradicted,), _ = measured([flat], [candidate.model_copy(update={"window": against})], seed)
        assert contradicted.outcome == "rejected"
        assert "informative share of the window lies" in contradicted.sentence


@pytest.mark.parametrize(("kind", "most"), [("A/A", 5), ("neutral", 6), ("harmful", 0)])
def test_what_does_not_help_is_rarely_accepted(kind, most):
    """20 decisions per planted edit at alpha 5 % over two passes: at 2.5 % each, more than ``most`` come by chance once in 1,000."""
    accepted = 0
    for planted in (p for p in catalogue() if p.kind == kind):
        for seed in range(20):
            (finding,), _ = measured([planted], [planted.candidate(seed)], seed, alpha=0.025)
            accepted += finding.outcome == "accepted"
    assert accepted <= most


def test_without_a_measurement_only_opinion_accepts():
    planted = hint("A/A", "same", 0.3, 0.3)
    (finding,), rehearsal = measured([planted], [planted.candidate(0)], acceptance="opinion")
    assert (finding.outcome, finding.measurement, rehearsal.rolled_out) == ("accepted", None, 0)
    assert "opinion" in finding.sentence


def test_the_change_of_the_score_is_split_by_what_caused_it():
    (guided,), _ = measured([h := hint("large", "helps", 0.0, 1.0)], [h.candidate(0)])
    assert guided.measurement.change.by_rollouts > 0.2
    assert guided.measurement.change.by_criteria == 0
    (deleted,), _ = measured([GOOD], [GOOD.candidate(0)])
    assert deleted.measurement.change.by_rollouts == 0
    assert deleted.measurement.change.by_criteria != 0
    assert set(EVEN) < set(GOOD.rates)


def test_once_an_edit_of_a_task_has_passed_no_more_is_spent_on_the_others():
    """Deleting the noise passes, mostly at the first look; the price of another criterion, which changes nothing, is held back there."""
    idle = criteria("neutral", "reprice", RepriceCriterion(criterion_id="one", points=1.01), ONE, TWO, criterion("noise", 2))
    looks = []
    for seed in range(5):
        (good, other), _ = measured([GOOD, idle], same_task(GOOD, idle), seed, rollouts=(48, 96), guard_tasks=0, min_effect=0.0)
        assert good.outcome == "accepted"
        assert other.outcome == "inconclusive"
        assert other.sentence.startswith("Held back")
        assert other.measurement.looks == good.measurement.looks
        looks.append(good.measurement.looks)
    assert looks.count(1) >= 2


def test_the_look_that_uses_up_the_budget_is_the_last():
    useless = hint("A/A", "useless", 0.3, 0.3)
    rehearsal = Counting([useless], 0)
    critic = Critic(CriticConfig(rollouts=(8, 16, 24), min_effect=0.0), rehearsal)
    (finding,) = critic.measure("x", [useless.candidate(0)], used_up=lambda: "used up" if rehearsal.rolled_out >= 20 else None)
    assert finding.outcome != "accepted"
    assert finding.measurement.looks == 2
    assert rehearsal.rolled_out == 24


def test_a_rehearsed_group_is_guided_in_the_share_of_a_training_group():
    for candidate in (hint("large", "helps", 0.0, 1.0).candidate(0), GOOD.candidate(0)):
        guided = candidate.model_copy(update={"before": candidate.after, "after": candidate.before})
        for arms in (arms_of(candidate, 0.25), arms_of(guided, 0.25)):
            assert sum(a.count(16) for a in arms if a.in_after) == 16
            assert all(a.count(16) == 4 for a in arms if a.guided)
