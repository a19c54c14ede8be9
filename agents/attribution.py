"""Attribution: which failure a task's reward shows, and which interface can repair it.

The rules, in order; the first whose condition holds is taken. Shares are those of the last visit.

    failure    holds when                         further test                                    interface
    saturated  saturated >= 0.6 and dominant      Q separates >= 0.3 of the pairs, not in vain    c: separate better answers
                                                  a guidance field is mounted                     g: retire it
                                                  otherwise                                       p: lower the level
    blind      criteria nobody passes carry       guidance is allowed, not in vain                g: hint at them
               >= 0.3 of the points               no guidance mounted, informative < 0.35         p: lower the level
    spurious   spurious >= agree, or a criterion                                                  c: what carries it
               with spurious - agree >= 0.05
    (lowered)  level < 1, informative >= 0.35                                                     p: raise the level

*In vain*: edits of the interface were tried on this task within the recalled window, this round included, and none was accepted.
A rejected edit comes back here with its measurement before the next is proposed, so a failure moves on to the next interface.
Thresholds are starting values. ``RuleAttributor`` is the embedded default; ``ChatAttributor`` asks a model, gives it the rules'
answer as a prior, and records a disagreement in the reason.
"""

from typing import Literal, Protocol

from pydantic import BaseModel, Field

from agents.chat import ChatModel
from agents.context import CaseFile
from agents.prompts import EVIDENCE_TOKENS, case_text, prompt
from memory.decision import Attribution
from memory.edit import Interface, PairClass
from memory.visit import CriterionHealth, Visit

SATURATED = 0.6
QUALITY_SPREAD = 0.3
NEVER_PASSED = 0.3
SPURIOUS_EXCESS = 0.05
INFORMATIVE = 0.35


class Attributor(Protocol):
    def attribute(self, case: CaseFile) -> Attribution | None:
        """The failure and the interface to repair it with, or None where nothing needs repair.

        Raises:
            ChatFailure: the model behind the role failed; the case becomes a counted no-op.
        """
        ...


def carried(case: CaseFile, health: CriterionHealth, share: float) -> float:
    """A criterion's class share, weighted by its |points| in the rubric."""
    points = {c.id: abs(c.points) for c in case.entry.rubric}
    return share * points.get(health.criterion_id, 0.0) / sum(points.values())


def spurious_excess(case: CaseFile, health: CriterionHealth) -> float:
    return carried(case, health, health.shares.spurious - health.shares.agree)


def never_passed(case: CaseFile) -> list[CriterionHealth]:
    """Criteria with positive points that no plain rollout of the last visit passed, heaviest first."""
    visit = case.evidence.last
    plain = [r for r, guided in zip(case.rollouts, visit.guided, strict=False) if not guided]
    by_id = {c.id: c for c in case.entry.rubric}

    def failed(criterion_id: str) -> bool:
        verdicts = [v for r in plain for v in r.verdicts if v.criterion_id == criterion_id and v.status != "unscored"]
        return bool(verdicts) and all(v.status == "not_met" for v in verdicts)

    found = [h for h in visit.criteria if h.criterion_id in by_id and by_id[h.criterion_id].points > 0 and failed(h.criterion_id)]
    return sorted(found, key=lambda h: -by_id[h.criterion_id].points)


def quality_spread(visit: Visit) -> float:
    """Share of the compared pairs that Q separates."""
    return sum(p.order != 0 for p in visit.quality) / len(visit.quality) if visit.quality else 0.0


