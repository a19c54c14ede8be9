"""Edits: typed changes to one interface of one task, and their application to a harness entry.

``apply`` is the only place where a harness entry changes. It is pure and refuses what does not fit with ``EditError``.
"""

from typing import Annotated, Literal

from pydantic import Field

from memory.errors import EditError
from memory.harness import GuidanceField, TaskHarness
from memory.task import Criterion, Message, Noun, Rule

Interface = Literal["p", "g", "c"]
PairClass = Literal["blind", "saturated", "spurious"]


class SetLevel(Noun):
    """Raise or lower the sampling weight of the task."""

    op: Literal["raise_level", "lower_level"]
    level: float = Field(gt=0)


class RetireTask(Noun):
    op: Literal["retire_task"] = "retire_task"


class RewriteTask(Noun):
    op: Literal["rewrite_task"] = "rewrite_task"
    direction: Literal["easier", "harder", "clearer"]
    messages: tuple[Message, ...] = Field(min_length=1)


class AddField(Noun):
    op: Literal["add_field"] = "add_field"
    field: GuidanceField


class RewriteField(Noun):
    op: Literal["rewrite_field"] = "rewrite_field"
    field_id: str
    text: str = Field(min_length=1)


class RetireField(Noun):
    op: Literal["retire_field"] = "retire_field"
    field_id: str


class CreateCriterion(Noun):
    op: Literal["create_criterion"] = "create_criterion"
    criterion: Criterion


class RewordCriterion(Noun):
    """New wording, and for a ``rule`` criterion the new check behind it; points and kind stay."""

    op: Literal["reword_criterion"] = "reword_criterion"
    criterion_id: str
    text: str = Field(min_length=1)
    rule: Rule | None = None


class RepriceCriterion(Noun):
    op: Literal["reprice_criterion"] = "reprice_criterion"
    criterion_id: str
    points: float


class MergeCriteria(Noun):
    op: Literal["merge_criteria"] = "merge_criteria"
    criterion_ids: tuple[str, ...] = Field(min_length=2)
    criterion: Criterion


class SplitCriterion(Noun):
    op: Literal["split_criterion"] = "split_criterion"
    criterion_id: str
    criteria: tuple[Criterion, ...] = Field(min_length=2)


class DeleteCriterion(Noun):
    op: Literal["delete_criterion"] = "delete_criterion"
    criterion_id: str


CriterionOperation = Annotated[
    CreateCriterion | RewordCriterion | RepriceCriterion | MergeCriteria | SplitCriterion | DeleteCriterion,
    Field(discriminator="op"),
]
Operation = Annotated[
    SetLevel | RetireTask | RewriteTask
    | AddField | RewriteField | RetireField
    | CreateCriterion | RewordCriterion | RepriceCriterion | MergeCriteria | SplitCriterion | DeleteCriterion,
    Field(discriminator="op"),
]  # fmt: skip

INTERFACE_OF_OP: dict[str, Interface] = {
    "raise_level": "p", "lower_level": "p", "retire_task": "p", "rewrite_task": "p",
    "add_field": "g", "rewrite_field": "g", "retire_field": "g",
    "create_criterion": "c", "reword_criterion": "c", "reprice_criterion": "c",
    "merge_criteria": "c", "split_criterion": "c", "delete_criterion": "c",
}  # fmt: skip


class Claim(Noun):
    """What the edit promises: the share of ``pair_class`` over ``criterion_ids`` (empty: all criteria) falls."""

    pair_class: PairClass
    criterion_ids: tuple[str, ...] = ()
    reason: str


class Edit(Noun):
    id: str
    task_id: str
    operation: Operation
    secondary: tuple[CriterionOperation, ...] = ()
    claim: Claim
    evidence: tuple[str, ...] = ()
    proposer: str
    revision_of: str | None = None
    reverses: str | None = None
    """The earlier edit that this one takes back, because its gain has gone."""

    @property
    def interface(self) -> Interface:
        return INTERFACE_OF_OP[self.operation.op]

    def content(self) -> str:
        """What the edit would change, without ids and reasons: equal for two edits that do the same."""
        operations = [self.operation, *self.secondary]
        return self.task_id + "\n" + "\n".join(o.model_dump_json(exclude=_IDENTITY) for o in operations)


def free_text(operation) -> str:
    """The words an operation brings in: what it would say to the policy or the judge; empty for one that only moves numbers."""
    match operation:
        case AddField(field=field):
            return field.text
        case RewriteField(text=text) | RewordCriterion(text=text):
            return text
        case RewriteTask(messages=messages):
            return "\n".join(m.content for m in messages)
        case CreateCriterion(criterion=criterion) | MergeCriteria(criterion=criterion):
            return criterion.text
        case SplitCriterion(criteria=criteria):
            return "\n".join(c.text for c in criteria)
    return ""


