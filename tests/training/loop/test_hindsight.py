"""Hindsight is on the scale of the claim; an edit whose gain has gone is found, and one that kept it is not."""

import pytest

from memory.edit import Claim, DeleteCriterion, Edit, SetLevel
from memory.embedding import HashingEmbedding
from memory.journal import HarnessRecord
from memory.memory import FADED_VISITS, Memory
from memory.rundir import RunDir
from tests.builders import criterion, decision, field_edit, task, visit
from training.loop.hindsight import VISITS, hindsights

TASK = task("t", criterion("alpha", points=3), criterion("beta"))
BLIND, HALF, FULL = ["nothing"] * 4, ["alpha", "alpha", "nothing", "nothing"], ["alpha"] * 4


@pytest.fixture
def memory(tmp_path):
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, {"t": TASK, "other": task("other")}, HashingEmbedding())
    yield memory
    memory.close()
    lock.release()


def seen(memory, texts, step, quality=None):
    made = visit(TASK, texts, quality, step)[0]
    memory.record(step, *hindsights(memory, [made], 0.25), made)


def accept(memory, edit, step, gain=0.8):
    memory.record(step, decision(edit, "accepted", step=step, gain=gain))
    entry = memory.harness.of(TASK).model_copy(update={"level": 1.0 + step})
    memory.record(step, HarnessRecord(version=memory.harness.version + 1, edit_ids=(edit.id,), entries={"t": entry}))


def test_guidance_is_looked_back_on_over_the_claimed_criteria(memory):
    seen(memory, BLIND, 1)
    accept(memory, field_edit("t"), 2)
    seen(memory, HALF, 2)  # a round comes at the start of its step: this visit has seen the edit
    found = memory.hindsight["e1"]
    assert found.observed == pytest.approx(1 - 1 / 6), "alpha was blind in every pair, then in one of six; beta is not claimed"
    assert (found.claimed, found.visits) == (0.8, 1)
    seen(memory, BLIND, 3)
    assert memory.hindsight["e1"].observed == pytest.approx((1 - 1 / 6) / 2), "the mean over the visits since"


def test_criteria_are_looked_back_on_by_the_useful_share(memory):
    edit = Edit(
        id="c", task_id="t", operation=DeleteCriterion(criterion_id="beta"), claim=Claim(pair_class="spurious", reason="r"), proposer="p"
    )  # fmt: skip
    seen(memory, HALF, 1, [0, 0, 1, 1])
    accept(memory, edit, 2)
    seen(memory, HALF, 2, [1, 1, 0, 0])
    spread = 3 / 4 * 4 / 6
    assert memory.hindsight["c"].observed == pytest.approx(2 * spread), "all that separates was spurious and now agrees"


def test_levels_are_looked_back_on_by_the_informative_share(memory):
    claim = Claim(pair_class="saturated", reason="r")
    edit = Edit(id="p", task_id="t", operation=SetLevel(op="lower_level", level=0.5), claim=claim, proposer="p")
    seen(memory, FULL, 1)
    accept(memory, edit, 2)
    seen(memory, FULL, 2)
    assert memory.hindsight["p"].observed == pytest.approx(0.25)


def test_an_edit_is_watched_for_a_few_visits_and_until_the_next_edit(memory):
    seen(memory, BLIND, 1)
    accept(memory, field_edit("t"), 2)
    for step in range(2, 4 + VISITS):
        seen(memory, HALF, step)
    assert memory.hindsight["e1"].visits == VISITS
    accept(memory, field_edit("t", edit_id="e2"), 20)
    seen(memory, FULL, 21)
    assert memory.hindsight["e1"].visits == VISITS
    assert memory.hindsight["e2"].visits == 1


@pytest.mark.parametrize(("texts", "fades"), [(BLIND, True), (HALF, False)])
def test_only_an_edit_whose_gain_has_gone_is_faded(memory, texts, fades):
    seen(memory, BLIND, 1)
    accept(memory, field_edit("t"), 2)
    for step in range(2, 2 + FADED_VISITS):
        assert memory.faded("t") == []
        seen(memory, texts, step)
    evidence = memory.recall("t", ("last", "window"), 4, 0)
    assert [d.edit.id for d in evidence.faded] == (["e1"] if fades else [])
    assert evidence.hindsight["e1"].visits == FADED_VISITS
    assert memory.entry_before("e1").level == 1.0


def test_an_edit_that_takes_another_back_does_not_fade_itself(memory):
    seen(memory, BLIND, 1)
    accept(memory, field_edit("t").model_copy(update={"reverses": "e0"}), 2)
    for step in range(2, 6):
        seen(memory, BLIND, step)
    assert memory.faded("t") == []


def test_what_kept_its_promise_elsewhere_is_recalled_first(memory):
    other = {"other": task("other")}["other"]
    memory.record(1, visit(other, ["alpha", "nothing"], step=1)[0])
    for edit_id, texts in (("faded", BLIND), ("kept", FULL)):
        seen(memory, BLIND, 10)
        accept(memory, field_edit("t", edit_id=edit_id), 11 if edit_id == "faded" else 21)
        seen(memory, texts, 12 if edit_id == "faded" else 22)
    near = memory.recall("other", ("cross_task",), 4, 2).neighbours
    assert [n.decision.edit.id for n in near] == ["kept", "faded"]
    assert near[0].hindsight > near[1].hindsight