class RuleAttributor:
    """The table of the module docstring."""

    author = "rules"

    def attribute(self, case: CaseFile) -> Attribution | None:
        visit = case.evidence.last
        shares = visit.shares
        missed = never_passed(case)
        points = {c.id: abs(c.points) for c in case.entry.rubric}
        missed_weight = sum(points[h.criterion_id] for h in missed) / sum(points.values())
        excess = [h for h in visit.criteria if spurious_excess(case, h) >= SPURIOUS_EXCESS]

        if shares.saturated >= SATURATED and shares.saturated > max(shares.blind, shares.informative):
            ids = tuple(h.criterion_id for h in visit.criteria if h.shares.saturated >= SATURATED)
            spread = quality_spread(visit)
            if spread >= QUALITY_SPREAD and not in_vain(case, "c"):
                reason = f"{shares.saturated:.0%} of pairs pass both, yet Q separates {spread:.0%} of them"
                return self._answer(case, "saturated", "c", ids, reason)
            if case.entry.guidance:
                reason = f"{shares.saturated:.0%} of pairs pass both and guidance is mounted"
                return self._answer(case, "saturated", "g", ids, reason)
            reason = f"{shares.saturated:.0%} of pairs pass both and nothing is left to separate (Q separates {spread:.0%})"
            return self._answer(case, "saturated", "p", ids, reason)
        if missed_weight >= NEVER_PASSED:
            ids = tuple(h.criterion_id for h in missed)
            reason = f"criteria with {missed_weight:.0%} of the points are passed by no plain rollout"
            if case.context.guidance_ceiling > 0 and not in_vain(case, "g"):
                return self._answer(case, "blind", "g", ids, reason)
            if shares.informative < INFORMATIVE and not case.entry.guidance:
                return self._answer(case, "blind", "p", ids, reason + ", and guidance is no longer to be had here")
        if excess or shares.spurious >= max(shares.agree, SPURIOUS_EXCESS):
            worst = sorted(excess or visit.criteria, key=lambda h: -spurious_excess(case, h))
            shown = ", ".join(name for name, sign in visit.signs.items() if sign.shows)
            reason = f"spurious share {shares.spurious:.2f} against agree {shares.agree:.2f}"
            reason += f", with signs of hacking: {shown}" if shown else ""
            return self._answer(case, "spurious", "c", tuple(h.criterion_id for h in worst[:2]), reason)
        if case.entry.level < 1 and shares.informative >= INFORMATIVE:
            reason = f"the level is {case.entry.level:g} but {shares.informative:.0%} of pairs separate"
            return self._answer(case, "saturated", "p", (), reason)
        return None

    def _answer(
        self, case: CaseFile, pair_class: PairClass, interface: Interface, ids: tuple[str, ...], reason: str
    ) -> Attribution:
        return Attribution(
            task_id=case.task.id,
            pair_class=pair_class,
            interface=interface,
            criterion_ids=ids,
            reason=reason,
            evidence=(case.evidence.last.id,),
            author=self.author,
        )


def in_vain(case: CaseFile, interface: Interface) -> bool:
    """Whether edits of this interface were tried on this task and none was accepted; see the module docstring."""
    tried = [d for d in (*case.evidence.decisions, *case.tried) if d.edit.interface == interface]
    return bool(tried) and not any(d.outcome == "accepted" for d in tried)


class AttributionReply(BaseModel):
    """What the attributor model answers. The reason comes first, so that it is written before the choice."""

    reason: str = Field(max_length=1000)
    pair_class: Literal["blind", "saturated", "spurious", "none"]
    interface: Literal["p", "g", "c", "none"]
    criterion_ids: list[str] = Field(max_length=50)
    evidence_ids: list[str] = Field(max_length=20)


class ChatAttributor:
    """Asks a model. Ids that do not exist make the answer a no-op; the rules' answer is its prior."""

    def __init__(self, chat: ChatModel, name: str, evidence_tokens: int = EVIDENCE_TOKENS):
        self.chat = chat
        self.author = name
        self.evidence_tokens = evidence_tokens
        self.rules = RuleAttributor()

    def attribute(self, case: CaseFile) -> Attribution | None:
        prior = self.rules.attribute(case)
        prior_text = f"{prior.pair_class}, interface {prior.interface}: {prior.reason}" if prior else "nothing to repair"
        reply = self.chat.complete(
            prompt("attributor"), case_text(case, self.evidence_tokens, rules=prior_text), AttributionReply
        )
        known_criteria = {c.id for c in case.entry.rubric}
        unknown = [i for i in reply.criterion_ids if i not in known_criteria]
        unknown += [i for i in reply.evidence_ids if i not in case.evidence.ids]
        if unknown:
            raise InventedIds(unknown)
        if reply.pair_class == "none" or reply.interface == "none":
            return None
        reason = reply.reason
        if prior is None or (prior.pair_class, prior.interface) != (reply.pair_class, reply.interface):
            reason += f" [the rules say: {prior_text}]"
        return Attribution(
            task_id=case.task.id,
            pair_class=reply.pair_class,
            interface=reply.interface,
            criterion_ids=tuple(reply.criterion_ids),
            reason=reason,
            evidence=tuple(reply.evidence_ids),
            author=self.author,
        )


class InventedIds(ValueError):
    """A model cited ids that do not exist; its answer is refused whole."""

    def __init__(self, ids: list[str]):
        super().__init__("invented ids: " + ", ".join(ids[:5]))
