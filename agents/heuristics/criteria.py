"""Drafts on criteria: what Q tells apart and the criteria do not, what is asked twice or too much at once, what carries misordered
weight."""

import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from agents.checks import points_range
from agents.context import CaseFile
from agents.heuristics.draft import NEW, Draft
from agents.heuristics.evidence import LEAST_SEPARATION, net, total_points, verdicts
from agents.heuristics.thresholds import moved, said, stricter
from agents.leaks import phrases_of
from agents.words import COMMON, content_words, script_of, sentences_of, share_within, words_of
from memory.decision import Attribution
from memory.edit import (
    CreateCriterion,
    DeleteCriterion,
    MergeCriteria,
    PairClass,
    RepriceCriterion,
    RewordCriterion,
    SplitCriterion,
)
from memory.task import Criterion, Rule
from memory.visit import Rollout

LEAST_SCORED = 4
"""Scored rollouts from which on equal verdicts say that two criteria ask for the same."""
MOST_PARTS = 4
PRESENT = 0.5
"""Share of a part's content words from which on a response is taken to speak of it."""
_JOINTS = re.compile(r"\s*;\s*|,?\s+(?:and also|and|as well as)\s+|；|，?(?:并且|以及|同时|并)")
QUALIFIERS: dict[PairClass, tuple[str, str]] = {
    "saturated": (", in concrete detail and not in passing", "，须具体说明，不能一笔带过"),
    "blind": ("; doing so briefly or in part counts", "；简短或部分做到也算"),
    "spurious": (", judged by its substance and not by length, style or repetition", "，只看实质，不看篇幅、文风或重复"),
}
"""What an ``llm`` criterion is qualified by, in English and Chinese: stricter, laxer, and closer to what is meant."""


def criteria_drafts(case: CaseFile, attribution: Attribution) -> Iterator[Draft]:
    ids, pair_class = attribution.criterion_ids, attribution.pair_class
    most = points_range(case.task)[1]
    total = total_points(case.entry.rubric)
    if pair_class == "saturated":
        # The criteria there are separate nothing, so a new one may weigh as much as all of them.
        points = min(total, most)
        yield from _counterweight(case, points)
        yield from _carried_over(case, points)
        yield from _separators(case, points)
        yield from _separating_words(case, points)
        yield from _reworded(case, ids, pair_class)
        yield from _split(case, ids)
        yield from _merged(case, ids)
        yield from _repriced(case, ids)
    elif pair_class == "blind":
        yield from _separators(case, min(total, most) / 2)
        yield from _split(case, ids)
        yield from _reworded(case, ids, pair_class)
        yield from _separating_words(case, min(total, most) / 2)
        yield from _repriced(case, ids)
        yield from _merged(case, ids)
        yield from _deleted(case, ids)
    else:
        points = min(total / 2, most)
        yield from _counterweight(case, points)
        yield from _separators(case, points, only_worse=True)
        yield from _deleted(case, ids)
        yield from _repriced(case, ids)
        yield from _reworded(case, ids, pair_class)
        yield from _merged(case, ids)
        yield from _split(case, ids)
    yield from _exchanged(case, ids)


def named(case: CaseFile, ids: Sequence[str]) -> list[Criterion]:
    """The criteria of an attribution, in its order; all of them where it names none."""
    return [c for c in map(case.entry.criterion, ids) if c is not None] if ids else list(case.entry.rubric)


def created(text: str, points: float, rule: Rule) -> Draft:
    return Draft(CreateCriterion(criterion=Criterion(id=NEW, text=text, points=points, kind="rule", rule=rule)))


def _counterweight(case: CaseFile, points: float) -> Iterator[Draft]:
    """A negative criterion on repeating, where the worse responses of a pair repeat themselves more often than the better ones."""
    if any(c.rule and c.rule.name == "repeats_sentence" and c.rule.args.get("n", 2) <= 2 for c in case.entry.rubric):
        return
    if net(case, lambda r: {"repeats"} if _repeats(r) else set())["repeats"] <= -LEAST_SEPARATION:
        yield created("Says the same sentence more than once", -points, Rule(name="repeats_sentence"))


