"""The proposer backed by a chat model: one flat reply schema, turned into a typed edit or refused whole."""

import json
from typing import Literal

from pydantic import BaseModel, Field, ValidationError

from agents.attribution import InventedIds
from agents.chat import ChatModel
from agents.context import CaseFile
from agents.prompts import case_text, prompt
from memory.decision import Attribution
from memory.edit import (
    INTERFACE_OF_OP,
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
    PairClass,
    RepriceCriterion,
    RetireField,
    RetireTask,
    RewordCriterion,
    RewriteField,
    RewriteTask,
    SetLevel,
    SplitCriterion,
)
from memory.errors import EditError
from memory.harness import GuidanceField
from memory.task import Criterion, Rule


class ProposedPart(BaseModel):
    text: str = Field(max_length=500)
    points: float


class ProposalReply(BaseModel):
    """A flat form: endpoints enforce flat schemas more reliably than unions. Fields an operation does not need stay null."""

    reason: str = Field(max_length=1000)
    op: Literal[
        "raise_level", "lower_level", "retire_task", "rewrite_task", "add_field", "rewrite_field", "retire_field",
        "create_criterion", "reword_criterion", "reprice_criterion", "merge_criteria", "split_criterion", "delete_criterion",
        "none",
    ]  # fmt: skip
    criterion_ids: list[str] = Field(default_factory=list, max_length=20)
    field_id: str | None = None
    text: str | None = Field(default=None, max_length=4000)
    points: float | None = None
    level: float | None = None
    direction: Literal["easier", "harder", "clearer"] | None = None
    rule_name: str | None = None
    rule_args: str | None = Field(default=None, description="arguments of the rule as a JSON object", max_length=1000)
    parts: list[ProposedPart] = Field(default_factory=list, max_length=6)
    claimed_class: Literal["blind", "saturated", "spurious"]
    evidence_ids: list[str] = Field(default_factory=list, max_length=20)


class ChatProposer:
    def __init__(self, chat: ChatModel, name: str):
        self.chat = chat
        self.author = name

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> list[Edit]:
        """Edits. An answer that cites unknown ids, names another interface or lacks a part is refused with ``EditError``."""
        wanted = f"{attribution.pair_class} on criteria {', '.join(attribution.criterion_ids) or 'all'}: {attribution.reason}"
        measured = "\n".join(d.sentence for d in case.tried) or "none in this round"
        text = case_text(case, attribution=f"interface {attribution.interface}; {wanted}", measured=measured)
        reply = self.chat.complete(prompt("proposer"), text, ProposalReply)
        if reply.op == "none":
            return []
        edit_id = f"{new_id}a"
        if unknown := [i for i in reply.evidence_ids if i not in case.evidence.ids]:
            raise InventedIds(unknown)
        if INTERFACE_OF_OP[reply.op] != attribution.interface:
            raise EditError(f"{reply.op} does not belong to the interface {attribution.interface} that was attributed")
        claimed: PairClass = reply.claimed_class
        try:
            edit = Edit(
                id=edit_id,
                task_id=case.task.id,
                operation=operation_of(reply, case, edit_id),
                claim=Claim(pair_class=claimed, criterion_ids=tuple(reply.criterion_ids), reason=reply.reason),
                evidence=tuple(reply.evidence_ids) or attribution.evidence,
                proposer=self.author,
                revision_of=case.tried[-1].edit.id if case.tried else None,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise EditError(f"{reply.op}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
        return [edit]


def operation_of(reply: ProposalReply, case: CaseFile, new_id: str):
    """The typed operation. Raises ``EditError`` for a part that the operation needs and the reply lacks."""
    ids = tuple(reply.criterion_ids)

    def need(value, name: str):
        if value is None or value == "" or value == []:
            raise EditError(f"{reply.op} needs {name}")
        return value

    match reply.op:
        case "raise_level" | "lower_level":
            return SetLevel(op=reply.op, level=need(reply.level, "level"))
        case "retire_task":
            return RetireTask()
        case "rewrite_task":
            last = case.entry.messages[-1].model_copy(update={"content": need(reply.text, "text")})
            return RewriteTask(direction=need(reply.direction, "direction"), messages=(*case.entry.messages[:-1], last))
        case "add_field":
            return AddField(field=GuidanceField(id=new_id, text=need(reply.text, "text"), criterion_ids=ids))
        case "rewrite_field":
            return RewriteField(field_id=need(reply.field_id, "field_id"), text=need(reply.text, "text"))
        case "retire_field":
            return RetireField(field_id=need(reply.field_id, "field_id"))
        case "create_criterion":
            return CreateCriterion(criterion=new_criterion(reply, new_id, need(reply.text, "text"), need(reply.points, "points")))
        case "reword_criterion":
            rule = rule_of(reply)
            return RewordCriterion(criterion_id=need(ids, "criterion_ids")[0], text=need(reply.text, "text"), rule=rule)
        case "reprice_criterion":
            return RepriceCriterion(criterion_id=need(ids, "criterion_ids")[0], points=need(reply.points, "points"))
        case "merge_criteria":
            merged = new_criterion(reply, new_id, need(reply.text, "text"), need(reply.points, "points"))
            return MergeCriteria(criterion_ids=ids, criterion=merged)
        case "split_criterion":
            parts = tuple(new_criterion(reply, f"{new_id}-{k}", part.text, part.points) for k, part in enumerate(reply.parts, 1))
            return SplitCriterion(criterion_id=need(ids, "criterion_ids")[0], criteria=parts)
    return DeleteCriterion(criterion_id=need(ids, "criterion_ids")[0])


def new_criterion(reply: ProposalReply, criterion_id: str, text: str, points: float) -> Criterion:
    rule = rule_of(reply)
    return Criterion(id=criterion_id, text=text, points=points, kind="rule" if rule else "llm", rule=rule)


def rule_of(reply: ProposalReply) -> Rule | None:
    if not reply.rule_name:
        return None
    try:
        args = json.loads(reply.rule_args or "{}")
    except ValueError as error:
        raise EditError(f"rule_args is not JSON: {(reply.rule_args or '')[:80]}") from error
    return Rule(name=reply.rule_name, args=args)
