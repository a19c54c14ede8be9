"""The proposer backed by a chat model: a reply of flat candidates, each turned into a typed edit or refused with a reason.

A wrong candidate costs only itself: what is malformed, names ids that do not exist, belongs to another interface, lacks a part or
repeats the kind of an earlier one is dropped and counted, the others are measured.
"""

import json
import threading
from collections import Counter
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, ValidatorFunctionWrapHandler, WrapValidator, model_validator

from agents.chat import ChatModel
from agents.context import CaseFile
from agents.prompts import EVIDENCE_TOKENS, case_text, prompt
from memory.decision import Attribution
from memory.edit import (
    INTERFACE_OF_OP,
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
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

MOST_CANDIDATES = 8
"""Candidates in a reply, as many as ``EvolverConfig.proposals`` allows."""

CriterionOp = Literal[
    "create_criterion", "reword_criterion", "reprice_criterion", "merge_criteria", "split_criterion", "delete_criterion"
]


class ProposedPart(BaseModel):
    text: str = Field(max_length=300)
    points: float = Field(allow_inf_nan=False)


class CriterionPart(BaseModel):
    """What a criterion operation needs. Fields it does not need stay empty."""

    op: CriterionOp
    criterion_ids: list[str] = Field(default_factory=list, max_length=10)
    text: str | None = Field(default=None, max_length=500)
    points: float | None = Field(default=None, allow_inf_nan=False)
    rule_name: str | None = Field(default=None, max_length=60)
    rule_args: str | None = Field(default=None, description="arguments of the rule as a JSON object", max_length=600)
    parts: list[ProposedPart] = Field(default_factory=list, max_length=4)


class CandidateReply(BaseModel):
    """A flat form: endpoints enforce flat schemas more reliably than unions. Fields an operation does not need stay empty."""

    reason: str = Field(max_length=500)
    op: Literal[
        "raise_level", "lower_level", "retire_task", "rewrite_task", "add_field", "rewrite_field", "retire_field",
        "create_criterion", "reword_criterion", "reprice_criterion", "merge_criteria", "split_criterion", "delete_criterion",
        "none",
    ]  # fmt: skip
    criterion_ids: list[str] = Field(default_factory=list, max_length=10)
    field_id: str | None = Field(default=None, max_length=80)
    text: str | None = Field(default=None, max_length=4000)
    points: float | None = Field(default=None, allow_inf_nan=False)
    level: float | None = Field(default=None, allow_inf_nan=False)
    direction: Literal["easier", "harder", "clearer"] | None = None
    rule_name: str | None = Field(default=None, max_length=60)
    rule_args: str | None = Field(default=None, description="arguments of the rule as a JSON object", max_length=600)
    parts: list[ProposedPart] = Field(default_factory=list, max_length=4)
    secondary: list[CriterionPart] = Field(default_factory=list, max_length=3)
    claimed_class: Literal["blind", "saturated", "spurious"]
    evidence_ids: list[str] = Field(default_factory=list, max_length=10)


class Malformed(BaseModel):
    """A candidate that does not fit the form, and why."""

    reason: str


def _or_malformed(value: Any, handler: ValidatorFunctionWrapHandler) -> Any:
    try:
        return handler(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return Malformed(reason=f"{'.'.join(map(str, first['loc'])) or 'candidate'}: {first['msg']}")


class ProposalReply(BaseModel):
    """Candidates, best first. One that does not fit the form does not spoil the others."""

    candidates: list[Annotated[CandidateReply, WrapValidator(_or_malformed)]] = Field(max_length=MOST_CANDIDATES)

    @model_validator(mode="before")
    @classmethod
    def _one_candidate_is_a_list_of_one(cls, data: Any) -> Any:
        return {"candidates": [data]} if isinstance(data, dict) and "op" in data else data


class Proposals(list[Edit]):
    """Edits, with one sentence for each candidate of the same reply that was dropped."""

    def __init__(self, edits: Sequence[Edit] = (), dropped: Sequence[str] = ()):
        super().__init__(edits)
        self.dropped = tuple(dropped)


class ChatProposer:
    """Asks a model once for up to ``count`` candidates. ``dropped`` counts unusable candidates by operation over the run."""

    def __init__(self, chat: ChatModel, name: str, evidence_tokens: int = EVIDENCE_TOKENS):
        self.chat = chat
        self.author = name
        self.evidence_tokens = evidence_tokens
        self.dropped: Counter[str] = Counter()
        self._lock = threading.Lock()

    def propose(self, case: CaseFile, attribution: Attribution, new_id: str, count: int) -> Proposals:
        """The usable candidates of the reply in its order, at most ``count``.

        Raises:
            EditError: every candidate was unusable; the first reason.
        """
        named = ", ".join(attribution.criterion_ids) or "all"
        wanted = f"interface {attribution.interface}; {attribution.pair_class} on criteria {named}: {attribution.reason}"
        asked = f"At most {count} candidate{'s' * (count > 1)}, different in op."
        text = case_text(case, self.evidence_tokens, attribution=wanted, wanted=asked)
        reply = self.chat.complete(prompt("proposer"), text, ProposalReply)
        edits: list[Edit] = []
        dropped: list[str] = []
        for candidate in reply.candidates:
            if isinstance(candidate, CandidateReply) and candidate.op == "none":
                continue
            if len(edits) == count:
                break
            try:
                kinds: set[str] = {e.operation.op for e in edits}
                edits.append(edit_of(candidate, case, attribution, f"{new_id}{ascii_lowercase[len(edits)]}", self.author, kinds))
            except EditError as error:
                dropped.append(str(error))
                with self._lock:  # the tasks of a round are asked about side by side
                    self.dropped[getattr(candidate, "op", "malformed")] += 1
        if dropped and not edits:
            raise EditError(dropped[0])
        return Proposals(edits, dropped)


def edit_of(
    candidate: CandidateReply | Malformed, case: CaseFile, attribution: Attribution, edit_id: str, author: str, kinds: set[str]
) -> Edit:
    """The typed edit of a candidate; ``kinds`` are the operations that earlier candidates have.

    Raises:
        EditError: the candidate cannot be used, with the reason.
    """
    if isinstance(candidate, Malformed):
        raise EditError(f"malformed candidate: {candidate.reason}")
    if INTERFACE_OF_OP[candidate.op] != attribution.interface:
        raise EditError(f"{candidate.op} does not belong to the interface {attribution.interface} that was attributed")
    if candidate.op in kinds:
        raise EditError(f"a second {candidate.op}: the candidates of one reply must differ in op")
    _refuse_invented(candidate, case)
    try:
        return Edit(
            id=edit_id,
            task_id=case.task.id,
            operation=operation_of(candidate, case, edit_id),
            secondary=tuple(
                criterion_operation(part, f"{edit_id}-s{k}")  # type: ignore[misc]
                for k, part in enumerate(candidate.secondary, 1)
            ),
            claim=Claim(
                pair_class=candidate.claimed_class, criterion_ids=tuple(candidate.criterion_ids), reason=candidate.reason
            ),
            evidence=tuple(candidate.evidence_ids) or attribution.evidence,
            proposer=author,
            revision_of=case.tried[-1].edit.id if case.tried else None,
        )
    except ValidationError as error:
        first = error.errors()[0]
        raise EditError(f"{candidate.op}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _refuse_invented(candidate: CandidateReply, case: CaseFile) -> None:
    evidence = {*case.evidence.ids, *(d.edit.id for d in case.tried)}
    criteria = {c.id for c in case.entry.rubric}
    fields = {f.id for f in case.entry.guidance}
    named = [*candidate.criterion_ids, *(i for part in candidate.secondary for i in part.criterion_ids)]
    invented = [i for i in candidate.evidence_ids if i not in evidence] + [i for i in named if i not in criteria]
    invented += [candidate.field_id] if candidate.field_id and candidate.field_id not in fields else []
    if invented:
        raise EditError("invented ids: " + ", ".join(i[:40] for i in invented[:5]))


def operation_of(candidate: CandidateReply, case: CaseFile, new_id: str):
    """The typed operation. Raises ``EditError`` for a part that the operation needs and the candidate lacks."""
    op = candidate.op
    match op:
        case "raise_level" | "lower_level":
            return SetLevel(op=op, level=need(op, candidate.level, "level"))
        case "retire_task":
            return RetireTask()
        case "rewrite_task":
            last = case.entry.messages[-1].model_copy(update={"content": need(op, candidate.text, "text")})
            direction = need(op, candidate.direction, "direction")
            return RewriteTask(direction=direction, messages=(*case.entry.messages[:-1], last))
        case "add_field":
            ids = tuple(candidate.criterion_ids)
            return AddField(field=GuidanceField(id=new_id, text=need(op, candidate.text, "text"), criterion_ids=ids))
        case "rewrite_field":
            return RewriteField(field_id=need(op, candidate.field_id, "field_id"), text=need(op, candidate.text, "text"))
        case "retire_field":
            return RetireField(field_id=need(op, candidate.field_id, "field_id"))
    return criterion_operation(candidate, new_id)


def criterion_operation(part: CandidateReply | CriterionPart, new_id: str):
    """The typed criterion operation; as ``operation_of``."""
    op, ids = part.op, tuple(part.criterion_ids)

    def text() -> str:
        return need(op, part.text, "text")

    def points() -> float:
        return need(op, part.points, "points")

    match op:
        case "create_criterion":
            return CreateCriterion(criterion=_criterion(part, new_id, text(), points()))
        case "merge_criteria":
            return MergeCriteria(criterion_ids=ids, criterion=_criterion(part, new_id, text(), points()))
    criterion_id = need(op, ids, "criterion_ids")[0]
    if len(ids) > 1:
        raise EditError(f"{op} takes one criterion id, got {len(ids)}")
    match op:
        case "reword_criterion":
            return RewordCriterion(criterion_id=criterion_id, text=text(), rule=_rule(part))
        case "reprice_criterion":
            return RepriceCriterion(criterion_id=criterion_id, points=points())
        case "split_criterion":
            named = enumerate(need(op, part.parts, "parts"), 1)
            criteria = tuple(Criterion(id=f"{new_id}-{k}", text=p.text, points=p.points) for k, p in named)
            return SplitCriterion(criterion_id=criterion_id, criteria=criteria)
    return DeleteCriterion(criterion_id=criterion_id)


def need(op: str, value: Any, name: str) -> Any:
    """A part of a candidate. Raises ``EditError`` where it is missing or blank."""
    if value is None or value in ("", (), []) or (isinstance(value, str) and not value.strip()):
        raise EditError(f"{op} needs {name}")
    return value


def _criterion(part: CandidateReply | CriterionPart, criterion_id: str, text: str, points: float) -> Criterion:
    rule = _rule(part)
    return Criterion(id=criterion_id, text=text, points=points, kind="rule" if rule else "llm", rule=rule)


def _rule(part: CandidateReply | CriterionPart) -> Rule | None:
    if not part.rule_name:
        return None
    try:
        args = json.loads(part.rule_args or "{}")
    except ValueError as error:
        raise EditError(f"rule_args is not JSON: {(part.rule_args or '')[:80]}") from error
    if not isinstance(args, dict):
        raise EditError(f"rule_args is not a JSON object: {(part.rule_args or '')[:80]}")
    return Rule(name=part.rule_name, args=args)
