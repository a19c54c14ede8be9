"""The evolver's graph: bounded, resumable, and never an edit without a measurement."""

import sqlite3
import threading
import time

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from agents.attribution import RuleAttributor
from agents.case import RoundResult
from agents.chat import ChatFailure
from agents.config import EvolverConfig
from agents.context import RoundContext
from agents.critic import Critic
from agents.evolver import HarnessEvolver
from agents.heuristics import HeuristicProposer
from agents.tool import evolver_tool
from memory.decision import Hindsight
from memory.edit import AddField, Claim, CreateCriterion, Edit, apply
from memory.embedding import HashingEmbedding
from memory.harness import GuidanceField
from memory.journal import HarnessRecord
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import SimulatedRehearsal, criterion, decision, task, visit
from training.reward.rules import validate

BLIND = task("blind", criterion("rare", points=3), criterion("alpha"))
EASY = task("easy", criterion("sure"), criterion("certain"))
NOISY = task("noisy", criterion("long", points=3), criterion("alpha"))
TASKS = {t.id: t for t in (BLIND, EASY, NOISY)}
RATES = {"rare": 0.0, "alpha": 0.5, "sure": 1.0, "certain": 1.0, "long": 0.5}
CONTEXT = RoundContext(round=1, step=10, steps=100, guidance_ceiling=2, levels=(0.25, 0.5, 1.0, 2.0))


def quality(text: str) -> float:
    return float("rare" in text) + float("alpha" in text)


@pytest.fixture
def memory(tmp_path):
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, TASKS, HashingEmbedding())
    groups = {
        "blind": ["alpha", "nothing", "alpha", "nothing"],
        "easy": ["sure certain"] * 4,
        "noisy": ["long", "alpha", "long", "alpha"],
    }
    for task_id, texts in groups.items():
        v, made = visit(TASKS[task_id], texts, [quality(t) for t in texts], step=9)
        made = [r.model_copy(update={"id": f"{task_id}/{k}"}) for k, r in enumerate(made)]
        memory.rollouts.write(task_id, made)
        memory.record(9, v.model_copy(update={"rollout_ids": tuple(r.id for r in made)}))
    yield memory
    memory.close()
    lock.release()


def evolver(memory, proposer=None, attributor=None, checkpointer=None, seed=0, **settings) -> HarnessEvolver:
    rehearsal = SimulatedRehearsal(TASKS, RATES, quality=quality, seed=seed)
    config = EvolverConfig(**settings)
    return HarnessEvolver(
        config,
        memory,
        attributor or RuleAttributor(),
        proposer or HeuristicProposer(),
        Critic(config.critic, rehearsal),
        validate,
        checkpointer,
    )


def outcome_of(result: RoundResult, task_id: str):
    return next(c for c in result.cases if c.task_id == task_id)


def test_each_failure_is_repaired_by_its_interface(memory):
    result = evolver(memory).run(CONTEXT, ["blind", "easy", "noisy"], "t")
    repaired = {c.task_id: (c.attribution.pair_class, c.attribution.interface, c.status) for c in result.cases if c.attribution}
    assert repaired["blind"] == ("blind", "g", "accepted")
    assert repaired["easy"] == ("saturated", "p", "accepted")
    assert repaired["noisy"][:2] == ("spurious", "c")
    assert set(result.entries) == {c.task_id for c in result.cases if c.status == "accepted"}
    assert result.entries["easy"].level == 0.5
    assert result.entries["blind"].guidance[0].text == "rare"


def test_nothing_changes_without_an_accepted_measurement(memory):
    result = evolver(memory).run(CONTEXT, ["blind", "easy", "noisy"], "t")
    for case in result.cases:
        accepted = [d for d in case.decisions if d.outcome == "accepted"]
        assert (case.task_id in result.entries) == bool(accepted)
        assert all(d.measurement and d.measurement.rollouts > 0 for d in accepted)
    assert memory.harness.version == 0, "the evolver proposes; the loop applies"


class Stubborn:
    """Proposes a useless hint for ever, a new one each time."""

    author = "stubborn"

    def __init__(self, same: bool = False):
        self.calls, self.same, self.saw = 0, same, []

    def propose(self, case, attribution, edit_id, count):
        self.calls += 1
        self.saw.append([d.sentence for d in case.tried])
        text = "same thing" if self.same else f"useless {'abcdefgh'[self.calls]} {'stuvwxyz'[self.calls]}"
        field = GuidanceField(id=edit_id, text=text, criterion_ids=("rare",))
        claim = Claim(pair_class="blind", criterion_ids=("rare",), reason="because")
        return [Edit(id=edit_id, task_id=case.task.id, operation=AddField(field=field), claim=claim, proposer=self.author)]


def test_endless_proposals_end_and_each_rejection_is_shown_to_the_proposer(memory):
    proposer = Stubborn()
    result = evolver(memory, proposer, revisions=2).run(CONTEXT, ["blind"], "t")
    case = outcome_of(result, "blind")
    assert case.status == "given_up"
    assert len(case.decisions) == proposer.calls == 3
    assert [len(seen) for seen in proposer.saw] == [0, 1, 2]
    assert "fresh rollouts" in proposer.saw[-1][0]
    assert result.entries == {}


