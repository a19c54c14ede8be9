"""What the heuristics read off the last visit: who passed what, what better responses do, which words point at a criterion."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from agents.context import CaseFile
from agents.leaks import FEW_WORDS, LEAK, phrases_of
from agents.words import COMMON, content_words, numbers_of, script_of, sentences_of, share_within, terms_of, words_of
from memory.task import Criterion
from memory.visit import Rollout

CUE_WORDS = 3
"""Words in a guidance field: enough to point at a statement, too few to quote it."""
LEAST_SEPARATION = 2
"""Net pairs by which something must favour the better or the worse responses before an edit is made of it."""


def placed(case: CaseFile) -> dict[int, Rollout]:
    """The rollouts of the last visit by their place in it; one that is no longer on disk is left out."""
    found = {r.id: r for r in case.rollouts}
    return {k: found[i] for k, i in enumerate(case.evidence.last.rollout_ids) if i in found}


def separated(case: CaseFile) -> list[tuple[Rollout, Rollout]]:
    """The pairs that Q separates, the better response first."""
    at = placed(case)
    pairs = [p for p in case.evidence.last.quality if p.order and p.first in at and p.second in at]
    return [(at[p.first], at[p.second]) if p.order == 1 else (at[p.second], at[p.first]) for p in pairs]


def net(case: CaseFile, features: Callable[[Rollout], set[str]]) -> Counter[str]:
    """Over the pairs that Q separates: how often a feature is on the better side only, minus on the worse side only."""
    found = {r.id: features(r) for r in case.rollouts}
    count: Counter[str] = Counter()
    for better, worse in separated(case):
        count.update(found[better.id] - found[worse.id])
        count.subtract(found[worse.id] - found[better.id])
    return count


def verdicts(case: CaseFile, criterion: Criterion) -> dict[str, bool]:
    """Rollout id -> whether it passes the criterion, of those that were scored."""
    found = {}
    for rollout in case.rollouts:
        passed = next((v.passes(criterion) for v in rollout.verdicts if v.criterion_id == criterion.id), None)
        if passed is not None and rollout.score is not None:
            found[rollout.id] = passed
    return found


def pass_rate(case: CaseFile, criterion: Criterion, rollouts: Sequence[Rollout]) -> float | None:
    """The share of these rollouts that pass; None where none was scored."""
    found = verdicts(case, criterion)
    scored = [found[r.id] for r in rollouts if r.id in found]
    return sum(scored) / len(scored) if scored else None


def cue_words(case: CaseFile, criterion: Criterion) -> list[str]:
    """Content words that point at a criterion: of its rule's phrases where it has some, else of its text; numbers, common words and
    the prompt's own left out, longest first, since long words say more."""
    return pointers(case, "\n".join(phrases_of(criterion.rule) or [criterion.text]))


def pointers(case: CaseFile, text: str) -> list[str]:
    asked = set(words_of(" ".join(m.content for m in case.entry.messages)))
    words = [w for w in dict.fromkeys(terms_of(text)) if w not in COMMON and share_within(words_of(w), asked) < 1]
    return sorted((w for w in words if not numbers_of(w)), key=lambda w: (-len(w), w))


def cue_texts(case: CaseFile, criterion: Criterion) -> list[str]:
    """Cue words in portions that do not give the criterion away."""
    words, content = cue_words(case, criterion), len(content_words(criterion.text))
    size = min(CUE_WORDS, max(1, int(LEAK * content))) if content > FEW_WORDS else CUE_WORDS
    return [" ".join(words[start : start + size]) for start in range(0, len(words), size)]


def own_sentences(case: CaseFile, criterion: Criterion) -> list[str]:
    """What the policy itself said in responses of the last visit that pass the criterion: their sentences closest to it, best first.
    Quoting the policy gives nothing away that it does not know."""
    wanted = content_words("\n".join([criterion.text, *phrases_of(criterion.rule)]))
    passed = verdicts(case, criterion)
    told = [s for r in case.rollouts if passed.get(r.id) for s in sentences_of(r.text)]
    near = [(share_within(wanted, words_of(s)), s) for s in dict.fromkeys(told) if len(words_of(s)) <= 30 and not numbers_of(s)]
    return [s for share, s in sorted(near, key=lambda item: (-item[0], len(item[1]), item[1])) if share > 0][:2]


def worded(case: CaseFile, latin: str, chinese: str) -> str:
    """The form of a sentence for the language of the task; Chinese, or else English."""
    return chinese if script_of(case.task.messages[-1].content) == "CJK" else latin


def total_points(rubric: Sequence[Any]) -> float:
    return sum(abs(c.points) for c in rubric)
