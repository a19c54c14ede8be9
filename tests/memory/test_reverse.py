"""An edit can be taken back: the reversal restores what the edit changed, or says that it cannot."""

import pytest

from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
    RepriceCriterion,
    RetireField,
    RetireTask,
    RewordCriterion,
    RewriteField,
    RewriteTask,
    SetLevel,
    SplitCriterion,
    apply,
)
from memory.harness import GuidanceField, TaskHarness
from memory.reverse import reversal
from memory.task import Message, Rule
from tests.builders import criterion

BEFORE = TaskHarness(
    level=0.5,
    messages=(Message(role="user", content="Tell me about it."),),
    guidance=(GuidanceField(id="f", text="think of fruit"),),
    rubric=(criterion("one"), criterion("two", points=3)),
)
OTHER = (Message(role="user", content="Tell me all about it."),)
OPERATIONS = [
    SetLevel(op="raise_level", level=2),
    SetLevel(op="lower_level", level=0.25),
    RetireTask(),
    RewriteTask(direction="clearer", messages=OTHER),
    AddField(field=GuidanceField(id="g", text="and of nuts")),
    RewriteField(field_id="f", text="think of nuts"),
    RetireField(field_id="f"),
    CreateCriterion(criterion=criterion("three")),
    RewordCriterion(criterion_id="one", text="Says one", rule=Rule(name="mentions_any", args={"phrases": ["once"]})),
    RepriceCriterion(criterion_id="two", points=1),
    MergeCriteria(criterion_ids=("one", "two"), criterion=criterion("both", points=2)),
    SplitCriterion(criterion_id="two", criteria=(criterion("two-a"), criterion("two-b", points=2))),
    DeleteCriterion(criterion_id="one"),
]


def edit(operation, edit_id="e") -> Edit:
    claim = Claim(pair_class="blind", reason="test")
    return Edit(id=edit_id, task_id="t", operation=operation, claim=claim, proposer="test")


def content(entry: TaskHarness):
    return entry.level, entry.messages, [f.text for f in entry.guidance], entry.rubric_content()


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.op)
def test_the_reversal_restores_the_entry(operation):
    after = apply(edit(operation), BEFORE)
    back = reversal(edit(operation), BEFORE, after)
    assert back is not None
    assert content(apply(edit(back, "back"), after)) == content(BEFORE)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.op)
def test_what_was_taken_back_already_cannot_be_taken_back_again(operation):
    assert reversal(edit(operation), BEFORE, BEFORE) is None


@pytest.mark.parametrize(
    ("operation", "later"),
    [
        (RewriteField(field_id="f", text="think of nuts"), RewriteField(field_id="f", text="think of bread")),
        (RepriceCriterion(criterion_id="two", points=1), RepriceCriterion(criterion_id="two", points=2)),
        (CreateCriterion(criterion=criterion("three")), DeleteCriterion(criterion_id="three")),
        (SplitCriterion(criterion_id="two", criteria=(criterion("a"), criterion("b"))), DeleteCriterion(criterion_id="a")),
        (SetLevel(op="raise_level", level=2), SetLevel(op="lower_level", level=1)),
    ],
)
def test_a_later_edit_of_the_same_part_is_not_overwritten(operation, later):
    after = apply(edit(later, "later"), apply(edit(operation), BEFORE))
    assert reversal(edit(operation), BEFORE, after) is None
