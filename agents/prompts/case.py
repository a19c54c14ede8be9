"""A case written out for a model, within a budget of tokens.

Case data is untrusted text: it is placed between random markers by concatenation and is never used as a template. What does not fit
the budget is left out in the order of ``_views``, and a line says so; the sections that a role adds are kept to the last.
"""

import secrets
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agents.context import CaseFile
from agents.prompts.measured import class_text, decision_line, measured_lines
from agents.words import one_line, tokens_of
from memory.task import Criterion
from memory.visit import Rollout

EVIDENCE_TOKENS = 6000
"""The default of ``EvolverConfig.evidence_tokens``."""
EXCERPT, EXCERPT_FLOOR = 700, 120
"""Characters of one rollout shown to a model, and what they are shortened to at least before criteria are shortened."""
EXCERPTS = 4
"""Rollouts shown to a model: the best two and the worst two by score."""
WHOLE = 10**9
"""Characters or items without a limit."""
CUT = " … [cut]"


@dataclass(frozen=True)
class View:
    """How much of a case is shown: numbers of items, and characters of one text."""

    neighbours: int
    visits: int
    decisions: int
    criteria: int
    tried: int
    faded: int
    responses: int = EXCERPTS
    tables: bool = True
    excerpt: int = EXCERPT
    criterion: int = WHOLE
    prompt: int = WHOLE
    text: int = 600
    section: int = WHOLE


def case_text(case: CaseFile, budget_tokens: int = EVIDENCE_TOKENS, **sections: str) -> str:
    """The case as a model reads it: task, criteria with their health, guidance, visits, probes, rollouts, what was tried and measured,
    and ``sections`` by title. It has at most ``budget_tokens`` by ``agents.words.tokens_of``: four Latin characters are a token,
    any other character is one.
    """
    whole = _whole(case)
    views = list(_views(whole))

    def text(view: View) -> str:
        return "\n".join([*_lines(case, view, whole, sections), *_section_lines(sections, view)])

    largest = bisect_left(views, True, key=lambda view: tokens_of(text(view)) <= budget_tokens)
    # Past the last view come only ids or titles as long as texts.
    return text(views[largest]) if largest < len(views) else _cut(text(views[-1]), budget_tokens)


def _whole(case: CaseFile) -> View:
    evidence = case.evidence
    return View(
        neighbours=len(evidence.neighbours),
        visits=len(evidence.visits),
        decisions=len(evidence.decisions),
        criteria=len(case.entry.rubric),
        tried=len(case.tried),
        faded=len(evidence.faded),
    )