def _carried_over(case: CaseFile, points: float) -> Iterator[Draft]:
    """Criteria that were created with success on similar tasks of the domain, and not found useless since."""
    for neighbour in case.evidence.neighbours:
        operation = neighbour.decision.edit.operation
        if neighbour.decision.outcome != "accepted" or not isinstance(operation, CreateCriterion):
            continue
        if neighbour.hindsight is not None and neighbour.hindsight <= 0:
            continue
        sign = 1 if operation.criterion.points > 0 else -1
        if operation.criterion.rule is None or operation.criterion.rule not in [c.rule for c in case.entry.rubric]:
            criterion = operation.criterion.model_copy(update={"id": NEW, "points": sign * points, "parents": ()})
            yield Draft(CreateCriterion(criterion=criterion))


def _separators(case: CaseFile, points: float, only_worse: bool = False) -> Iterator[Draft]:
    """Criteria on the sentences that best separate the better from the worse responses of the last visit; none in free text, where no
    two responses say the same sentence."""
    told = [s for r in case.rollouts for s in set(sentences_of(r.text))]
    if len(set(told)) == len(told):
        return
    known = {p.lower().rstrip(".!?") for c in case.entry.rubric for p in phrases_of(c.rule)}
    ranked = sorted(net(case, lambda r: set(sentences_of(r.text))).items(), key=lambda item: (-abs(item[1]), item[0]))
    for sentence, excess in ranked[:3]:
        phrase = sentence.rstrip(".!?。！？")
        if abs(excess) < LEAST_SEPARATION or phrase.lower() in known or (only_worse and excess > 0) or not words_of(phrase):
            continue
        signed = points if excess > 0 else -points
        yield created(f"Says: {sentence}", signed, Rule(name="mentions_any", args={"phrases": [phrase]}))


def _separating_words(case: CaseFile, points: float) -> Iterator[Draft]:
    """Criteria on single words that the better responses have: free text repeats words where it repeats no sentence."""
    known = {w for c in case.entry.rubric for w in words_of(" ".join([c.text, *phrases_of(c.rule)]))}
    ranked = sorted(net(case, lambda r: content_words(r.text) - known).items(), key=lambda item: (-item[1], item[0]))
    for word, excess in ranked[:2]:
        if excess > LEAST_SEPARATION and not word.isnumeric():
            yield created(f"Speaks of {word}", points, Rule(name="mentions_any", args={"phrases": [word]}))


def _deleted(case: CaseFile, ids: Sequence[str]) -> Iterator[Draft]:
    if len(case.entry.rubric) > 1:
        for criterion in named(case, ids):
            yield Draft(DeleteCriterion(criterion_id=criterion.id))


def _repriced(case: CaseFile, ids: Sequence[str]) -> Iterator[Draft]:
    if len(case.entry.rubric) > 1:
        for criterion in case.entry.rubric:
            if criterion.id in ids:
                yield Draft(RepriceCriterion(criterion_id=criterion.id, points=criterion.points / 4))


def _reworded(case: CaseFile, ids: Sequence[str], pair_class: PairClass) -> Iterator[Draft]:
    """A threshold moved to where the responses separate as Q orders them; a qualifier for criteria that a model judges."""
    for criterion in named(case, ids):
        if new := moved(case, criterion):
            yield Draft(RewordCriterion(criterion_id=criterion.id, text=new[0], rule=new[1]))
    for criterion in named(case, ids):
        latin, chinese = QUALIFIERS[pair_class]
        qualifier = chinese if script_of(criterion.text) == "CJK" else latin
        qualified = any(q in criterion.text for pair in QUALIFIERS.values() for q in pair)
        if criterion.kind == "llm" and not qualified:
            yield Draft(RewordCriterion(criterion_id=criterion.id, text=criterion.text.rstrip(" .。") + qualifier))