# Names given to new criteria and fields do not make an edit a different one.
_IDENTITY: dict[str, set[str]] = {"criterion": {"id", "parents"}, "field": {"id"}}


def apply(edit: Edit, entry: TaskHarness) -> TaskHarness:
    """``entry`` after the edit.

    Raises:
        EditError: an id is unknown or already taken, the rubric would end empty, or nothing would change.
    """
    after = entry
    for operation in (edit.operation, *edit.secondary):
        after = _apply_one(operation, after)
    if after == entry:
        raise EditError(f"edit '{edit.id}' ({edit.operation.op}) changes nothing")
    return after


def _apply_one(operation, entry: TaskHarness) -> TaskHarness:
    match operation:
        case SetLevel(op="raise_level", level=level) if level <= entry.level:
            raise EditError(f"raise_level to {level:g} does not raise the level {entry.level:g}")
        case SetLevel(op="lower_level", level=level) if level >= entry.level:
            raise EditError(f"lower_level to {level:g} does not lower the level {entry.level:g}")
        case SetLevel(level=level):
            return entry.model_copy(update={"level": level})
        case RetireTask():
            return entry.model_copy(update={"level": 0.0})
        case RewriteTask(messages=messages):
            return entry.model_copy(update={"messages": messages})
        case AddField(field=field):
            _refuse_taken({field.id}, {f.id for f in entry.guidance}, "guidance field")
            return entry.model_copy(update={"guidance": (*entry.guidance, field)})
        case RewriteField(field_id=field_id, text=text):
            _require(field_id, {f.id for f in entry.guidance}, "guidance field")
            fields = tuple(f.model_copy(update={"text": text}) if f.id == field_id else f for f in entry.guidance)
            return entry.model_copy(update={"guidance": fields})
        case RetireField(field_id=field_id):
            _require(field_id, {f.id for f in entry.guidance}, "guidance field")
            return entry.model_copy(update={"guidance": tuple(f for f in entry.guidance if f.id != field_id)})
        case CreateCriterion(criterion=criterion):
            return _with_criteria(entry, replaced=(), new=(criterion,))
        case RewordCriterion(criterion_id=criterion_id, text=text, rule=rule):
            old = _criterion(entry, criterion_id)
            if (rule is None) != (old.rule is None):
                raise EditError(
                    f"reword_criterion of '{criterion_id}' (kind {old.kind}) must {'' if old.rule else 'not '}give a rule"
                )
            new = old.model_copy(update={"text": text, "rule": rule})
            return entry.model_copy(update={"rubric": tuple(new if c.id == criterion_id else c for c in entry.rubric)})
        case RepriceCriterion(criterion_id=criterion_id, points=points):
            repriced = {**_criterion(entry, criterion_id).model_dump(), "points": points}
            try:
                new = Criterion.model_validate(repriced)
            except ValueError as error:
                raise EditError(f"reprice_criterion of '{criterion_id}': points {points} are illegal") from error
            return entry.model_copy(update={"rubric": tuple(new if c.id == criterion_id else c for c in entry.rubric)})
        case MergeCriteria(criterion_ids=ids, criterion=criterion):
            if len(set(ids)) < len(ids):
                raise EditError(f"merge_criteria needs different criteria, got {', '.join(ids)}")
            return _with_criteria(entry, replaced=ids, new=(criterion,))
        case SplitCriterion(criterion_id=criterion_id, criteria=criteria):
            return _with_criteria(entry, replaced=(criterion_id,), new=criteria)
        case DeleteCriterion(criterion_id=criterion_id):
            return _with_criteria(entry, replaced=(criterion_id,), new=())
    raise EditError(f"unknown operation {operation!r}")


def _with_criteria(entry: TaskHarness, replaced: tuple[str, ...], new: tuple[Criterion, ...]) -> TaskHarness:
    for criterion_id in replaced:
        _criterion(entry, criterion_id)
    kept = tuple(c for c in entry.rubric if c.id not in replaced)
    _refuse_taken({c.id for c in new}, {c.id for c in entry.rubric}, "criterion")
    if len({c.id for c in new}) != len(new):
        raise EditError("new criteria share an id")
    rubric = (*kept, *(c.model_copy(update={"parents": c.parents or replaced}) for c in new))
    if not rubric:
        raise EditError("the edit would leave the task without criteria")
    return entry.model_copy(update={"rubric": rubric})


def _criterion(entry: TaskHarness, criterion_id: str) -> Criterion:
    _require(criterion_id, {c.id for c in entry.rubric}, "criterion")
    return next(c for c in entry.rubric if c.id == criterion_id)


def _require(name: str, known: set[str], what: str) -> None:
    if name not in known:
        raise EditError(f"unknown {what} '{name}'; known: {', '.join(sorted(known)) or 'none'}")


def _refuse_taken(new: set[str], known: set[str], what: str) -> None:
    if taken := sorted(new & known):
        raise EditError(f"{what} id already in use: {', '.join(taken)}")
