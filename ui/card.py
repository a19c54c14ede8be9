"""One edit on one card, as HTML: evidence, reason, change, measurement, decision, and what came of it. All text is escaped.

The console and the exported file show the same cards.
"""

import xml.etree.ElementTree as ET

from memory.decision import Attribution, Decision, Probe, probe_id
from ui import drawing
from ui.change import Parts, sides
from ui.drawing import counted
from ui.html import h
from ui.readers import Remembered, RunView
from ui.words import INTERFACES, OUTCOME_SIGNS, UNKNOWN, operation, said_of, share, signed

QUOTED_IDS = 5
"""Evidence and memories that are named one by one before they fold away."""

PROBES = {probe_id("full_hint"): "Probe with a full hint", probe_id("quality"): "Probe of quality"}
"""Probes by the id under which evidence cites them."""
UNMEASURED = {
    "accepted": "taken as proposed (critic.acceptance: opinion)",
    "rejected": "refused before any rollout was spent",
    "inconclusive": "held back before any rollout was spent",
}


def card(run: RunView, remembered: Remembered) -> ET.Element:
    """The whole card; ``id`` is the edit's, for links within a page."""
    decision = remembered.decision
    pictures = [
        h("h4", "What the critic measured"),
        *(_measured(run, decision)),
    ]
    why = [h("h4", "Why it was proposed"), *_reason(run, decision), *_evidence(run, decision)]
    return h(
        "article",
        _header(decision),
        h("p", decision.sentence, class_="sentence"),
        *(h("p", h("b", "Note: "), note) for note in later_notes(run, decision)),
        h("div", h("section", pictures), h("section", why), class_="columns"),
        h("h4", "The change"),
        diff(sides(decision.edit, run.entry_before(remembered))),
        h("div", h("section", _revisions(run, remembered)), h("section", _memories(run, decision)), class_="columns"),
        class_="card",
        id=decision.edit.id,
    )


def _header(decision: Decision) -> ET.Element:
    edit = decision.edit
    extra = f", with {', '.join(operation(o.op) for o in edit.secondary)}" if edit.secondary else ""
    meta = [f"step {decision.step}", f"round {decision.round}", f"revision {decision.revision}", f"by {edit.proposer}", edit.id]
    meta += [f"takes back {edit.reverses}"] if edit.reverses else []
    return h(
        "header",
        h("span", INTERFACES[edit.interface], class_=f"badge {edit.interface}"),
        h("span", f"{OUTCOME_SIGNS[decision.outcome]} {decision.outcome}", class_=f"badge {decision.outcome}"),
        h("span", said_of(decision.approval), class_=f"badge {decision.outcome}") if decision.approval else None,
        h("b", f"{operation(edit.operation.op)} on {edit.task_id}{extra}"),
        h("span", " · ".join(meta), class_="meta"),
    )


def later_notes(run: RunView, decision: Decision) -> list[str]:
    """Notes that a person left on an edit after it was decided."""
    if decision.approval is None:
        return []
    known = decision.approval.notes
    return [a.note for a in run.answers if a.edit_id == decision.edit.id and a.note and a.note not in known]


def _measured(run: RunView, decision: Decision) -> list[ET.Element | None]:
    found, hindsight = decision.measurement, run.hindsight.get(decision.edit.id)
    if found is None:
        return [h("p", f"Not measured: the edit was {UNMEASURED[decision.outcome]}.", class_="note")]
    facts = [
        counted(found.rollouts, "fresh rollout"),
        counted(found.quality_calls, "quality call"),
        counted(found.looks, "look"),
        f"{found.effect.level:.1%} intervals",
    ]
    if found.mean_score_before is not None and found.mean_score_after is not None:
        facts.append(f"mean score {found.mean_score_before:.2f} → {found.mean_score_after:.2f}")
    if found.change and (found.change.by_rollouts is not None or found.change.by_criteria is not None):
        by = [(found.change.by_rollouts, "by other rollouts"), (found.change.by_criteria, "by other criteria")]
        facts.append("of it " + ", ".join(f"{signed(v)} {name}" for v, name in by if v is not None))
    compared = found.before.pairs or found.after.pairs
    return [
        drawing.effect(decision, hindsight),
        drawing.stacked([("before", found.before), ("after", found.after)]) if compared else None,
        drawing.guards(found),
        drawing.chance(found),
        h("p", " · ".join(facts), class_="meta"),
        _hindsight(run, decision),
    ]


def _hindsight(run: RunView, decision: Decision) -> ET.Element | None:
    hindsight = run.hindsight.get(decision.edit.id)
    if hindsight is not None:
        text = (
            f"Hindsight: the measurement promised {signed(hindsight.claimed)}; the {counted(hindsight.visits, 'visit')} since show "
            f"{signed(hindsight.observed)}."
        )
        return h("p", text)
    if decision.outcome == "accepted":
        return h("p", "Hindsight: the task was not visited again yet.", class_="meta")
    return None


