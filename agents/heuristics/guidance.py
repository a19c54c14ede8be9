"""Drafts on guidance: what points the policy at a criterion that it never passes, and when a field has served its time."""

from collections.abc import Iterator

from agents.context import CaseFile
from agents.heuristics.draft import NEW, Draft
from agents.heuristics.evidence import cue_texts, own_sentences, pass_rate
from agents.leaks import phrases_of
from agents.words import words_of
from memory.decision import Attribution
from memory.edit import AddField, RetireField, RewriteField, free_text
from memory.harness import GuidanceField
from memory.task import Criterion

HELPS = 0.5
"""Pass rate of guided rollouts from which on a field is left as it is."""


def guidance_drafts(case: CaseFile, attribution: Attribution) -> Iterator[Draft]:
    if attribution.pair_class == "saturated":
        for field in case.entry.guidance:
            yield Draft(RetireField(field_id=field.id), attribution.criterion_ids)
        return
    if len(case.entry.guidance) < case.context.guidance_ceiling:
        yield from _added(case, attribution)
    yield from _rewritten(case)
    if len(case.entry.guidance) >= case.context.guidance_ceiling:
        for field in case.entry.guidance:
            yield Draft(RetireField(field_id=field.id), field.criterion_ids)


def _added(case: CaseFile, attribution: Attribution) -> Iterator[Draft]:
    hinted = {i for f in case.entry.guidance for i in f.criterion_ids}
    for criterion_id in attribution.criterion_ids:
        criterion = case.entry.criterion(criterion_id)
        if criterion is None or criterion_id in hinted:
            continue
        for text in hints(case, criterion):
            yield Draft(AddField(field=GuidanceField(id=NEW, text=text, criterion_ids=(criterion_id,))), (criterion_id,))


def _rewritten(case: CaseFile) -> Iterator[Draft]:
    """Other words for a field under which the guided rollouts of the last visit still fail: first what the policy itself said where
    it passed after all, then other cues."""
    for field in case.entry.guidance:
        guided = [r for r in case.rollouts if r.guidance and field.text in r.guidance]
        for criterion in filter(None, map(case.entry.criterion, field.criterion_ids)):
            rate = pass_rate(case, criterion, guided)
            if rate is None or rate >= HELPS:
                continue
            for text in dict.fromkeys([*own_sentences(case, criterion), *hints(case, criterion)]):
                if set(words_of(text)) != set(words_of(field.text)):
                    yield Draft(RewriteField(field_id=field.id, text=text), (criterion.id,))


def hints(case: CaseFile, criterion: Criterion) -> list[str]:
    """Texts that point at a criterion: what worked for the same words elsewhere, its cue words, the policy's own best sentence."""
    return list(
        dict.fromkeys([*_worked_elsewhere(case, criterion), *cue_texts(case, criterion), *own_sentences(case, criterion)])
    )


def _worked_elsewhere(case: CaseFile, criterion: Criterion) -> list[str]:
    """Guidance accepted on similar tasks, and not found useless since, whose words all belong to this criterion too."""
    words = set(words_of("\n".join([criterion.text, *phrases_of(criterion.rule)])))
    texts = [
        free_text(n.decision.edit.operation)
        for n in case.evidence.neighbours
        if n.decision.outcome == "accepted"
        and isinstance(n.decision.edit.operation, AddField | RewriteField)
        and (n.hindsight is None or n.hindsight > 0)
    ]
    return [t for t in texts if set(words_of(t)) <= words]
