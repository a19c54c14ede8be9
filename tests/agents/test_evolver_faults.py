"""Faults that loops like this one are known for, each held down by a test: graphs, checkpoints, forgetful proposers, lucky gates."""

import json
import math
import warnings

import numpy as np
import pytest
from langgraph.errors import GraphRecursionError

from agents.case import dump, load, result, start
from agents.chat_proposer import ChatProposer
from agents.checkpoints import open_checkpoints
from agents.config import CriticConfig, EvolverConfig
from agents.critic import Critic
from agents.heuristics import HeuristicProposer
from agents.pool import RolloutPool
from agents.prompts import case_text
from agents.sample import Candidate
from memory.decision import Interval
from memory.edit import AddField, Claim, Edit, RepriceCriterion, RewriteField, apply
from memory.embedding import HashingEmbedding
from memory.errors import EditError, UserError
from memory.harness import GuidanceField, Harness
from memory.journal import RoundRecord
from memory.memory import Memory
from memory.rundir import RunDir
from tests.agents.cases import Scripted
from tests.agents.test_evolver import CONTEXT, RATES, TASKS, Stubborn, evolver, memory, outcome_of, quality
from tests.builders import SimulatedRehearsal, criterion, decision, task

__all__ = ["memory"]  # a fixture

ALL = ["blind", "easy", "noisy"]


def edit(operation, task_id="blind", edit_id="e", pair_class="blind") -> Edit:
    claim = Claim(pair_class=pair_class, reason="r")
    return Edit(id=edit_id, task_id=task_id, operation=operation, claim=claim, proposer="x")


# ---- the graph ----


@pytest.mark.parametrize("revisions", [0, 1, 4, 12])
def test_every_round_has_a_bound_that_its_longest_course_stays_under(memory, monkeypatch, revisions):
    """LangGraph's own default is ten thousand steps: no bound at all for what a step costs."""
    limits = []

    class Endless(Stubborn):
        def propose(self, case, attribution, edit_id, count):
            text = f"useless {edit_id.replace('-', ' ')} " + "abcdefghijklmnopqrstuvwxyz"[self.calls % 26] * (1 + self.calls)
            self.calls += 1
            field = GuidanceField(id=edit_id, text="".join(c for c in text if not c.isdigit()))
            return [edit(AddField(field=field), edit_id=edit_id)]

    built = evolver(memory, Endless(), revisions=revisions, probe_rollouts=0, critic=CriticConfig(rollouts=(4,)))
    invoke = built.graph.invoke
    monkeypatch.setattr(built.graph, "invoke", lambda s, c, **kw: limits.append(c["recursion_limit"]) or invoke(s, c, **kw))
    case = outcome_of(built.run(CONTEXT, ["blind"], "t"), "blind")
    assert case.attempts <= revisions + 1
    assert case.status != "open"
    assert limits == [10 + 5 * (revisions + 1)]


def test_a_graph_that_would_go_on_for_ever_is_stopped_by_the_bound(memory):
    built = evolver(memory, Stubborn(), probe_rollouts=0)
    built._may_go_on = lambda case: True
    built._propose = lambda case, file: case.with_(attempts=case.attempts + 1)
    with pytest.raises(GraphRecursionError):
        built.run(CONTEXT, ["blind"], "t")


def test_the_graph_is_flat_and_its_checkpoints_have_one_name_space(memory, tmp_path):
    saver = open_checkpoints(tmp_path / "rounds.sqlite")
    built = evolver(memory, checkpointer=saver)
    assert not list(built.graph.get_subgraphs())
    built.run(CONTEXT, ALL, "t")
    spaces = {c.config["configurable"]["checkpoint_ns"] for c in saver.list(None)}
    assert spaces == {""}


# ---- checkpoints ----


def test_numpy_scalars_end_at_the_boundary(memory, tmp_path):
    """A measurement is made of numpy numbers; in the state they would not survive a checkpoint."""
    got = Interval(estimate=np.float64(0.1), low=np.float32(0.0), high=np.float64(1.0), level=np.float64(0.9))
    assert {type(v) for v in got.model_dump(mode="json").values()} == {float}

    class Numbers(SimulatedRehearsal):
        def roll_out(self, tag, requests):
            groups = super().roll_out(tag, requests)
            return [tuple(r.model_copy(update={"tokens": np.int64(r.tokens)}) for r in g) for g in groups]

    config = EvolverConfig(probe_rollouts=2)
    built = evolver(memory, checkpointer=open_checkpoints(tmp_path / "rounds.sqlite"))
    built.critic = Critic(config.critic, Numbers(TASKS, RATES, quality=quality))
    found = built.run(CONTEXT, ALL, "t")
    assert any(d.measurement for d in found.decisions)
    json.dumps(built.graph.get_state({"configurable": {"thread_id": "t"}}).values, allow_nan=False)