def _reason(run: RunView, decision: Decision) -> list[ET.Element]:
    attribution, claim = run.attribution(decision), decision.edit.claim
    claimed = f" over {', '.join(claim.criterion_ids)}" if claim.criterion_ids else ""
    promise = h("p", h("b", "Claim: "), f"less {claim.pair_class}{claimed}: {claim.reason}")
    if attribution is None:
        return [h("p", "The attribution was not recorded: the round's record is missing."), promise]
    where = f"{attribution.pair_class} → {INTERFACES[attribution.interface]}"
    found = [h("p", h("b", f"{where}: "), attribution.reason, h("span", f" (by {attribution.author})", class_="meta"))]
    if attribution.overruled:
        found.append(h("p", h("b", "Overruled, the rules would have said: "), attribution.overruled, class_="note"))
    return [*found, *(_probe(p) for p in attribution.probes), promise]


def _probe(probe: Probe) -> ET.Element:
    answer = {True: "✓ helps", False: "✗ does not help", None: "? could not tell"}[probe.helps]
    name = PROBES[probe_id(probe.kind)]
    numbers = f", {share(probe.before)} → {share(probe.after)}" if probe.before is not None and probe.after is not None else ""
    numbers = numbers or (f", {share(probe.before)}" if probe.before is not None else "")
    cost = f" ({counted(probe.rollouts, 'rollout')}, {counted(probe.quality_calls, 'quality call')})"
    return h("p", h("b", f"{name}: {answer}{numbers}. "), probe.sentence, h("span", cost, class_="meta"), class_="note")


def evidence_ids(run: RunView, decision: Decision) -> list[str]:
    attribution: Attribution | None = run.attribution(decision)
    return list(dict.fromkeys([*(attribution.evidence if attribution else ()), *decision.edit.evidence]))


def _evidence(run: RunView, decision: Decision) -> list[ET.Element]:
    ids = evidence_ids(run, decision)
    if not ids:
        return [h("p", "No evidence was cited.", class_="meta")]
    return [h("p", h("b", "Evidence cited:")), *_folded([describe(run, i) for i in ids])]


def _folded(lines: list[str]) -> list[ET.Element]:
    first, rest = lines[:QUOTED_IDS], lines[QUOTED_IDS:]
    shown = [h("ul", [h("li", line) for line in first])]
    if rest:
        shown.append(h("details", h("summary", f"{len(rest)} more"), h("ul", [h("li", line) for line in rest])))
    return shown


def diff(rows: list[tuple[Parts | None, Parts | None]]) -> ET.Element:
    """Before and after side by side, the words that differ marked."""
    cells = [h("div", "before", class_="head"), h("div", "after", class_="head")]
    for old, new in rows:
        cells += [_side(old, "gone", "del"), _side(new, "come", "ins")]
    return h("div", cells, class_="diff")


def _side(parts: Parts | None, name: str, mark: str) -> ET.Element:
    if parts is None:
        return h("div")
    return h("div", [h(mark, text) if differs else text for text, differs in parts], class_=name)


def _revisions(run: RunView, remembered: Remembered) -> list[ET.Element]:
    """All edits of this round on this task, in order, this one in bold."""
    decision = remembered.decision
    same = sorted(run.attempts.get((decision.round, decision.edit.task_id), ()), key=lambda d: (d.decision.revision, d.seq))
    lines = []
    for other in same:
        d = other.decision
        text = f"revision {d.revision}: {OUTCOME_SIGNS[d.outcome]} {operation(d.edit.operation.op)}, {d.outcome}"
        lines.append(h("li", h("b", f"{text} (this card)") if other.seq == remembered.seq else f"{text}: {d.sentence}"))
    record = run.rounds.get(decision.round)
    cost = []
    if record:
        words = f"The whole round: {counted(record.rollouts, 'rollout')}, {counted(record.quality_calls, 'quality call')}"
        words += f", {counted(len(record.task_ids), 'task')}"
        failed = [f"{count} × {reason}" for reason, count in record.failures.items()]
        cost = [h("p", words + (f"; failures: {', '.join(failed)}" if failed else "") + ".", class_="meta")]
    return [h("h4", "Edits of this round on this task, in order"), h("ol", lines), *cost]


def _memories(run: RunView, decision: Decision) -> list[ET.Element]:
    record = run.rounds.get(decision.round)
    ids = record.recalled.get(decision.edit.task_id, ()) if record else ()
    if not ids:
        return [h("h4", "Memories recalled"), h("p", "None.")]
    cited = set(evidence_ids(run, decision))
    return [
        h("h4", f"Memories recalled: {len(ids)}"),
        *_folded([("cited · " if i in cited else "") + describe(run, i) for i in ids]),
    ]


def describe(run: RunView, memory_id: str) -> str:
    """A visit or an edit in a few words."""
    remembered = run.edit(memory_id)
    if remembered is not None:
        d = remembered.decision
        return f"edit on {d.edit.task_id} at step {d.step}: {operation(d.edit.operation.op)}, {d.outcome} ({memory_id})"
    if memory_id in PROBES:
        return f"{PROBES[memory_id]}, told above"
    visit = run.visits.by_id(memory_id)
    if visit is None:
        return f"{UNKNOWN} not in the journal ({memory_id})"
    s = visit.shares
    classes = f"blind {share(s.blind)}, saturated {share(s.saturated)}, spurious {share(s.spurious)}, agree {share(s.agree)}"
    return f"visit of {visit.task_id} at step {visit.step}: {classes} ({memory_id})"