def test_a_repeated_proposal_is_refused_without_a_rollout(memory):
    rehearsing = evolver(memory, Stubborn(same=True), revisions=3)
    result = rehearsing.run(CONTEXT, ["blind"], "t")
    decisions = outcome_of(result, "blind").decisions
    assert decisions[0].measurement is not None
    assert [d.measurement for d in decisions[1:]] == [None, None, None]
    assert all("near-duplicate" in d.sentence for d in decisions[1:])


class Failing:
    author = "failing"

    def attribute(self, case):
        raise ChatFailure("timeout", "no answer")

    def propose(self, case, attribution, edit_id, count):
        raise ChatFailure("length", "cut")


def test_a_failing_model_is_a_counted_no_op(memory):
    for parts in ({"attributor": Failing()}, {"proposer": Failing()}):
        result = evolver(memory, **parts).run(CONTEXT, ["blind", "easy"], "t")
        assert {c.status for c in result.cases} == {"failed"}
        assert {c.failure for c in result.cases} <= {"timeout", "length"}
        assert result.entries == {}
        assert result.decisions == ()


def test_what_was_refused_before_a_proposer_failed_is_kept(memory):
    class Tiring(Stubborn):
        def propose(self, case, attribution, edit_id, count):
            if self.calls == 2:
                raise ChatFailure("timeout", "no answer")
            return super().propose(case, attribution, edit_id, count)

    result = evolver(memory, Tiring(same=True), revisions=3).run(CONTEXT, ["blind"], "t")
    case = outcome_of(result, "blind")
    assert (case.status, case.failure) == ("failed", "timeout")
    assert [d.measurement is None for d in case.decisions] == [False, True]
    assert "near-duplicate" in case.decisions[1].sentence


def test_without_a_quality_order_no_criterion_changes(memory):
    """A criterion of noise separates as well as a good one, and that is all that could be measured."""

    class Noise(Stubborn):
        def propose(self, case, attribution, edit_id, count):
            new = CreateCriterion(criterion=criterion(f"{edit_id}-n", phrase="noise"))
            claim = Claim(pair_class="spurious", reason="because")
            return [Edit(id=edit_id, task_id=case.task.id, operation=new, claim=claim, proposer="noise")]

    built = evolver(memory, Noise(), revisions=0, probe_rollouts=0)
    built.critic.rehearsal.quality_source = "off"
    result = built.run(CONTEXT, ["blind", "easy"], "t")
    assert result.entries == {}
    assert all("quality.source is off" in d.sentence for d in result.decisions)
    assert built.critic.rehearsal.rolled_out == 0


class Killed(RuntimeError):
    pass


def test_a_round_killed_in_the_critic_goes_on_there(memory, tmp_path):
    def saver():
        return SqliteSaver(sqlite3.connect(tmp_path / "rounds.sqlite", check_same_thread=False))

    uninterrupted = evolver(memory, checkpointer=None).run(CONTEXT, ["blind", "easy"], "x")
    dying = evolver(memory, checkpointer=saver())

    def die(*_):
        raise Killed

    dying.critic.measure = die
    with pytest.raises(Killed):
        dying.run(CONTEXT, ["blind", "easy"], "thread")

    counting = Stubborn()
    resumed = evolver(memory, proposer=counting, checkpointer=saver())
    result = resumed.run(CONTEXT, ["blind", "easy"], "thread")
    assert [c.accepted for c in result.cases] == [c.accepted for c in uninterrupted.cases]
    assert result.entries == uninterrupted.entries
    assert counting.calls == 0, "what was proposed before the kill is not asked for again"

    again = resumed.run(CONTEXT, ["blind", "easy"], "thread")
    assert again == result, "a finished thread gives its result without running"
    resumed.forget("thread")
    assert resumed.graph.get_state({"configurable": {"thread_id": "thread"}}).values == {}


def test_the_state_holds_plain_types_and_no_rollouts(memory):
    built = evolver(memory, checkpointer=InMemorySaver())
    built.run(CONTEXT, ["blind", "easy"], "t")

    def plain(value):
        if isinstance(value, dict):
            return all(isinstance(k, str) and plain(v) for k, v in value.items())
        if isinstance(value, list):
            return all(map(plain, value))
        return value is None or type(value) in (str, int, float, bool)

    states = [s.values for s in built.graph.get_state_history({"configurable": {"thread_id": "t"}})]
    assert len(states) >= 6
    for state in states:
        assert plain(state)
        assert "verdicts" not in str(state)


def test_the_tool_takes_and_gives_plain_data(memory):
    tool = evolver_tool(evolver(memory))
    answer = tool.invoke({"context": CONTEXT.model_dump(), "task_ids": ["easy"], "thread": "t"})
    assert isinstance(answer, dict)
    assert RoundResult.model_validate(answer).entries["easy"].level == 0.5


