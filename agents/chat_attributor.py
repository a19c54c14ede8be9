"""The attributor behind which a model stands: it is given the rules' answer, and may overrule it with evidence."""

from typing import Literal

from pydantic import BaseModel, Field

from agents.attribution import InventedIds, RuleAttributor
from agents.chat import ChatModel
from agents.context import CaseFile
from agents.prompts import EVIDENCE_TOKENS, case_text, prompt
from memory.decision import Attribution, probe_id


class AttributionReply(BaseModel):
    """What the attributor model answers. The reason comes first, so that it is written before the choice."""

    reason: str = Field(max_length=1000)
    pair_class: Literal["blind", "saturated", "spurious", "none"]
    interface: Literal["p", "g", "c", "none"]
    criterion_ids: list[str] = Field(max_length=50)
    evidence_ids: list[str] = Field(max_length=20)


def observed_ids(case: CaseFile) -> set[str]:
    """What was seen or measured and can be cited for a decision: visits, edits (this round's too), probes as ``probe-full_hint``
    and ``probe-quality``, and the rollouts of the last visit."""
    edits = {d.edit.id for d in case.tried}
    return {*case.evidence.ids, *edits, *(probe_id(p.kind) for p in case.probes), *(r.id for r in case.rollouts)}


class ChatAttributor:
    """Asks a model, with the rules' answer as its prior.

    Ids that do not exist make the answer a no-op. An answer that departs from the rules must cite something observed; criteria may
    be cited beside it, but say what is meant and not why. Without that the rules' answer stands, and its reason says so.
    """

    def __init__(self, chat: ChatModel, name: str, evidence_tokens: int = EVIDENCE_TOKENS):
        self.chat = chat
        self.author = name
        self.evidence_tokens = evidence_tokens
        self.rules = RuleAttributor()

    def attribute(self, case: CaseFile) -> Attribution | None:
        prior = self.rules.attribute(case)
        rules = in_words(prior)
        reply = self.chat.complete(prompt("attributor"), case_text(case, self.evidence_tokens, rules=rules), AttributionReply)
        criteria, observed = {c.id for c in case.entry.rubric}, observed_ids(case)
        unknown = [i for i in reply.criterion_ids if i not in criteria]
        unknown += [i for i in reply.evidence_ids if i not in observed | criteria]
        if unknown:
            raise InventedIds(unknown)
        said = None if "none" in (reply.pair_class, reply.interface) else (reply.pair_class, reply.interface)
        agrees = said == (prior and (prior.pair_class, prior.interface))
        if not agrees and not observed.intersection(reply.evidence_ids):
            return prior and prior.model_copy(update={"reason": f"{prior.reason} [{self._without_evidence(reply)}]"})
        if said is None:
            return None
        return Attribution.model_validate(
            {
                "task_id": case.task.id,
                "pair_class": reply.pair_class,
                "interface": reply.interface,
                "criterion_ids": reply.criterion_ids,
                "reason": reply.reason,
                "evidence": reply.evidence_ids,
                "probes": case.probes,
                "overruled": None if agrees else rules,
                "author": self.author,
            }
        )

    def _without_evidence(self, reply: AttributionReply) -> str:
        return f"{self.author} said {reply.pair_class}, interface {reply.interface}, without evidence, and is not believed"


def in_words(attribution: Attribution | None) -> str:
    """The rules' answer, as a model reads it and as ``Attribution.overruled`` keeps it."""
    if attribution is None:
        return "nothing to repair"
    return f"{attribution.pair_class}, interface {attribution.interface}: {attribution.reason}"
