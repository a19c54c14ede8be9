"""The rubric judge: verdicts for responses, criterion by criterion.

``rule`` criteria are checked by code, ``llm`` and ``levels`` criteria by a chat model, at most ``batch`` of one response per
call, all calls of one ``judge()`` in flight together. A call that fails leaves its criteria *unscored* with the reason; no
verdict is ever guessed.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agents.chat import ChatFailure, ChatModel
from memory.errors import ConfigError, TaskError
from memory.task import Criterion, Message, Task, Verdict, level_values
from training.reward import rules
from training.reward.prompts import Quotation, prompt, render

Job = TypeVar("Job")
Done = TypeVar("Done")

REASON_LENGTH = 600
"""Characters of a reason that are asked for and kept: two long sentences."""


class Judgement(BaseModel):
    """The judge's word on one criterion. The reason stands before the verdict, so that it can lead to it."""

    model_config = ConfigDict(extra="forbid")
    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    verdict: Literal["met", "not_met"]


class Judgements(BaseModel):
    """One judgement for every criterion."""

    model_config = ConfigDict(extra="forbid")
    judgements: list[Judgement]


class Grading(BaseModel):
    """The judge's word on one criterion that is graded in steps."""

    model_config = ConfigDict(extra="forbid")
    id: str = Field(json_schema_extra={"maxLength": 20})
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    level: int = Field(strict=True)


class Gradings(BaseModel):
    """One grading for every criterion."""

    model_config = ConfigDict(extra="forbid")
    gradings: list[Grading]


@dataclass(frozen=True)
class JudgeItem:
    """One response to judge: the conversation it answers and the rubric it is held to."""

    messages: tuple[Message, ...]
    response: str
    rubric: tuple[Criterion, ...]


@dataclass(frozen=True)
class _Call:
    """Criteria of one kind, by position in the rubric of one item, that go to the chat model together."""

    item: int
    kind: Literal["llm", "levels"]
    places: tuple[int, ...]


class Judge:
    """``chat`` is None where all criteria are rules. ``concurrency`` bounds the calls of one ``judge()`` in flight."""

    def __init__(self, chat: ChatModel | None, concurrency: int = 8, batch: int = 8):
        if concurrency < 1 or batch < 1:
            raise ValueError(f"concurrency and batch must be at least 1, got {concurrency} and {batch}")
        self.chat = chat
        self.concurrency = concurrency
        self.batch = batch

    def check_rubrics(self, tasks: Iterable[Task]) -> None:
        """Say before any rollout is spent what this judge cannot judge.

        Raises:
            ConfigError: a criterion needs a language model and there is none.
            TaskError: a rule is unknown or its arguments do not fit.
        """
        for task in tasks:
            for criterion in task.rubric:
                if criterion.rule is not None:
                    try:
                        rules.validate(criterion.rule)
                    except TaskError as error:
                        raise TaskError(f"task '{task.id}', criterion '{criterion.id}': {error}") from None
                elif self.chat is None:
                    raise ConfigError(
                        f"judge.provider is 'heuristic', which cannot judge criteria of kind '{criterion.kind}' "
                        f"(task '{task.id}', criterion '{criterion.id}'); set judge.provider to 'openai' and judge.model to a "
                        "model, or use tasks whose criteria are all of kind 'rule'"
                    )

    def judge(self, items: Sequence[JudgeItem]) -> list[tuple[Verdict, ...]]:
        """For each item one verdict per criterion, in the order of its rubric."""
        verdicts: list[dict[int, Verdict]] = [{} for _ in items]
        calls: list[_Call] = []
        for number, item in enumerate(items):
            for place, criterion in enumerate(item.rubric):
                if criterion.kind == "rule":
                    verdicts[number][place] = _by_rule(criterion, item.response)
                elif is_empty(item.response):
                    verdicts[number][place] = Verdict.of(criterion.id, met=False, reason="empty response")
            calls += self._calls(number, item.rubric, verdicts[number])
        for call, found in zip(calls, together(lambda c: self._ask(items[c.item], c), calls, self.concurrency), strict=True):
            verdicts[call.item].update(zip(call.places, found, strict=True))
        return [tuple(of_item[place] for place in range(len(of_item))) for of_item in verdicts]

    def _calls(self, number: int, rubric: Sequence[Criterion], judged: dict[int, Verdict]) -> list[_Call]:
        calls = []
        kinds: tuple[Literal["llm", "levels"], ...] = ("llm", "levels")
        for kind in kinds:
            places = [place for place, criterion in enumerate(rubric) if criterion.kind == kind and place not in judged]
            calls += [_Call(number, kind, tuple(places[i : i + self.batch])) for i in range(0, len(places), self.batch)]
        return calls

    def _ask(self, item: JudgeItem, call: _Call) -> list[Verdict]:
        criteria = [item.rubric[place] for place in call.places]
        if self.chat is None:
            return [Verdict.unscored(criterion.id, "no judge model") for criterion in criteria]
        # The ids of a rubric are the user's own words; short ones of ours cannot mislead and are copied without error.
        ids = [f"C{number}" for number in range(1, len(criteria) + 1)]
        quotation = Quotation()
        user = render(
            "judge_user",
            marker=quotation.marker,
            conversation=quotation.conversation(item.messages),
            response=quotation.fence("response", item.response),
            ids=", ".join(ids),
            criteria="\n".join(quotation.fence(i, _wording(c)) for i, c in zip(ids, criteria, strict=True)),
        )
        try:
            if call.kind == "llm":
                judged = self.chat.complete(prompt("judge"), user, Judgements).judgements
                return [_matched(c, [j for j in judged if j.id == i], _verdict) for i, c in zip(ids, criteria, strict=True)]
            graded = self.chat.complete(prompt("judge_levels"), user, Gradings).gradings
            return [_matched(c, [g for g in graded if g.id == i], _grade) for i, c in zip(ids, criteria, strict=True)]
        except ChatFailure as failure:
            return [Verdict.unscored(criterion.id, failure.reason) for criterion in criteria]


