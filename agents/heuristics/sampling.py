"""Drafts on task sampling: the next level, retirement, and a task text that is easier, clearer or harder."""

from collections.abc import Iterator
from statistics import median

from agents.context import CaseFile
from agents.heuristics.draft import Draft
from agents.heuristics.evidence import LEAST_SEPARATION, cue_texts, net, pass_rate, pointers, worded
from agents.heuristics.guidance import HELPS
from agents.symptoms import never_passed
from agents.words import sentences_of
from memory.decision import Attribution
from memory.edit import RetireTask, RewriteTask, SetLevel

SHORT = 2
"""A harder version allows the usual number of sentences divided by this."""


def sampling_drafts(case: CaseFile, attribution: Attribution) -> Iterator[Draft]:
    levels, now, claimed = case.context.levels, case.entry.level, attribution.criterion_ids
    shares = case.evidence.last.shares
    if now < 1 and shares.informative > shares.saturated:
        yield Draft(SetLevel(op="raise_level", level=min(level for level in levels if level > now)))
        return
    lower = [level for level in levels if 0 < level < now]
    if lower:
        yield Draft(SetLevel(op="lower_level", level=max(lower)), claimed)
    elif now > 0:
        yield Draft(RetireTask(), claimed)
    if attribution.pair_class == "blind":
        yield from _clearer(case)
        yield from _easier(case)
    elif attribution.pair_class == "saturated":
        yield from _harder(case, claimed)


def _clearer(case: CaseFile) -> Iterator[Draft]:
    """Name what a criterion wants that is passed under guidance and never without: the policy can do it and is not told."""
    guided = [r for r in case.rollouts if r.guidance]
    for health in never_passed(case):
        criterion = case.entry.criterion(health.criterion_id)
        if criterion is not None and (pass_rate(case, criterion, guided) or 0) >= HELPS:
            for cue in cue_texts(case, criterion)[:1]:
                yield _rewrite(case, "clearer", worded(case, f"Be sure to cover {cue}.", f"请务必谈到{cue}。"), criterion.id)


def _easier(case: CaseFile) -> Iterator[Draft]:
    """Name the heaviest missing point."""
    for health in never_passed(case)[:1]:
        criterion = case.entry.criterion(health.criterion_id)
        if criterion is not None:
            for cue in cue_texts(case, criterion)[:1]:
                yield _rewrite(case, "easier", worded(case, f"Mention {cue}.", f"请提到{cue}。"), criterion.id)


def _harder(case: CaseFile, claimed: tuple[str, ...]) -> Iterator[Draft]:
    """Ask for the point that separates the better responses; else leave less room to make the points in."""
    ranked = sorted(net(case, lambda r: set(sentences_of(r.text))).items(), key=lambda item: (-item[1], item[0]))
    for sentence, excess in ranked[:1]:
        if excess >= LEAST_SEPARATION and (words := pointers(case, sentence)[:3]):
            cue = " ".join(words)
            yield _rewrite(case, "harder", worded(case, f"Go into {cue} as well.", f"请同时说明{cue}。"), *claimed)
    counts = [len(sentences_of(r.text)) for r in case.rollouts]
    if counts and (room := int(median(counts)) // SHORT):
        text = worded(case, f"Answer in at most {room} sentence{'s' * (room > 1)}.", f"请用不超过{room}句话回答。")
        yield _rewrite(case, "harder", text, *claimed)


def _rewrite(case: CaseFile, direction, added: str, *claimed: str) -> Draft:
    last = case.entry.messages[-1]
    space = "" if added[-1] == "。" else " "
    new = last.model_copy(update={"content": f"{last.content}{space}{added}"})
    return Draft(RewriteTask(direction=direction, messages=(*case.entry.messages[:-1], new)), claimed)
