"""The heuristic proposer: edits from written-down rules and a task's own evidence, without any LLM.

The embedded default, labelled ``heuristic`` wherever it appears. For an attribution it lists drafts in order of promise and gives
the first that were not tried before and pass the checks, different in kind:

    g, blind       add the field that worked for a criterion of the same words elsewhere, cue words of the heaviest criterion that
                   nobody passes, other words of it, the policy's own sentence that passed; rewrite a field that does not help;
                   with all fields taken, retire one
    g, saturated   retire a field
    c, spurious    punish what worse responses do more often (repeating, a stock sentence); delete the criterion that carries the
                   misordered weight; reprice it to a quarter; move its threshold, or say that substance counts; merge two criteria
                   with the same verdicts; split a compound
    c, saturated   punish repeating where it is what sets worse responses apart; a criterion that was accepted on a similar task;
                   ask for, or punish, the sentence or word that best separates by Q; move a threshold to where responses separate,
                   or ask for detail; split a compound; merge two with the same verdicts; reprice to a quarter
    c, blind       what best separates by Q; split a compound, for part of the points; move a threshold or count what is done in
                   part; reprice to a quarter; merge; delete
    c, any         last: what separates by Q in exchange for the criterion concerned, in one edit
    p              one level down or up; at the lowest level retire the task. Blind: a clearer text that names what is passed only
                   under guidance, an easier one that names the missing point. Saturated: a harder one that asks for the point that
                   separates, or leaves less room
"""

from collections.abc import Iterator
from string import ascii_lowercase
from typing import Protocol

from agents.checks import Refused, rejected, without_history
from agents.context import CaseFile
from agents.heuristics.criteria import criteria_drafts
from agents.heuristics.draft import Draft
from agents.heuristics.guidance import guidance_drafts
from agents.heuristics.sampling import sampling_drafts
from memory.decision import Attribution
from memory.edit import Claim, Edit


class Proposer(Protocol):
    author: str

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> list[Edit]:
        """The next edits to measure, at most ``count``, different in kind; none when there is nothing left worth measuring. Their ids
        are ``new_id`` followed by a letter.

        Raises:
            ChatFailure: the model behind the role failed; the case becomes a counted no-op.
            EditError: it answered with nothing but unusable candidates; likewise.
        """
        ...


class HeuristicProposer:
    author = "heuristic"

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> list[Edit]:
        found: list[Edit] = []
        tried = {d.edit.content() for d in rejected(case)}
        for draft in drafts(case, attribution):
            if len(found) == count:
                break
            if draft.operation.op in {e.operation.op for e in found}:
                continue
            edit = self._edit(draft, case, attribution, f"{new_id}{ascii_lowercase[len(found)]}")
            if edit.content() not in tried and _may_be_measured(edit, case):
                found.append(edit)
        return found

    def _edit(self, draft: Draft, case: CaseFile, attribution: Attribution, edit_id: str) -> Edit:
        known = {c.id for c in case.entry.rubric}
        claimed = tuple(i for i in draft.claimed if i in known)
        operation, _, secondary = draft.named(edit_id)
        return Edit(
            id=edit_id,
            task_id=case.task.id,
            operation=operation,
            secondary=secondary,
            claim=Claim(pair_class=attribution.pair_class, criterion_ids=claimed, reason=attribution.reason),
            evidence=attribution.evidence,
            proposer=self.author,
            revision_of=case.tried[-1].edit.id if case.tried else None,
        )


def drafts(case: CaseFile, attribution: Attribution) -> Iterator[Draft]:
    """In order of promise."""
    match attribution.interface:
        case "g":
            return guidance_drafts(case, attribution)
        case "c":
            return criteria_drafts(case, attribution)
        case "p":
            return sampling_drafts(case, attribution)


def _may_be_measured(edit: Edit, case: CaseFile) -> bool:
    try:
        without_history(edit, case)
    except Refused:
        return False
    return True
