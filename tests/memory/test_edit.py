"""Edits apply as typed, touch one interface, and refuse what does not fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from memory.edit import (
    INTERFACE_OF_OP,
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
    Operation,
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
from memory.errors import EditError
from memory.harness import GuidanceField, Harness
from memory.task import Message, Rule
from tests.builders import criterion, task

CLAIM = Claim(pair_class="spurious", reason="test")
FIELD = GuidanceField(id="f", text="hint")
RULE = Rule(name="word_count", args={"min": 3})
START = Harness().of(task()).model_copy(update={"guidance": (FIELD,)})

OPERATIONS = [
    SetLevel(op="raise_level", level=2),
    SetLevel(op="lower_level", level=0.5),
    RetireTask(),
    RewriteTask(direction="easier", messages=(Message(role="user", content="New"),)),
    AddField(field=GuidanceField(id="g", text="more")),
    RewriteField(field_id="f", text="other"),
    RetireField(field_id="f"),
    CreateCriterion(criterion=criterion("new")),
    RewordCriterion(criterion_id="alpha", text="other words", rule=RULE),
    RepriceCriterion(criterion_id="alpha", points=-2),
    MergeCriteria(criterion_ids=("alpha", "beta"), criterion=criterion("both")),
    SplitCriterion(criterion_id="alpha", criteria=(criterion("a1"), criterion("a2"))),
    DeleteCriterion(criterion_id="alpha"),
]


def edit(operation, **more) -> Edit:
    return Edit(id="e", task_id="t", operation=operation, claim=CLAIM, proposer="test", **more)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda o: o.op)
def test_an_edit_changes_its_own_interface_and_no_other(operation):
    after = apply(edit(operation), START)
    changed = {
        "p": (after.level, after.messages) != (START.level, START.messages),
        "g": after.guidance != START.guidance,
        "c": after.rubric != START.rubric,
    }
    assert [name for name, yes in changed.items() if yes] == [edit(operation).interface]


def test_every_operation_is_known_and_survives_the_journal():
    assert {o.op for o in OPERATIONS} == set(INTERFACE_OF_OP)
    for operation in OPERATIONS:
        assert TypeAdapter(Operation).validate_json(operation.model_dump_json()) == operation


@pytest.mark.parametrize(
    "operation",
    [
        SetLevel(op="raise_level", level=0.5),
        SetLevel(op="lower_level", level=1),
        RewriteTask(direction="harder", messages=START.messages),
        AddField(field=FIELD),
        RewriteField(field_id="f", text="hint"),
        RetireField(field_id="unknown"),
        CreateCriterion(criterion=criterion("alpha")),
        RewordCriterion(criterion_id="alpha", text="words without the rule"),
        RepriceCriterion(criterion_id="alpha", points=0),
        RepriceCriterion(criterion_id="alpha", points=1),
        RepriceCriterion(criterion_id="unknown", points=2),
        MergeCriteria(criterion_ids=("alpha", "unknown"), criterion=criterion("both")),
        SplitCriterion(criterion_id="alpha", criteria=(criterion("a1"), criterion("a1"))),
        DeleteCriterion(criterion_id="unknown"),
    ],
    ids=lambda o: o.op,
)
def test_what_does_not_fit_is_refused(operation):
    with pytest.raises(EditError):
        apply(edit(operation), START)


def test_the_last_criterion_cannot_be_deleted():
    single = Harness().of(task("t", criterion("alpha")))
    with pytest.raises(EditError, match="without criteria"):
        apply(edit(DeleteCriterion(criterion_id="alpha")), single)


def test_lineage_names_the_parents():
    after = apply(edit(MergeCriteria(criterion_ids=("alpha", "beta"), criterion=criterion("both"))), START)
    assert after.rubric[0].parents == ("alpha", "beta")


def test_content_ignores_names_given_to_new_parts():
    one = edit(AddField(field=GuidanceField(id="x", text="same")))
    two = edit(AddField(field=GuidanceField(id="y", text="same")))
    assert one.content() == two.content()
    assert one.content() != edit(AddField(field=GuidanceField(id="x", text="different"))).content()


@given(st.lists(st.sampled_from(OPERATIONS), max_size=6))
def test_no_sequence_of_edits_touches_the_task_or_leaves_an_illegal_entry(operations):
    t = task()
    before, entry = t.model_dump_json(), START
    for operation in operations:
        try:
            entry = apply(edit(operation), entry)
        except EditError:
            continue
    assert t.model_dump_json() == before
    assert len(entry.rubric) >= 1
    assert len({c.id for c in entry.rubric}) == len(entry.rubric)