Word = TypeVar("Word", Judgement, Grading)


def _matched(criterion: Criterion, words: list[Word], read: Callable[[Criterion, Word], Verdict]) -> Verdict:
    """The verdict of the one word on this criterion; unscored when the judge left it out or spoke of it twice."""
    return read(criterion, words[0]) if len(words) == 1 else Verdict.unscored(criterion.id, "ids")


def _verdict(criterion: Criterion, word: Judgement) -> Verdict:
    return Verdict.of(criterion.id, met=word.verdict == "met", reason=word.reason[:REASON_LENGTH])


def _grade(criterion: Criterion, word: Grading) -> Verdict:
    """The level as a share of the way from the lowest to the highest one."""
    if word.level not in criterion.legal_levels:
        return Verdict.unscored(criterion.id, "parse")
    low, high = criterion.legal_levels[0], criterion.legal_levels[-1]
    return Verdict.graded(criterion.id, (word.level - low) / (high - low), word.reason[:REASON_LENGTH])


def _by_rule(criterion: Criterion, response: str) -> Verdict:
    if criterion.rule is None:
        raise ValueError(f"criterion '{criterion.id}' of kind 'rule' has no rule")
    try:
        return Verdict.of(criterion.id, met=rules.check(criterion.rule, response))
    except TaskError:  # an edit may bring a rule that does not fit; rules of tasks are refused by check_rubrics
        return Verdict.unscored(criterion.id, "rule")


def _wording(criterion: Criterion) -> str:
    levels = criterion.levels or {}
    steps = [f"level {name}: {levels[name]}" for name in sorted(levels, key=lambda name: level_values([name]))]
    return "\n".join([criterion.text, *steps])


def is_empty(text: str) -> bool:
    """Whether a text shows nothing: only spaces, control and zero-width characters."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def together(function: Callable[[Job], Done], jobs: Sequence[Job], concurrency: int) -> list[Done]:
    """``function`` of every job, in order, at most ``concurrency`` at a time on threads."""
    if not jobs:
        return []
    pool = ThreadPoolExecutor(max_workers=min(concurrency, len(jobs)), thread_name_prefix="judge")
    try:
        return list(pool.map(function, jobs))
    finally:
        # After an interrupt nothing more is begun, and what is in flight is not waited for.
        pool.shutdown(wait=False, cancel_futures=True)
