"""The diff of an edit: exactly what goes and what comes, and honest where the entry before is unknown."""

import pytest

from memory.edit import (
    AddField,
    Claim,
    DeleteCriterion,
    Edit,
    RepriceCriterion,
    RetireTask,
    RewordCriterion,
    RewriteTask,
    SetLevel,
)
from memory.harness import GuidanceField, Harness
from memory.task import Message
from tests.ui.synthetic import TASKS
from ui.change import change

TASK = TASKS["fever-1"]
BEFORE = Harness().of(TASK)
REWRITTEN = (Message(role="user", content="Tell me about a fever.\nBe brief."),)


def edit(operation, *secondary) -> Edit:
    claim = Claim(pair_class="blind", reason="r")
    return Edit(id="e", task_id=TASK.id, operation=operation, secondary=secondary, claim=claim, proposer="test")


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (SetLevel(op="lower_level", level=0.25), ["- level 1", "+ level 0.25"]),
        (RetireTask(), ["- level 1", "+ level 0 (retired)"]),
        (RewriteTask(direction="clearer", messages=REWRITTEN), ["+ user: Be brief."]),
        (AddField(field=GuidanceField(id="g", text="one\ntwo")), ["+ guidance g: one", "+ guidance g: two"]),
        (RepriceCriterion(criterion_id="c4", points=-1), ["- [-4] Invents a number or a source  (c4)", "+ [-1] Invents a number or a source  (c4)"]),
    ],
)  # fmt: skip
def test_only_what_changes_is_shown(operation, expected):
    assert change(edit(operation), BEFORE).splitlines() == expected


def test_secondary_operations_are_part_of_the_change():
    lines = change(edit(DeleteCriterion(criterion_id="c3"), RepriceCriterion(criterion_id="c1", points=1)), BEFORE).splitlines()
    assert [line[:6] for line in lines] == ["- [+5]", "+ [+1]", "- [+2]"]


def test_without_the_entry_what_goes_is_said_to_be_unknown():
    assert change(edit(RewordCriterion(criterion_id="c1", text="New")), None).splitlines() == [
        "- criterion c1 as it was (not recorded)",
        "+ New  (c1, same points)",
    ]


def test_an_edit_that_does_not_fit_says_so():
    lines = change(edit(DeleteCriterion(criterion_id="zz")), BEFORE).splitlines()
    assert lines[0].startswith("! cannot be applied: unknown criterion 'zz'")
    assert lines[1] == "- criterion zz as it was (not recorded)"
