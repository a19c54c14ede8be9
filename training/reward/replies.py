"""What a judge may reply, and how its words become outcomes.

In every schema the reason stands before the verdict, so that it can lead to it; verdicts come from closed sets.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memory.task import Criterion

REASON_LENGTH = 600
"""Characters of a reason that are asked for and kept: two long sentences."""
LEAST_QUOTE = 12
"""Bytes of a quote that is evidence, white space aside: two or three words, four Chinese characters. Less occurs in nearly any text."""
HIGHEST = 10
"""Best grade of a holistic judgement."""


class Outcome(NamedTuple):
    """The share of a criterion that is met, None when unscored, and why."""

    grade: float | None
    reason: str


class Reply(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Judgement(Reply):
    """The judge's word on one criterion."""

    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    verdict: Literal["met", "not_met"]


class Judgements(Reply):
    """One judgement for every criterion."""

    judgements: list[Judgement]


class Grading(Reply):
    """The judge's word on one criterion that is graded in steps."""

    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    level: int = Field(strict=True)


class Gradings(Reply):
    """One grading for every criterion."""

    gradings: list[Grading]


class QuotedJudgement(Reply):
    """The judge's word on one criterion, with the passage it rests on."""

    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    evidence: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    verdict: Literal["met", "not_met"]


class QuotedJudgements(Reply):
    """One judgement for every criterion."""

    judgements: list[QuotedJudgement]


class QuotedGrading(Reply):
    """The judge's word on one criterion that is graded in steps, with the passage it rests on."""

    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    evidence: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    level: int = Field(strict=True)


class QuotedGradings(Reply):
    """One grading for every criterion."""

    gradings: list[QuotedGrading]


class Overall(Reply):
    """The judge's word on a response as a whole."""

    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    grade: Literal[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]


AnyWord = Judgement | Grading | QuotedJudgement | QuotedGrading
AnyReply = Judgements | Gradings | QuotedJudgements | QuotedGradings | Overall


def schema_for(kind: str, evidence: bool) -> type[AnyReply]:
    """The schema of a call on criteria of ``kind`` (llm, levels, holistic)."""
    if kind == "holistic":
        return Overall
    if kind == "levels":
        return QuotedGradings if evidence else Gradings
    return QuotedJudgements if evidence else Judgements


def read_reply(reply: AnyReply, ids: Sequence[str], criteria: Sequence[Criterion], response: str) -> list[Outcome]:
    """An outcome per criterion; unscored where the judge left it out, spoke of it twice, or has no evidence for its word."""
    if isinstance(reply, Overall):
        return [Outcome(reply.grade / HIGHEST, reply.reason[:REASON_LENGTH])]
    words: Sequence[AnyWord] = reply.judgements if isinstance(reply, Judgements | QuotedJudgements) else reply.gradings
    found = []
    for i, criterion in zip(ids, criteria, strict=True):
        mine = [word for word in words if word.id == i]
        found.append(_outcome(criterion, mine[0], response) if len(mine) == 1 else Outcome(None, "ids"))
    return found


def _outcome(criterion: Criterion, word: AnyWord, response: str) -> Outcome:
    if isinstance(word, Judgement | QuotedJudgement):
        grade = float(word.verdict == "met")
    else:
        levels = criterion.legal_levels
        if word.level not in levels:
            return Outcome(None, "parse")
        grade = (word.level - levels[0]) / (levels[-1] - levels[0])
    # Nothing can be quoted for what is not there.
    if isinstance(word, QuotedJudgement | QuotedGrading) and grade > 0 and not occurs(word.evidence, response):
        return Outcome(None, "evidence")
    return Outcome(grade, word.reason[:REASON_LENGTH])


def occurs(quote: str, text: str) -> bool:
    """Whether the quote is long enough to tell and stands in the text, or is all of it. White space is no difference: models reflow lines, and what the
    judge was shown has spaces where control tokens were broken up."""
    bare, whole = "".join(quote.split()), "".join(text.split())
    return bool(bare) and (len(bare.encode("utf-8", "replace")) >= LEAST_QUOTE or bare == whole) and bare in whole
