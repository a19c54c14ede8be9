"""Taking an edit back: the operation that restores the part of an entry which the edit has changed."""

from memory.edit import (
    AddField,
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
)
from memory.harness import GuidanceField, TaskHarness
from memory.task import Criterion


def reversal(edit: Edit, before: TaskHarness, now: TaskHarness) -> Operation | None:
    """The operation that takes ``edit``'s primary operation back, given the entry it was applied to and the entry as it is now;
    None where later edits have made that impossible, or it has been taken back already."""
    fields, criteria = {f.id: f for f in now.guidance}, {c.id: c for c in now.rubric}
    match edit.operation:
        case AddField(field=field) if field.id in fields:
            return RetireField(field_id=field.id)
        case RetireField(field_id=field_id) if field_id not in fields:
            old = next((f for f in before.guidance if f.id == field_id), None)
            return AddField(field=old) if old is not None else None
        case RewriteField(field_id=field_id, text=text) if field_id in fields and fields[field_id].text == text:
            return RewriteField(field_id=field_id, text=_field(before, field_id).text)
        case CreateCriterion(criterion=new) if new.id in criteria and len(criteria) > 1:
            return DeleteCriterion(criterion_id=new.id)
        case DeleteCriterion(criterion_id=criterion_id) if criterion_id not in criteria:
            return CreateCriterion(criterion=_criterion(before, criterion_id))
        case RepriceCriterion(criterion_id=criterion_id, points=points):
            if criterion_id in criteria and criteria[criterion_id].points == points:
                return RepriceCriterion(criterion_id=criterion_id, points=_criterion(before, criterion_id).points)
        case RewordCriterion(criterion_id=criterion_id, text=text):
            if criterion_id in criteria and criteria[criterion_id].text == text:
                old_criterion = _criterion(before, criterion_id)
                return RewordCriterion(criterion_id=criterion_id, text=old_criterion.text, rule=old_criterion.rule)
        case MergeCriteria(criterion_ids=ids, criterion=new) if new.id in criteria and not set(ids) & set(criteria):
            return SplitCriterion(criterion_id=new.id, criteria=tuple(_criterion(before, i) for i in ids))
        case SplitCriterion(criterion_id=criterion_id, criteria=parts):
            if criterion_id not in criteria and all(p.id in criteria for p in parts):
                return MergeCriteria(criterion_ids=tuple(p.id for p in parts), criterion=_criterion(before, criterion_id))
        case SetLevel(level=level) if now.level == level and before.level != level:
            return SetLevel(op="raise_level" if before.level > level else "lower_level", level=before.level)
        case RetireTask() if now.level == 0 and before.level > 0:
            return SetLevel(op="raise_level", level=before.level)
        case RewriteTask(messages=messages) if now.messages == messages and before.messages != messages:
            return RewriteTask(direction="clearer", messages=before.messages)
    return None


def _field(entry: TaskHarness, field_id: str) -> GuidanceField:
    return next(f for f in entry.guidance if f.id == field_id)


def _criterion(entry: TaskHarness, criterion_id: str) -> Criterion:
    return next(c for c in entry.rubric if c.id == criterion_id)
