"""Checks on an edit that cost no rollout. What fails here is refused, counted, and told to the proposer.

In order: it belongs to another task, or carries operations that its measurement would not see; it changes nothing or names an id that
does not exist; a rule, level or number of points is out of range; it is a near-duplicate of a rejected edit; it undoes a recent one;
and what its texts may not say (``agents.leaks``). All of it is looked for in what the edit does to the entry, so secondary operations
are held to the same rules as the primary one.
"""

from collections.abc import Callable, Sequence
from typing import Any

from agents.context import CaseFile
from agents.findings import HELD_BACK
from agents.leaks import alike, criterion_says, guidance_says, rewrite_changes, same_words
from agents.symptoms import never_passed
from agents.words import words_of
from memory.decision import Decision
from memory.edit import Edit, RetireTask, RewordCriterion, SetLevel, apply, free_text
from memory.errors import EditError, UserError
from memory.harness import TaskHarness
from memory.task import Criterion, Rule, Task

REVERSAL_VISITS = 2
"""An edit may not undo another within this many visits of the task."""
MOST_POINTS = 2.0
"""The most a criterion may be worth, in sums of |points| of the user's rubric: enough to outweigh all of it."""
LEAST_POINTS = 1 / 16
"""The least a criterion may be worth, in |points| of the lightest criterion of the user's rubric: two repricings to a quarter."""


class Refused(EditError):
    """An edit that was refused before any rollout was spent, with the reason for the proposer."""


def precheck(edit: Edit, case: CaseFile, replaced: Sequence[TaskHarness], validate_rule: Callable[[Rule], None]) -> TaskHarness:
    """The entry after the edit, if nothing speaks against measuring it.

    Args:
        replaced: what the entry was before each change within the last ``REVERSAL_VISITS`` visits.
        validate_rule: raises ``UserError`` for a rule that does not exist or has illegal arguments.

    Raises:
        Refused: with the reason in one sentence.
    """
    after = without_history(edit, case)
    for criterion in after.rubric:
        if criterion.rule is not None and criterion not in case.entry.rubric:
            try:
                validate_rule(criterion.rule)
            except UserError as error:
                raise Refused(str(error)) from error
    _refuse_reversal(case.entry, after, replaced)
    return after


def without_history(edit: Edit, case: CaseFile) -> TaskHarness:
    """The part of ``precheck`` that the case alone decides: all but rules and reversals. A proposer may ask it beforehand.

    Raises:
        Refused: with the reason in one sentence.
    """
    if edit.task_id != case.task.id:
        raise Refused(f"the edit is for task '{edit.task_id}', and this is '{case.task.id}'")
    if isinstance(edit.operation, SetLevel | RetireTask) and edit.secondary:
        # A level change is measured by how informative the present criteria are, so criteria would change unmeasured.
        raise Refused(f"{edit.operation.op} takes no secondary operations: propose them by themselves")
    try:
        after = apply(edit, case.entry)
    except EditError as error:
        raise Refused(str(error)) from error
    _refuse_unknown(edit, case)
    if not any(c.points > 0 for c in after.rubric):
        raise Refused("the edit would leave no criterion with positive points")
    _refuse_duplicate(edit, case)
    _check_sampling(edit, case, after)
    _check_guidance(case, after)
    _check_criteria(edit, case, after)
    _refuse_hiding(case, after)
    return after


def rejected(case: CaseFile) -> list[Decision]:
    """The decisions on this task that speak against trying the same again. That nobody answered for an edit does not."""
    found = [d for d in case.not_accepted() if not (d.outcome == "inconclusive" and d.sentence.startswith(HELD_BACK))]
    return [d for d in found if d.approval is None or d.approval.by == "person"]


def points_range(task: Task) -> tuple[float, float]:
    """The least and the most |points| that a criterion of the task may have, of the scale of the user's rubric."""
    own = [abs(c.points) for c in task.rubric]
    return LEAST_POINTS * min(own), MOST_POINTS * sum(own)


def _refuse_unknown(edit: Edit, case: CaseFile) -> None:
    known = {c.id for c in case.entry.rubric}
    named = [*edit.claim.criterion_ids]
    for operation in (edit.operation, *edit.secondary):
        named += operation.field.criterion_ids if operation.op == "add_field" else ()
    if unknown := sorted({i for i in named if i not in known}):
        raise Refused(f"unknown criterion '{unknown[0]}'; known: {', '.join(sorted(known))}")


def _refuse_duplicate(edit: Edit, case: CaseFile) -> None:
    for decision in rejected(case):
        # A level that was refused at an earlier visit may be asked for again: the policy has changed since, but not a person's mind.
        if edit.interface == "p" and decision not in case.tried and decision.approval is None:
            continue
        if near_duplicate(edit, decision.edit):
            raise Refused(f"near-duplicate of the {decision.outcome} edit '{decision.edit.id}'")


def near_duplicate(edit: Edit, other: Edit) -> bool:
    """Whether two edits do the same, but for a word. Guidance is compared across adding and rewriting: the policy reads the same."""
    if edit.content() == other.content():
        return True
    kinds = {"rewrite_field": "add_field"}
    one, two = edit.operation, other.operation
    if kinds.get(one.op, one.op) != kinds.get(two.op, two.op):
        return False
    if [o.model_dump(exclude=_IDENTITY) for o in edit.secondary] != [o.model_dump(exclude=_IDENTITY) for o in other.secondary]:
        return False
    if isinstance(one, RewordCriterion) and isinstance(two, RewordCriterion) and one.criterion_id != two.criterion_id:
        return False
    if brought(one) != brought(two):
        return False
    return same_words(free_text(one), free_text(two))


