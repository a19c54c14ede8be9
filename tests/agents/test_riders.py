"""Criteria that ride along are held against Q, and what a round brings in is held on the tasks near it as the round leaves them."""

from agents.config import CriticConfig
from agents.critic import Critic
from agents.guards import carried_over
from agents.neighbours import guard_tasks
from agents.sample import Candidate, Sample, arms_of
from memory.edit import AddField, CreateCriterion, DeleteCriterion, RepriceCriterion, apply
from memory.harness import GuidanceField, Harness
from tests.agents.cases import edit_with
from tests.agents.test_evolver import TASKS, memory
from tests.builders import SimulatedRehearsal, criterion, task

__all__ = ["memory"]  # a fixture

RUBRIC = (criterion("alpha", points=2), criterion("rare"))
TASK, NEAR = task("t", *RUBRIC), task("near", *RUBRIC)
RATES = {"alpha": 0.5, "rare": 0.0, "noise": 0.5}
HINT = AddField(field=GuidanceField(id="f", text="rare"))
NOISE = CreateCriterion(criterion=criterion("new", phrase="noise", points=6))


def candidate(operation, *secondary):
    entry = Harness().of(TASK)
    edit = edit_with(operation, *secondary).model_copy(update={"task_id": "t"})
    return Candidate(edit=edit, before=entry, after=apply(edit, entry))


def measured(candidate, seed=0):
    rehearsal = SimulatedRehearsal({"t": TASK}, RATES, quality=lambda t: float("alpha" in t) + ("rare" in t), seed=seed)
    (finding,) = Critic(CriticConfig(), rehearsal).measure("x", [candidate])
    return finding


def test_criteria_that_ride_with_guidance_are_held_against_q():
    """The hint helps, and beside it a criterion of noise would outweigh the rubric."""
    for seed in range(5):
        finding = measured(candidate(HINT, NOISE), seed)
        assert finding.outcome != "accepted"
        assert {"quality", "rank agreement with Q"} <= {g.name for g in finding.measurement.guards}
    assert "rank agreement with Q" not in {g.name for g in measured(candidate(HINT)).measurement.guards}


def test_a_new_criterion_is_carried_over_also_where_it_rides():
    entry = Harness().of(NEAR)
    for riding in (candidate(NOISE), candidate(RepriceCriterion(criterion_id="rare", points=2), NOISE)):
        after = carried_over(Sample(riding, arms_of(riding)), entry)
        assert after is not None
        assert len(after.rubric) == 3
    plain = candidate(DeleteCriterion(criterion_id="rare"))
    assert carried_over(Sample(plain, arms_of(plain)), entry) is None


def test_what_an_earlier_pass_accepted_stands_for_the_guard_tasks_of_the_next(memory):
    edited = Harness().of(TASKS["blind"]).model_copy(update={"level": 0.5})
    found = {g.task_id: g.entry for g in guard_tasks(memory, ["easy"], 2, {"blind": edited})["easy"]}
    assert found["blind"] == edited
    assert found["noisy"] == Harness().of(TASKS["noisy"])