def _views(view: View) -> Iterator[View]:
    """Ever smaller views, the least important given up first: edits on similar tasks, older visits, older decisions, the length of
    rollout excerpts, of criteria, of the other texts; then whole criteria, rollouts, tables and older edits of this round."""
    yield view
    for count in range(view.neighbours - 1, -1, -1):
        yield (view := replace(view, neighbours=count))
    for count in range(view.visits - 1, 0, -1):
        yield (view := replace(view, visits=count))
    while view.decisions:
        yield (view := replace(view, decisions=view.decisions // 2))
    for size in (EXCERPT // 2, EXCERPT // 4, EXCERPT_FLOOR):
        yield (view := replace(view, excerpt=size))
    for size in (300, 150, 80):
        yield (view := replace(view, criterion=size))
    for size, text in ((4000, 300), (1500, 150), (600, 150)):
        yield (view := replace(view, prompt=size, text=text))
    while view.criteria > 12:
        yield (view := replace(view, criteria=max(12, view.criteria * 3 // 4)))
    yield (view := replace(view, responses=2))
    for count in range(view.tried - 1, 0, -1):
        yield (view := replace(view, tried=count))
    yield (view := replace(view, faded=min(view.faded, 1)))
    while view.criteria > 3:
        yield (view := replace(view, criteria=max(3, view.criteria - 3)))
    yield (view := replace(view, prompt=200, text=80))
    yield (view := replace(view, responses=0, tables=False))
    yield (view := replace(view, criteria=1, faded=0, section=1000))
    yield replace(view, section=300, text=40, prompt=80, criterion=40)


def _lines(case: CaseFile, view: View, whole: View, sections: dict[str, str]) -> list[str]:
    evidence, visit = case.evidence, case.evidence.last
    levels = ", ".join(f"{level:g}" for level in case.context.levels)
    lines = [
        f"Task {case.task.id}, domain {case.task.domain}, sampling level {case.entry.level:g} (of {levels}).",
        "",
        "## Prompt",
    ]
    lines += [fenced(_shortened("\n".join(f"[{m.role}] {m.content}" for m in case.entry.messages), view.prompt))]
    lines += ["", "## Criteria (last visit)", *_criterion_lines(case, view, sections)]
    lines += ["", f"## Guidance fields (at most {case.context.guidance_ceiling} now)"]
    lines += [f"- id={f.id}: {one_line(f.text, view.text)}" for f in case.entry.guidance[-8:]] or ["none"]
    lines += ["", "## Visits (oldest first)"]
    for v in evidence.visits[-view.visits :]:
        mean = f"{sum(v.scored) / len(v.scored):.2f}" if v.scored else "unscored"
        lines.append(f"- id={v.id} step {v.step}: mean score {mean}, {class_text(v.shares)}")
    signs = [f"{name} {sign.value:.2f} (a sign from {sign.threshold:g})" for name, sign in visit.signs.items() if sign.shows]
    lines += ["", "## Signs of reward hacking in the last visit", *(signs or ["none"])]
    lines += ["", "## Probes (small rehearsals that look for the cause)", *(_probe_lines(case, view) or ["none"])]
    lines += ["", f"## Responses of the last visit (spurious {visit.shares.spurious:.2f}, agree {visit.shares.agree:.2f})"]
    for r in _shown_responses(case, view):
        lines += [f"score {r.score:.2f}, {'guided' if r.guidance else 'plain'}:", fenced(_shortened(r.text, view.excerpt))]
    decisions = evidence.decisions[len(evidence.decisions) - view.decisions :]
    lines += ["", "## Edits of earlier rounds on this task (oldest first)"]
    lines += [decision_line(d, view.text, evidence.hindsight.get(d.edit.id)) for d in decisions] or _none(whole.decisions)
    if faded := evidence.faded[len(evidence.faded) - view.faded :]:
        lines += ["", "## Accepted edits of this task whose gain has gone"]
        lines += [decision_line(d, view.text, evidence.hindsight.get(d.edit.id)) for d in faded]
    lines += ["", "## Edits of this round on this task, with what was measured"]
    for d in case.tried[len(case.tried) - view.tried :]:
        lines += [decision_line(d, view.text), *(measured_lines(d.measurement) if d.measurement and view.tables else ())]
    lines += [] if view.tried else _none(whole.tried)
    if case.dropped:
        lines += ["", "## Candidates of your earlier replies that could not be used"]
        lines += [f"- {one_line(reason, view.text)}" for reason in case.dropped[-4:]]
    lines += ["", "## Edits on similar tasks"]
    lines += [decision_line(n.decision, view.text, n.hindsight) for n in evidence.neighbours[: view.neighbours]] or _none(
        whole.neighbours
    )
    if left := _left_out(view, whole):
        lines += ["", f"Left out for want of room: {left}."]
    return lines


def _none(there: int) -> list[str]:
    return ["none shown" if there else "none"]


def _criterion_lines(case: CaseFile, view: View, sections: dict[str, str]) -> list[str]:
    """In the rubric's order; where not all fit, those that a section names and the heaviest."""
    health = {h.criterion_id: h for h in case.evidence.last.criteria}
    told = f" {' '.join(sections.values())} ".replace(",", " ").replace(":", " ")
    ranked = sorted(case.entry.rubric, key=lambda c: (f" {c.id} " not in told, -abs(c.points)))
    shown = {c.id for c in ranked[: view.criteria]}

    def line(c: Criterion) -> str:
        h = health.get(c.id)
        rate = "unknown" if h is None or h.pass_rate is None else f"{h.pass_rate:.0%}"
        shares = class_text(h.shares) if h else ""
        rule = f" rule={one_line(c.rule.model_dump_json(), view.criterion)}" if c.rule else ""
        return (
            f"- id={c.id} points={c.points:g} kind={c.kind}{rule} passed by {rate}; {shares}: {one_line(c.text, view.criterion)}"
        )

    return [line(c) for c in case.entry.rubric if c.id in shown]


def _probe_lines(case: CaseFile, view: View) -> list[str]:
    lines = []
    for p in case.probes:
        on = f" on {one_line(', '.join(p.criterion_ids), view.text)}" if p.criterion_ids else ""
        rates = ", ".join(f"{when} {rate:.2f}" for when, rate in (("before", p.before), ("after", p.after)) if rate is not None)
        helps = {True: ", helps", False: ", does not help", None: ""}[p.helps] if p.kind == "full_hint" else ""
        lines.append(f"- {p.kind}{on}: {one_line(p.sentence, view.text)} ({rates or 'no rates'}{helps}; {p.rollouts} rollouts)")
    return lines


def _shown_responses(case: CaseFile, view: View) -> list[Rollout]:
    ranked = sorted((r for r in case.rollouts if r.score is not None), key=lambda r: -(r.score or 0.0))
    if len(ranked) <= view.responses:
        return ranked
    half = view.responses // 2
    return ranked[:half] + ranked[len(ranked) - half :]


def _left_out(view: View, whole: View) -> str:
    parts = [
        (whole.neighbours - view.neighbours, "edits on similar tasks"),
        (whole.visits - view.visits, "older visits"),
        (whole.decisions - view.decisions, "edits of earlier rounds"),
        (whole.criteria - view.criteria, "criteria"),
        (whole.tried - view.tried, "edits of this round"),
        (whole.faded - view.faded, "edits whose gain has gone"),
    ]
    said = [f"{count} {what}" for count, what in parts if count]
    said += ["some responses"] if view.responses < EXCERPTS else []
    said += ["the tables of the edits"] if not view.tables else []
    shortened = (view.excerpt, view.criterion, view.prompt, view.text) != (
        whole.excerpt,
        whole.criterion,
        whole.prompt,
        whole.text,
    )
    return ", ".join(said + (["ends of long texts"] if shortened else []))


def _section_lines(sections: dict[str, str], view: View) -> list[str]:
    lines = []
    for title, text in sections.items():
        lines += ["", f"## {title.capitalize()}", _shortened(text, view.section)]
    return lines


def fenced(text: str) -> str:
    """Untrusted text between markers that it cannot guess."""
    marker = secrets.token_hex(4)
    return f"<<<{marker}\n{text}\n{marker}>>>"


def _shortened(text: str, limit: int) -> str:
    """The beginning of a long text, and of a very long one its end too: what is asked may stand there."""
    if len(text) <= limit:
        return text
    tail = limit // 4
    return f"{text[: limit - tail]}{CUT} {text[len(text) - tail :]}"


def _cut(text: str, budget_tokens: int) -> str:
    """The end of a text, where the sections are, that fits the budget."""
    while tokens_of(text) > budget_tokens:
        text = text[max(1, len(text) // 10) :]
    return text
