"""The heuristic proposer: edits from written-down rules and a task's own evidence, without any LLM.

The embedded default, labelled ``heuristic`` wherever it appears. For an attribution it lists operations in order of promise and
takes the first that was not tried before:

    g, blind       the field that worked for a criterion of the same words elsewhere; cue words of the heaviest criterion that nobody
                   passes; other words of it; the next criterion
    g, saturated   retire a field
    c, spurious    punish what worse responses do more often (repeating, a stock sentence); delete the criterion that carries the
                   misordered weight; reprice it to a quarter
    c, saturated   punish repeating where it is what sets worse responses apart; a criterion that was accepted on a similar task;
                   ask for, or punish, the sentence that best separates by Q; reprice a saturated criterion to a quarter
    p              one level down or up; at the lowest level retire the task; for a blind task, name the missing point in its text
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from string import ascii_lowercase
from typing import Protocol

from agents.attribution import never_passed
from agents.context import CaseFile
from memory.decision import Attribution
from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    RepriceCriterion,
    RetireField,
    RetireTask,
    RewriteTask,
    SetLevel,
)
from memory.harness import GuidanceField
from memory.task import Criterion, Rule
from memory.visit import Rollout

CUE_WORDS = 3
"""Words in a guidance field: enough to point at a statement, too few to quote it."""
LEAST_SEPARATION = 2
"""Net pairs by which a sentence must favour the better or the worse responses before a criterion is made of it."""
COMMON = frozenset(
    """a an the and or of to in on at for with without by from as is are be was it its this that these those not no any some each
    says say states state mentions mention names name gives give explains explain warns warn about how why what which who answer
    response text reader user does do has have can should must least most than more less very into over when where
    """.split()
)


class Proposer(Protocol):
    author: str

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> list[Edit]:
        """The next edits to measure, at most ``count``, different in kind; none when there is nothing left worth measuring. Their ids
        are ``new_id`` followed by a letter.

        Raises:
            ChatFailure: the model behind the role failed; the case becomes a counted no-op.
        """
        ...


class HeuristicProposer:
    author = "heuristic"

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> list[Edit]:
        found: list[Edit] = []
        tried = {d.edit.content() for d in case.not_accepted()}
        revision_of = case.tried[-1].edit.id if case.tried else None
        for operation, claimed in operations(case, attribution, new_id):
            edit = Edit(
                id=f"{new_id}{ascii_lowercase[len(found)]}",
                task_id=case.task.id,
                operation=operation,
                claim=Claim(pair_class=attribution.pair_class, criterion_ids=claimed, reason=attribution.reason),
                evidence=attribution.evidence,
                proposer=self.author,
                revision_of=revision_of,
            )
            if edit.content() not in tried and operation.op not in {e.operation.op for e in found}:
                found.append(edit)
            if len(found) == count:
                break
        return found


def operations(case: CaseFile, attribution: Attribution, new_id: str) -> Iterator[tuple]:
    """(operation, claimed criterion ids) in order of promise."""
    match attribution.interface, attribution.pair_class:
        case "g", "saturated":
            for field in case.entry.guidance:
                yield RetireField(field_id=field.id), attribution.criterion_ids
        case "g", _:
            yield from guidance_operations(case, attribution, new_id)
        case "c", "saturated":
            # The criteria there are separate nothing, so a new one may weigh as much as all of them.
            points = total_points(case)
            yield from counterweight(case, new_id, points)
            yield from carried_over(case, new_id, points)
            yield from separators(case, new_id, points)
            yield from repriced(case, attribution.criterion_ids)
        case "c", _:
            points = total_points(case) / 2
            yield from counterweight(case, new_id, points)
            yield from separators(case, new_id, points, only_worse=True)
            for criterion_id in attribution.criterion_ids:
                if len(case.entry.rubric) > 1:
                    yield DeleteCriterion(criterion_id=criterion_id), ()
            yield from repriced(case, attribution.criterion_ids)
        case "p", _:
            yield from level_operations(case, attribution)


def guidance_operations(case: CaseFile, attribution: Attribution, new_id: str) -> Iterator[tuple]:
    hinted = {i for f in case.entry.guidance for i in f.criterion_ids}
    if len(case.entry.guidance) >= case.context.guidance_ceiling:
        for field in case.entry.guidance:
            yield RetireField(field_id=field.id), field.criterion_ids
        return
    criteria = {c.id: c for c in case.entry.rubric}
    for criterion_id in attribution.criterion_ids:
        criterion = criteria.get(criterion_id)
        if criterion is None or criterion_id in hinted:
            continue
        for text in dict.fromkeys([*worked_elsewhere(case, criterion), *cue_texts(case, criterion)]):
            yield AddField(field=GuidanceField(id=new_id, text=text, criterion_ids=(criterion_id,))), (criterion_id,)


def worked_elsewhere(case: CaseFile, criterion: Criterion) -> list[str]:
    """Guidance accepted on similar tasks whose words all belong to this criterion too."""
    words = set(words_of(" ".join([criterion.text, *phrases_of(criterion.rule)])))
    texts = [
        n.decision.edit.operation.field.text
        for n in case.evidence.neighbours
        if n.decision.outcome == "accepted" and isinstance(n.decision.edit.operation, AddField)
    ]
    return [t for t in texts if set(words_of(t)) <= words]


def cue_texts(case: CaseFile, criterion: Criterion) -> list[str]:
    words = cue_words(case, criterion)
    return [" ".join(words[start : start + CUE_WORDS]) for start in range(0, len(words), CUE_WORDS)]


def cue_words(case: CaseFile, criterion: Criterion) -> list[str]:
    """Content words that point at a criterion: of its rule's phrases where it has some, else of its text; the prompt's own
    words and common words left out, longest first, since long words say more."""
    phrases = phrases_of(criterion.rule) or [criterion.text]
    asked = set(words_of(" ".join(m.content for m in case.entry.messages)))
    words = [w for w in dict.fromkeys(words_of(" ".join(phrases))) if w not in COMMON and w not in asked and not w.isdigit()]
    return sorted(words, key=lambda w: (-len(w), w))


def phrases_of(rule: Rule | None) -> list[str]:
    """The phrases a ``mentions`` or ``in_order`` rule looks for."""
    if rule is None:
        return []
    values = [v for v in rule.args.values() if isinstance(v, str | list)]
    return [p for v in values for p in ([v] if isinstance(v, str) else v) if isinstance(p, str)]


def words_of(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def sentences_of(text: str) -> list[str]:
    return [s.strip() for s in re.split(r"(?<=[.!?。！？])\s*", text) if s.strip()]


def counterweight(case: CaseFile, new_id: str, points: float) -> Iterator[tuple]:
    """A negative criterion on repeating, where the worse responses of a pair repeat themselves more often than the better ones."""
    if any(c.rule and c.rule.name == "repeats_sentence" and c.rule.args.get("n", 2) <= 2 for c in case.entry.rubric):
        return
    if net(case, lambda r: {"repeats"} if repeats(r) else set())["repeats"] <= -LEAST_SEPARATION:
        rule = Rule(name="repeats_sentence")
        text = "Says the same sentence more than once"
        yield CreateCriterion(criterion=Criterion(id=new_id, text=text, points=-points, kind="rule", rule=rule)), ()


def carried_over(case: CaseFile, new_id: str, points: float) -> Iterator[tuple]:
    """Criteria that were created with success on similar tasks of the domain."""
    for neighbour in case.evidence.neighbours:
        operation = neighbour.decision.edit.operation
        if neighbour.decision.outcome != "accepted" or not isinstance(operation, CreateCriterion):
            continue
        sign = 1 if operation.criterion.points > 0 else -1
        if operation.criterion.rule not in [c.rule for c in case.entry.rubric]:
            criterion = operation.criterion.model_copy(update={"id": new_id, "points": sign * points, "parents": ()})
            yield CreateCriterion(criterion=criterion), ()


def separators(case: CaseFile, new_id: str, points: float, only_worse: bool = False) -> Iterator[tuple]:
    """Criteria on the sentences that best separate the better from the worse responses of the last visit."""
    known = {p.lower().rstrip(".!?") for c in case.entry.rubric for p in phrases_of(c.rule)}
    ranked = sorted(net(case, lambda r: set(sentences_of(r.text))).items(), key=lambda item: (-abs(item[1]), item[0]))
    for sentence, excess in ranked[:3]:
        phrase = sentence.rstrip(".!?")
        if abs(excess) < LEAST_SEPARATION or phrase.lower() in known or (only_worse and excess > 0):
            continue
        signed = points if excess > 0 else -points
        rule = Rule(name="mentions_any", args={"phrases": [phrase]})
        criterion = Criterion(id=new_id, text=f"Says: {sentence}", points=signed, kind="rule", rule=rule)
        yield CreateCriterion(criterion=criterion), ()


def repriced(case: CaseFile, criterion_ids: Sequence[str]) -> Iterator[tuple]:
    for criterion in case.entry.rubric:
        if criterion.id in criterion_ids and len(case.entry.rubric) > 1:
            yield RepriceCriterion(criterion_id=criterion.id, points=criterion.points / 4), ()


def level_operations(case: CaseFile, attribution: Attribution) -> Iterator[tuple]:
    levels, now = case.context.levels, case.entry.level
    if now < 1 and case.evidence.last.shares.informative > case.evidence.last.shares.saturated:
        yield SetLevel(op="raise_level", level=min(level for level in levels if level > now)), ()
        return
    lower = [level for level in levels if 0 < level < now]
    if lower:
        yield SetLevel(op="lower_level", level=max(lower)), attribution.criterion_ids
    elif now > 0:
        yield RetireTask(), attribution.criterion_ids
    if attribution.pair_class == "blind":
        for health in never_passed(case)[:1]:
            criterion = next(c for c in case.entry.rubric if c.id == health.criterion_id)
            last = case.entry.messages[-1]
            words = " ".join(cue_words(case, criterion)[:CUE_WORDS])
            easier = last.model_copy(update={"content": f"{last.content} Mention {words}."})
            messages = (*case.entry.messages[:-1], easier)
            yield RewriteTask(direction="easier", messages=messages), (health.criterion_id,)


def net(case: CaseFile, features) -> Counter[str]:
    """Over the pairs that Q separates: how often a feature is on the better side only, minus on the worse side only."""
    found = [features(r) for r in case.rollouts]
    count: Counter[str] = Counter()
    for pair in case.evidence.last.quality:
        if not pair.order or max(pair.first, pair.second) >= len(found):
            continue
        better, worse = (pair.first, pair.second) if pair.order > 0 else (pair.second, pair.first)
        count.update(found[better] - found[worse])
        count.subtract(found[worse] - found[better])
    return count


def repeats(rollout: Rollout) -> bool:
    sentences = sentences_of(rollout.text.lower())
    return len(set(sentences)) < len(sentences)


def total_points(case: CaseFile) -> float:
    return sum(abs(c.points) for c in case.entry.rubric)
