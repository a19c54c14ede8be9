"""Checks on an edit that cost no rollout. What fails here is refused, counted, and told to the proposer."""

from collections.abc import Callable, Sequence

from agents.context import CaseFile
from agents.heuristics import COMMON, words_of
from memory.edit import AddField, Edit, RewriteTask, apply, free_text
from memory.errors import EditError, UserError
from memory.harness import TaskHarness
from memory.task import Rule

NEAR_DUPLICATE = 0.9
"""Jaccard overlap of the words of two edits above which they are the same edit."""
LEAK = 0.6
"""Share of a criterion's content words that guidance may carry when the criterion has more than three of them."""
REVERSAL_VISITS = 2
"""An edit may not undo another within this many visits of the task."""


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
    try:
        after = apply(edit, case.entry)
    except EditError as error:
        raise Refused(str(error)) from error
    for criterion in after.rubric:
        if criterion.rule is not None and criterion not in case.entry.rubric:
            try:
                validate_rule(criterion.rule)
            except UserError as error:
                raise Refused(str(error)) from error
    if not any(c.points > 0 for c in after.rubric):
        raise Refused("the edit would leave no criterion with positive points")
    _refuse_duplicate(edit, case)
    _refuse_reversal(edit, after, replaced)
    if edit.interface == "g":
        _check_guidance(edit, case, after)
    if isinstance(edit.operation, RewriteTask) and not edit.operation.messages[-1].content.strip():
        raise Refused("the rewritten task is empty")
    return after


def _refuse_duplicate(edit: Edit, case: CaseFile) -> None:
    words = set(words_of(free_text(edit.operation)))
    for decision in case.not_accepted():
        other = decision.edit
        if other.operation.op != edit.operation.op:
            continue
        # A level that was refused at an earlier visit may be asked for again: the policy has changed since.
        if edit.interface == "p" and decision not in case.tried:
            continue
        before = set(words_of(free_text(other.operation)))
        alike = bool(words) and len(words & before) / len(words | before) > NEAR_DUPLICATE
        if alike or other.content() == edit.content():
            raise Refused(f"near-duplicate of the {decision.outcome} edit '{other.id}'")


def _refuse_reversal(edit: Edit, after: TaskHarness, replaced: Sequence[TaskHarness]) -> None:
    def part(entry: TaskHarness):
        return {"p": (entry.level, entry.messages), "g": entry.guidance, "c": entry.rubric_content()}[edit.interface]

    if any(part(after) == part(entry) for entry in replaced):
        raise Refused(f"undoes a change made within the last {REVERSAL_VISITS} visits")


def _check_guidance(edit: Edit, case: CaseFile, after: TaskHarness) -> None:
    if isinstance(edit.operation, AddField) and len(after.guidance) > case.context.guidance_ceiling:
        raise Refused(f"{len(after.guidance)} guidance fields, the schedule allows {case.context.guidance_ceiling} now")
    words = set(words_of(free_text(edit.operation)))
    if any(w.isdigit() for w in words):
        raise Refused("guidance must not carry numbers")
    for criterion in case.entry.rubric:
        content = {w for w in words_of(criterion.text) if w not in COMMON}
        if len(content) > 3 and len(content & words) / len(content) > LEAK:
            raise Refused(f"guidance gives away the text of criterion '{criterion.id}'")
