"""Prompt files of the evolver's roles, and how a case is written out for a model.

Prompts are ``NAME.txt`` beside this file; their hashes go into the journal. Case data is untrusted text: it is placed between
random markers by concatenation and is never used as a template.
"""

import hashlib
import secrets
from functools import cache
from pathlib import Path

from agents.context import CaseFile
from memory.decision import Decision
from memory.pairs import CLASSES
from memory.visit import PairShares

FOLDER = Path(__file__).parent
EXCERPT = 700
"""Characters of one rollout shown to a model."""
EXCERPTS = 4
"""Rollouts shown to a model: the best two and the worst two by score."""


@cache
def prompt(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def hashes() -> dict[str, str]:
    """Name -> first 12 hex digits of the SHA-256 of every prompt file."""
    return {p.stem: hashlib.sha256(p.read_bytes()).hexdigest()[:12] for p in sorted(FOLDER.glob("*.txt"))}


def case_text(case: CaseFile, **sections: str) -> str:
    """The case as a model reads it: task, criteria with their health, guidance, rollouts, what was tried, further sections."""
    visit = case.evidence.last
    health = {h.criterion_id: h for h in visit.criteria}
    lines = [f"Task {case.task.id}, domain {case.task.domain}, sampling level {case.entry.level:g}.", "", "## Prompt"]
    lines += [fenced("\n".join(f"[{m.role}] {m.content}" for m in case.entry.messages)), "", "## Criteria (last visit)"]
    for c in case.entry.rubric:
        h = health.get(c.id)
        rate = "unknown" if h is None or h.pass_rate is None else f"{h.pass_rate:.0%}"
        shares = class_text(h.shares) if h else ""
        rule = f" rule={c.rule.model_dump_json()}" if c.rule else ""
        lines.append(f"- id={c.id} points={c.points:g} kind={c.kind}{rule} passed by {rate}; {shares}: {c.text}")
    lines += ["", f"## Guidance fields (at most {case.context.guidance_ceiling} now)"]
    lines += [f"- id={f.id}: {f.text}" for f in case.entry.guidance] or ["none"]
    s = visit.shares
    lines += ["", "## Visits (oldest first)"]
    for v in case.evidence.visits:
        mean = f"{sum(v.scored) / len(v.scored):.2f}" if v.scored else "unscored"
        lines.append(f"- id={v.id} step {v.step}: mean score {mean}, {class_text(v.shares)}")
    shown_signs = [
        f"{name} {sign.value:.2f} (a sign from {sign.threshold:g})" for name, sign in visit.signs.items() if sign.shows
    ]
    lines += ["", "## Signs of reward hacking in the last visit"] + (shown_signs or ["none"])
    lines += ["", f"## Responses of the last visit (spurious {s.spurious:.2f}, agree {s.agree:.2f})"]
    ranked = sorted((r for r in case.rollouts if r.score is not None), key=lambda r: -(r.score or 0.0))
    shown = ranked if len(ranked) <= EXCERPTS else ranked[: EXCERPTS // 2] + ranked[-EXCERPTS // 2 :]
    for r in shown:
        lines += [f"score {r.score:.2f}, {'guided' if r.guidance else 'plain'}:", fenced(r.text[:EXCERPT])]
    decisions = [*case.evidence.decisions, *case.tried]
    lines += ["", "## Edits tried on this task"] + ([decision_text(d) for d in decisions] or ["none"])
    near = case.evidence.neighbours
    lines += ["", "## Edits on similar tasks"] + ([decision_text(n.decision) for n in near] or ["none"])
    for title, text in sections.items():
        lines += ["", f"## {title.capitalize()}", text]
    return "\n".join(lines)


def class_text(shares: PairShares) -> str:
    return ", ".join(f"{name} {getattr(shares, name):.2f}" for name in CLASSES)


def decision_text(decision: Decision) -> str:
    return f"- id={decision.edit.id} {decision.edit.operation.model_dump_json()} -> {decision.sentence}"


def fenced(text: str) -> str:
    """Untrusted text between markers that it cannot guess."""
    marker = secrets.token_hex(4)
    return f"<<<{marker}\n{text}\n{marker}>>>"
