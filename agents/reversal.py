"""Taking back an edit whose gain has gone, as hindsight finds it.

A faded edit comes before any other failure of its task. The edit that takes it back is measured like any other, on the class that
the old one may now be causing; where it does not pay, the old edit stays.
"""

from collections.abc import Callable

from agents.context import CaseFile
from memory.decision import Attribution, Decision
from memory.edit import Claim, Edit, PairClass
from memory.harness import TaskHarness
from memory.reverse import reversal

AUTHOR = "hindsight"


def attribution_of(case: CaseFile) -> Attribution | None:
    """The newest faded edit as the failure to repair; None where no edit has faded, or taking it back was tried before."""
    decision = _faded(case)
    if decision is None:
        return None
    edit, seen = decision.edit, case.evidence.hindsight[decision.edit.id]
    return Attribution(
        task_id=case.task.id,
        pair_class=_class_now(case, edit),
        interface=edit.interface,
        criterion_ids=edit.claim.criterion_ids,
        reason=(
            f"the gain of '{edit.id}' ({edit.operation.op}) has gone: measured {seen.claimed:+.2f}, seen {seen.observed:+.2f} over "
            f"{seen.visits} visits since"
        ),
        evidence=(edit.id, seen.visit_id),
        author=AUTHOR,
    )


def reversal_edit(
    case: CaseFile, attribution: Attribution, new_id: str, entry_before: Callable[[str], TaskHarness | None]
) -> Edit | None:
    """The edit that takes the attributed one back, where hindsight attributed it and it can still be undone."""
    decision = _faded(case)
    if attribution.author != AUTHOR or decision is None:
        return None
    before = entry_before(decision.edit.id)
    operation = reversal(decision.edit, before, case.entry) if before is not None else None
    if operation is None:
        return None
    return Edit(
        id=f"{new_id}a",
        task_id=case.task.id,
        operation=operation,
        claim=Claim(pair_class=attribution.pair_class, reason=attribution.reason),
        evidence=attribution.evidence,
        proposer=AUTHOR,
        reverses=decision.edit.id,
    )


def _faded(case: CaseFile) -> Decision | None:
    tried = {d.edit.reverses for d in (*case.evidence.decisions, *case.tried)}
    return next((d for d in case.evidence.faded if d.edit.id not in tried), None)


def _class_now(case: CaseFile, edit: Edit) -> PairClass:
    """Guidance that no longer repairs what was blind may saturate its group; criteria that no longer agree are spurious."""
    if edit.interface == "c":
        return "spurious"
    shares = case.evidence.last.shares
    return "saturated" if shares.saturated >= shares.blind else "blind"