# Names given to new criteria do not make an edit a different one.
_IDENTITY: Any = {"criterion": {"id", "parents"}, "criteria": {"__all__": {"id", "parents"}}}


def brought(operation) -> list:
    """The checks in code that an operation brings in, and on which side of zero: they tell apart what is worded alike."""
    criteria = [getattr(operation, "criterion", None), *getattr(operation, "criteria", ())]
    rules = [(c.rule, c.points > 0) for c in criteria if c is not None]
    return [*rules, operation.rule] if isinstance(operation, RewordCriterion) else rules


def _refuse_reversal(before: TaskHarness, after: TaskHarness, replaced: Sequence[TaskHarness]) -> None:
    """An edit undoes a change if, in one part of the entry, all that it takes away came after that change and all that it brings
    was there before it."""
    now, then = _parts(before), _parts(after)
    for entry in replaced:
        for part, earlier in _parts(entry).items():
            gone, new = now[part] - then[part], then[part] - now[part]
            if (gone or new) and not gone & earlier and new <= earlier:
                raise Refused(f"undoes a change made within the last {REVERSAL_VISITS} visits")


def _parts(entry: TaskHarness) -> dict[str, frozenset]:
    texts = frozenset(m.model_dump_json() for m in entry.messages)
    fields = frozenset(f.text for f in entry.guidance)
    return {"level": frozenset([entry.level]), "text": texts, "guidance": fields, "criteria": entry.rubric_content()}


def _check_sampling(edit: Edit, case: CaseFile, after: TaskHarness) -> None:
    if isinstance(edit.operation, SetLevel) and edit.operation.level not in case.context.levels:
        legal = ", ".join(f"{level:g}" for level in case.context.levels)
        raise Refused(f"level {edit.operation.level:g} is none of {legal}")
    if after.messages != case.entry.messages and (reason := rewrite_changes(after.messages, case.task, _criteria(case))):
        raise Refused(reason)


def _check_guidance(case: CaseFile, after: TaskHarness) -> None:
    new = [f for f in after.guidance if f not in case.entry.guidance]
    if len(after.guidance) > max(len(case.entry.guidance), case.context.guidance_ceiling):
        raise Refused(f"{len(after.guidance)} guidance fields, the schedule allows {case.context.guidance_ceiling} now")
    for field in new:
        if reason := guidance_says(field.text, case.task, _criteria(case), case.rollouts):
            raise Refused(reason)
        for other in after.guidance:
            if other is not field and set(words_of(other.text)) == set(words_of(field.text)):
                raise Refused(f"the guidance field '{other.id}' says this already")


def _check_criteria(edit: Edit, case: CaseFile, after: TaskHarness) -> None:
    least, most = points_range(case.task)
    for criterion in after.rubric:
        before = case.entry.criterion(criterion.id)
        if criterion == before:
            continue
        if before is None or criterion.points != before.points:
            if not least <= abs(criterion.points) <= most:
                raise Refused(f"{criterion.points:g} points are out of range: between {least:g} and {most:g} on this task")
            if before is not None and criterion.points * before.points < 0:
                raise Refused(f"reprice_criterion keeps the sign; '{criterion.id}' has {before.points:g} points")
        if before is None or (criterion.text, criterion.rule) != (before.text, before.rule):
            _check_wording(criterion, before, case, after)


def _check_wording(criterion: Criterion, before: Criterion | None, case: CaseFile, after: TaskHarness) -> None:
    if before is not None and criterion.rule == before.rule and words_of(criterion.text) == words_of(before.text):
        raise Refused(f"the edit changes nothing in what criterion '{criterion.id}' asks")
    for other in after.rubric:
        if other.id != criterion.id and alike(criterion, other):
            raise Refused(f"criterion '{other.id}' asks for this already")
    # The user's own wording may always come back, whatever it quotes.
    own = criterion.text in {c.text for c in case.task.rubric}
    if not own and (reason := criterion_says(criterion, case.task, case.entry.guidance, case.entry.rubric)):
        raise Refused(reason)


def _criteria(case: CaseFile) -> list[Criterion]:
    """What must not be given away: the criteria now, and those the user brought."""
    return list({c.text: c for c in (*case.entry.rubric, *case.task.rubric)}.values())


def _refuse_hiding(case: CaseFile, after: TaskHarness) -> None:
    """Without a criterion that no rollout meets the rest weighs more, which looks like a gain of every share. Unless the policy fails
    it even when told all of it, the user's criterion stays, and guidance or sampling is the way."""
    hopeless = {i for p in case.probes if p.kind == "full_hint" and p.helps is False for i in p.criterion_ids}
    left = {i for c in after.rubric for i in (c.id, *c.parents)}
    gone = {c.id for c in case.task.rubric if case.entry.criterion(c.id) is not None} - left - hopeless
    for missed in never_passed(case) if gone else ():
        if missed.criterion_id in gone:
            raise Refused(
                f"criterion '{missed.criterion_id}' is the user's and no rollout meets it yet: "
                "without it the reward would only look better"
            )