def test_the_state_comes_back_from_a_checkpoint_as_it_went_in(memory, tmp_path):
    saver = open_checkpoints(tmp_path / "rounds.sqlite")
    built = evolver(memory, checkpointer=saver)
    found = built.run(CONTEXT, ALL, "t")
    values = built.graph.get_state({"configurable": {"thread_id": "t"}}).values
    again = evolver(memory, checkpointer=open_checkpoints(tmp_path / "rounds.sqlite"))
    back = again.graph.get_state({"configurable": {"thread_id": "t"}}).values
    assert back == values
    assert result(load(back), again._entry) == found
    assert dump(*load(back)) == back["cases"]
    assert set(start(CONTEXT, ALL)) == set(back)


def test_checkpoints_are_of_plain_types_and_nothing_else_is_built_from_the_file(memory, tmp_path, caplog):
    saver = open_checkpoints(tmp_path / "rounds.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built = evolver(memory, checkpointer=saver)
        built.run(CONTEXT, ALL, "t")
        list(built.graph.get_state_history({"configurable": {"thread_id": "t"}}))
    assert "unregistered" not in caplog.text.lower()
    kind, data = saver.serde.dumps_typed(CONTEXT)
    loaded = saver.serde.loads_typed((kind, data))
    assert not isinstance(loaded, type(CONTEXT)), "a type that is none of LangGraph's own is not built"


def test_each_run_has_its_own_file_and_one_process_at_a_time(tmp_path):
    one, two = RunDir(tmp_path / "one"), RunDir(tmp_path / "two")
    assert one.rounds != two.rounds
    lock = one.claim()
    with pytest.raises(UserError):
        RunDir(tmp_path / "one").claim()
    lock.release()


def test_a_finished_round_leaves_no_checkpoint(memory, tmp_path):
    saver = open_checkpoints(tmp_path / "rounds.sqlite")
    built = evolver(memory, checkpointer=saver)
    for number in range(3):
        built.run(CONTEXT, ["easy"], f"round-{number}")
        built.forget(f"round-{number}")
    assert list(saver.list(None)) == []
    assert saver.conn.execute("select count(*) from writes").fetchone() == (0,)


def test_a_round_killed_while_a_task_proposes_goes_on_from_the_strict_checkpoint(memory, tmp_path):
    """What the graph has sent to the tasks lies in the file, too, and is among the types that may be read."""

    class Dying(HeuristicProposer):
        def propose(self, case, attribution, edit_id, count):
            if case.task.id == "easy":
                raise KeyboardInterrupt
            return super().propose(case, attribution, edit_id, count)

    path = tmp_path / "rounds.sqlite"
    with pytest.raises(KeyboardInterrupt):
        evolver(memory, Dying(), checkpointer=open_checkpoints(path)).run(CONTEXT, ["blind", "easy"], "t")
    resumed = evolver(memory, checkpointer=open_checkpoints(path)).run(CONTEXT, ["blind", "easy"], "t")
    whole = evolver(memory).run(CONTEXT, ["blind", "easy"], "t")
    assert {c.task_id: c.status for c in resumed.cases} == {c.task_id: c.status for c in whole.cases}


# ---- what was rejected, and what a proposer may be told ----


def test_an_edit_that_was_rejected_in_an_earlier_round_is_refused_before_a_rollout(memory):
    first = evolver(memory, Stubborn(same=True), revisions=0).run(CONTEXT, ["blind"], "one")
    (measured,) = first.decisions
    assert measured.measurement is not None
    memory.record(10, *first.decisions)
    later = evolver(memory, Stubborn(same=True), revisions=0, probe_rollouts=0)
    (refused,) = later.run(CONTEXT.model_copy(update={"round": 2, "step": 20}), ["blind"], "two").decisions
    assert refused.measurement is None
    assert "near-duplicate" in refused.sentence
    assert later.critic.rehearsal.rolled_out == 0


def test_the_proposer_is_shown_what_earlier_rounds_rejected_and_why(memory):
    first = evolver(memory, Stubborn(same=True), revisions=0).run(CONTEXT, ["blind"], "one")
    memory.record(10, *first.decisions)
    model = Scripted({"candidates": []})
    evolver(memory, ChatProposer(model, "m"), revisions=0).run(CONTEXT, ["blind"], "two")
    (asked,) = model.asked
    assert "same thing" in asked[1]
    assert "rejected" in asked[1].lower() or "inconclusive" in asked[1].lower()


@pytest.mark.parametrize("budget", [500, 2000])
def test_the_evidence_of_a_case_keeps_to_its_budget_however_much_there_is(memory, budget):
    of = TASKS["blind"]
    for k in range(30):
        hint = edit(AddField(field=GuidanceField(id=f"f{k}", text="long winded words " * 200)), edit_id=f"old-{k}")
        memory.record(9, decision(hint))
    built = evolver(memory, evidence_tokens=budget)
    case = start(CONTEXT, [of.id])["cases"][of.id]
    built._recall([of.id])
    _, files = built._open({"context": CONTEXT.model_dump(mode="json"), "cases": {of.id: case}, "passed": 0})
    assert len(case_text(files[of.id], budget)) <= 4 * budget


# ---- the gate ----


def test_an_edit_that_changes_no_byte_is_refused_before_measuring(memory):
    entry = Harness().of(TASKS["blind"])
    field = GuidanceField(id="f", text="say what to avoid")
    hinted = entry.model_copy(update={"guidance": (field,)})
    for same, before in (
        (RepriceCriterion(criterion_id="rare", points=3), entry),
        (RewriteField(field_id="f", text=field.text), hinted),
    ):
        with pytest.raises(EditError, match="changes nothing"):
            apply(edit(same), before)

    class NoOp(Stubborn):
        def propose(self, case, attribution, edit_id, count):
            return [edit(RepriceCriterion(criterion_id="rare", points=3), edit_id=edit_id)]

    built = evolver(memory, NoOp(), revisions=0, probe_rollouts=0)
    (refused,) = built.run(CONTEXT, ["blind"], "t").decisions
    assert "changes nothing" in refused.sentence
    assert built.critic.rehearsal.rolled_out == 0


def a_a(seed: int, acceptance: str = "round") -> str:
    """The decision on an edit that has no effect: noise of the unchanged harness, on a task that is passed half the time."""
    of = task("t", criterion("alpha", points=2), criterion("long"))
    rehearsal = SimulatedRehearsal({"t": of}, RATES, quality=quality, seed=seed)
    hint = edit(AddField(field=GuidanceField(id="f", text="no such words")), "t")
    entry = Harness().of(of)
    settings = CriticConfig(rollouts=(8, 16), acceptance=acceptance, guard_limit=0.5)
    (finding,) = Critic(settings, rehearsal).measure(f"s{seed}", [Candidate(edit=hint, before=entry, after=apply(hint, entry))])
    return finding.outcome


def test_the_unchanged_harness_beats_itself_no_more_often_than_stated():
    """A/A. By chance alone 100 decisions at alpha = 0.05 accept more than 12 once in a thousand; a gate without a noise floor does."""
    accepted = [a_a(seed) for seed in range(100)].count("accepted")
    assert accepted <= 12
    assert [a_a(seed, "mean") for seed in range(100)].count("accepted") > 12


def test_what_is_below_the_detectable_effect_is_inconclusive_and_changes_nothing(memory):
    assert {a_a(seed) for seed in range(30)} >= {"rejected", "inconclusive"}


def test_greedy_decoding_does_not_make_the_noise_vanish():
    """Rollouts that are all alike give no spread to estimate noise from; the noise floor stays above zero."""
    of = task("t", criterion("sure"))
    rehearsal = SimulatedRehearsal({"t": of}, RATES, quality=quality)
    hint = edit(AddField(field=GuidanceField(id="f", text="no such words")), "t", pair_class="saturated")
    entry = Harness().of(of)
    (finding,) = Critic(CriticConfig(), rehearsal).measure("s", [Candidate(edit=hint, before=entry, after=apply(hint, entry))])
    assert finding.outcome != "accepted"
    assert finding.measurement.noise > 0
    assert math.isfinite(finding.measurement.effect.high)


def test_nothing_is_rolled_out_twice_for_candidates_that_need_the_same():
    """The budget of an arm without edits is what the rollouts, judged responses and comparisons of a round are counted against."""
    of = task("t", criterion("alpha", points=2), criterion("long"))
    rehearsal = SimulatedRehearsal({"t": of}, RATES, quality=quality)
    entry = Harness().of(of)
    reprices = [edit(RepriceCriterion(criterion_id="long", points=p), "t", f"e{p}", "spurious") for p in (2.0, 3.0)]
    critic = Critic(CriticConfig(rollouts=(16,)), rehearsal)
    critic.measure("s", [Candidate(edit=e, before=entry, after=apply(e, entry)) for e in reprices])
    assert rehearsal.rolled_out == 16
    assert RolloutPool(rehearsal).grade([]) == []


def test_what_a_round_paid_for_is_on_record_when_memory_is_opened_again(tmp_path):
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    first = Memory(run, TASKS, HashingEmbedding())
    first.record(10, RoundRecord(round=1, task_ids=("blind",), rollouts=48, judged=96, quality_calls=120))
    first.close()
    again = Memory(run, TASKS, HashingEmbedding())
    assert [(r.rollouts, r.judged, r.quality_calls) for r in again.rounds] == [(48, 96, 120)]
    again.close()
    lock.release()