def _split(case: CaseFile, ids: Sequence[str]) -> Iterator[Draft]:
    """A compound criterion in its parts, where the responses of the last visit tell the parts apart."""
    for criterion in named(case, ids):
        parts = parts_of(criterion)
        if not 2 <= len(parts) <= MOST_PARTS:
            continue
        met = [tuple(_speaks_of(r.text, part) for part in parts) for r in case.rollouts]
        if sum(len(set(found)) > 1 for found in met) >= LEAST_SEPARATION:
            points = criterion.points / len(parts)
            new = tuple(p.model_copy(update={"id": f"{NEW}-{k}", "points": points}) for k, p in enumerate(parts, 1))
            yield Draft(SplitCriterion(criterion_id=criterion.id, criteria=new))


def parts_of(criterion: Criterion) -> list[Criterion]:
    """The statements a criterion is made of; none for one that is not a compound."""
    if criterion.rule is not None:
        phrases = criterion.rule.args.get("phrases", ()) if criterion.rule.name == "mentions_all" else ()
        rules = [Rule(name="mentions_any", args={"phrases": [p]}) for p in phrases]
        return [criterion.model_copy(update={"text": f"Mentions {r.args['phrases'][0]}", "rule": r}) for r in rules]
    texts = [t.strip(" .。，,") for t in _JOINTS.split(criterion.text)]
    if criterion.kind != "llm" or len(texts) < 2 or not all(content_words(t) for t in texts):
        return []
    # "Warns about juice and alcohol": what follows shares the verb, unless it brings its own.
    lead = []
    for word in texts[0].split():
        if word.lower() not in COMMON:
            break
        lead.append(word)
    whole = [texts[0]]
    for text in texts[1:]:
        first, *rest = text.split()
        own_verb = first.lower() in COMMON or (bool(rest) and first.endswith("s"))
        sentence = text if own_verb or not lead else " ".join([*lead, text])
        whole.append(sentence[0].upper() + sentence[1:])
    return [criterion.model_copy(update={"text": text}) for text in whole]


def _speaks_of(response: str, part: Criterion) -> bool:
    if phrases := phrases_of(part.rule):
        return said(response, phrases[0]) > 0
    return share_within(content_words(part.text), words_of(response)) >= PRESENT


def _merged(case: CaseFile, ids: Sequence[str]) -> Iterator[Draft]:
    """One criterion for two whose verdicts coincide on the last visit: it counts once what was counted twice."""
    passed = {c.id: verdicts(case, c) for c in case.entry.rubric}
    for one, other in combinations(case.entry.rubric, 2):
        same = passed[one.id] == passed[other.id] and len(passed[one.id]) >= LEAST_SCORED
        siblings = bool(one.parents) and one.parents == other.parents
        concerned = bool({one.id, other.id} & set(ids or passed)) and one.points * other.points > 0
        if same and not siblings and concerned and (criterion := _both(one, other)):
            yield Draft(MergeCriteria(criterion_ids=(one.id, other.id), criterion=criterion))


def _both(one: Criterion, other: Criterion) -> Criterion | None:
    """A criterion that asks for what both ask, as heavy as the heavier; None for kinds that cannot be joined."""
    new = {"id": NEW, "points": max(one.points, other.points, key=abs), "parents": ()}
    if kept := stricter(one, other):
        return kept.model_copy(update=new)
    if one.kind == other.kind == "llm":
        joint = "；" if script_of(one.text) == "CJK" else "; "
        return one.model_copy(update={**new, "text": one.text.rstrip(" .。") + joint + other.text})
    rules = (one.rule, other.rule)
    if all(r is not None and r.name == "mentions_all" for r in rules):
        phrases = list(dict.fromkeys(phrases_of(one.rule) + phrases_of(other.rule)))
        text = f"Mentions {', '.join(phrases)}"
        return one.model_copy(update={**new, "text": text, "rule": Rule(name="mentions_all", args={"phrases": phrases})})
    return None


def _exchanged(case: CaseFile, ids: Sequence[str]) -> Iterator[Draft]:
    """What separates by Q in the place of a criterion that does not: neither need show alone."""
    for criterion in named(case, ids)[:1]:
        if len(case.entry.rubric) > 1:
            for draft in _separators(case, abs(criterion.points)):
                yield draft._replace(secondary=(DeleteCriterion(criterion_id=criterion.id),))


def _repeats(rollout: Rollout) -> bool:
    sentences = sentences_of(rollout.text.lower())
    return len(set(sentences)) < len(sentences)