class Meeting(RuleAttributor):
    """Answers only when both tasks are being attributed at the same moment."""

    def __init__(self):
        self.barrier = threading.Barrier(2, timeout=20)

    def attribute(self, case):
        self.barrier.wait()
        return super().attribute(case)


def test_tasks_attribute_at_the_same_time(memory):
    result = evolver(memory, attributor=Meeting(), revisions=0).run(CONTEXT, ["blind", "easy"], "t")
    assert all(c.attribution for c in result.cases)


class DyingAtTheThird(HeuristicProposer):
    def __init__(self, asked):
        self.asked = asked

    def propose(self, case, attribution, new_id, count):
        if case.task.id == "noisy" and "noisy" not in self.asked:
            while len(self.asked) < 2:
                time.sleep(0.01)
            time.sleep(0.2)  # so that the others' answers are on disk
            raise Killed
        self.asked.append(case.task.id)
        return super().propose(case, attribution, new_id, count)


def test_a_round_killed_between_two_proposals_asks_nobody_twice(memory, tmp_path):
    def saver():
        return SqliteSaver(sqlite3.connect(tmp_path / "rounds.sqlite", check_same_thread=False))

    tasks = ["blind", "easy", "noisy"]
    asked: list[str] = []
    with pytest.raises(Killed):
        evolver(memory, DyingAtTheThird(asked), checkpointer=saver(), revisions=0).run(CONTEXT, tasks, "thread")
    assert sorted(asked) == ["blind", "easy"]
    again: list[str] = ["noisy"]
    result = evolver(memory, DyingAtTheThird(again), checkpointer=saver(), revisions=0).run(CONTEXT, tasks, "thread")
    assert again == ["noisy", "noisy"], "what the others had answered is not asked again"
    assert result.entries == evolver(memory, revisions=0).run(CONTEXT, tasks, "x").entries


@pytest.mark.parametrize("allowed", [0, 1, 100])
def test_a_spent_budget_ends_the_round_without_an_edit_that_was_not_measured(memory, allowed):
    asked = []

    def spent():
        asked.append(1)
        return "evolver.budget.round.rollouts=10 is used up (12 spent)" if len(asked) > allowed else None

    built = evolver(memory)
    built.spent = spent
    result = built.run(CONTEXT, ["blind", "easy"], "t")
    if allowed == 100:
        assert {c.failure for c in result.cases} == {None}
        return
    assert {c.failure for c in result.cases} == {"evolver.budget.round.rollouts=10 is used up (12 spent)"}
    assert result.entries == {}
    assert (built.critic.rehearsal.rolled_out == 0) == (allowed == 0)


def test_a_probe_is_made_once_and_kept_with_the_attribution(memory):
    result = evolver(memory, Stubborn(), revisions=2).run(CONTEXT, ["blind"], "t")
    case = outcome_of(result, "blind")
    assert [p.kind for p in case.probes] == ["full_hint"]
    assert case.attribution.probes == case.probes
    assert evolver(memory, probe_rollouts=0).run(CONTEXT, ["blind"], "u").cases[0].probes == ()


def test_at_most_as_many_candidates_as_configured_each_of_its_own_kind(memory):
    for count in (1, 3):
        result = evolver(memory, proposals=count, revisions=0).run(CONTEXT, ["noisy", "easy"], f"t{count}")
        for case in result.cases:
            kinds = [d.edit.operation.op for d in case.decisions]
            assert len(kinds) == len(set(kinds)) <= count


def faded(memory):
    """`blind` with an accepted hint whose gain has gone."""
    hint = Edit(
        id="old", task_id="blind", operation=AddField(field=GuidanceField(id="old", text="think of fruit")),
        claim=Claim(pair_class="blind", criterion_ids=("rare",), reason="r"), proposer="test",
    )  # fmt: skip
    memory.record(9, decision(hint, "accepted", step=9, gain=0.6))
    entry = apply(hint, memory.harness.of(BLIND))
    memory.record(9, HarnessRecord(version=1, edit_ids=("old",), entries={"blind": entry}))
    for step in (10, 11, 12):
        v, _ = visit(BLIND, ["alpha", "nothing"] * 2, [1, 0] * 2, step=step)
        memory.record(step, v)
    memory.record(12, Hindsight(edit_id="old", visit_id="v12-blind", pair_class="blind", claimed=0.6, observed=0.0, visits=3))


def test_a_faded_edit_is_first_proposed_for_reversal_and_measured_like_any_edit(memory):
    faded(memory)
    case = evolver(memory).run(CONTEXT.model_copy(update={"step": 13}), ["blind"], "t").cases[0]
    first = case.decisions[0]
    assert (first.edit.operation.op, first.edit.reverses, first.edit.proposer) == ("retire_field", "old", "hindsight")
    assert "has gone" in first.edit.claim.reason
    assert first.measurement is not None or first.sentence.startswith("Refused")
    assert [d.edit.reverses for d in case.decisions].count("old") == 1
