"""The rubric judge: verdicts for responses, criterion by criterion.

``rule`` criteria are checked by code, ``llm`` and ``levels`` criteria by a chat model, under one of three protocols:

    per_criterion   one call per criterion: no criterion can colour another, at the highest price
    batched         at most ``batch`` criteria of one kind and response per call
    holistic        one grade for the whole response, for comparison: it tells no criterion from another

All calls of one ``judge()`` are in flight together. A call that fails leaves its criteria *unscored* with the reason; no verdict is
ever guessed. Verdicts are cached by all that can change them (see ``Judge.key``); equal questions of one ``judge()`` are asked once.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, TypeVar

from agents.chat import ChatFailure, ChatModel
from memory.errors import ConfigError, TaskError
from memory.task import Criterion, Message, Task, Verdict, level_values
from training.reward import rules
from training.reward.cache import VerdictCache, key_of
from training.reward.gate import is_empty, refusal, visible
from training.reward.prompts import Quotation, prompt, render
from training.reward.replies import Outcome, read_reply, schema_for

Job = TypeVar("Job")
Done = TypeVar("Done")

Protocol = Literal["per_criterion", "batched", "holistic"]
Kind = Literal["llm", "levels", "holistic"]


@dataclass(frozen=True)
class JudgeItem:
    """One response to judge: the conversation it answers and the rubric it is held to."""

    messages: tuple[Message, ...]
    response: str
    rubric: tuple[Criterion, ...]


@dataclass(frozen=True)
class _Question:
    """What one outcome is asked for: one criterion, or under ``holistic`` all that a model judges."""

    key: str
    item: JudgeItem
    kind: Kind
    criteria: tuple[Criterion, ...]


class Judge:
    """Args:
    chat: None where all criteria are rules.
    concurrency: bounds the calls of one ``judge()`` in flight.
    gate: give no credit to what is no answer at all (``training.reward.gate``): its criteria with positive points are not met.
    evidence: ask for a passage of the response with each verdict; without one that occurs there, what is met is unscored.
    cache: None keeps verdicts in memory.
    model: names the model and its settings in the cache (``ChatConfig.identity``).
    """

    def __init__(
        self,
        chat: ChatModel | None,
        concurrency: int = 8,
        batch: int = 8,
        protocol: Protocol = "batched",
        evidence: bool = False,
        cache: VerdictCache | None = None,
        model: str = "",
        gate: bool = True,
    ):
        if concurrency < 1 or batch < 1:
            raise ValueError(f"concurrency and batch must be at least 1, got {concurrency} and {batch}")
        self.chat = chat
        self.concurrency = concurrency
        self.batch = 1 if protocol == "per_criterion" else batch
        self.protocol = protocol
        self.evidence = evidence and protocol != "holistic"
        self.cache = cache or VerdictCache()
        self.model = model
        self.gate = gate

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
        """For each item one verdict per criterion, in the order of its rubric. Thoughts before the response are not judged."""
        items = [replace(item, response=visible(item.response)) for item in items]
        refused = [refusal(item.messages, item.rubric, item.response) if self.gate else None for item in items]
        placed = [self._questions(item, reason) for item, reason in zip(items, refused, strict=True)]
        outcomes: dict[str, Outcome] = {}
        missing: dict[str, _Question] = {}
        for question in (q for questions in placed for q in questions.values()):
            if question.key not in outcomes and question.key not in missing:
                if (known := self.cache.get(question.key)) is not None:
                    outcomes[question.key] = Outcome(*known)
                else:
                    missing[question.key] = question
        calls = self._calls(list(missing.values()))
        for call, found in zip(calls, together(self._ask, calls, self.concurrency), strict=True):
            outcomes.update(zip((q.key for q in call), found, strict=True))
        return [
            tuple(
                _verdict(criterion, questions[place], outcomes)
                if place in questions
                else without_model(criterion, item.response, reason)
                for place, criterion in enumerate(item.rubric)
            )
            for item, questions, reason in zip(items, placed, refused, strict=True)
        ]

    def _questions(self, item: JudgeItem, refused: str | None) -> dict[int, _Question]:
        """What a model must be asked, by place in the rubric. Of what is ``refused`` only whether it does something unwanted."""
        judged = [(place, criterion) for place, criterion in enumerate(item.rubric) if criterion.kind != "rule"]
        places = [place for place, criterion in judged if refused is None or criterion.points < 0]
        if not places or is_empty(item.response):
            return {}
        if self.protocol == "holistic" and refused is not None:
            return {}
        if self.protocol == "holistic":
            criteria = tuple(item.rubric[place] for place in places)
            return dict.fromkeys(places, _Question(self.key("holistic", item, criteria), item, "holistic", criteria))
        found = {}
        for place in places:
            criterion = item.rubric[place]
            kind: Kind = "levels" if criterion.kind == "levels" else "llm"
            found[place] = _Question(self.key(kind, item, (criterion,)), item, kind, (criterion,))
        return found

    def key(self, kind: Kind, item: JudgeItem, criteria: Sequence[Criterion]) -> str:
        """All that can change an outcome, but for one thing: which other criteria share its call. Those may colour it, yet with them
        in the key an edit of one criterion would have the whole rubric judged, and paid for, again, and would measure the judge's
        own noise on the criteria that did not change. Where that colouring matters, choose ``per_criterion``."""
        judged = [[wording(c), c.points if kind == "holistic" else c.points > 0] for c in criteria]
        asked = [self.model, self.protocol, self.batch, _asking(kind, self.evidence)]
        return key_of("verdict", asked, [m.model_dump() for m in item.messages], item.response, judged)

    def _calls(self, questions: Sequence[_Question]) -> list[tuple[_Question, ...]]:
        """Questions on one item and of one kind, at most ``batch`` together."""
        alike: dict[tuple[int, Kind], list[_Question]] = {}
        for question in questions:
            alike.setdefault((id(question.item), question.kind), []).append(question)
        return [tuple(group[i : i + self.batch]) for group in alike.values() for i in range(0, len(group), self.batch)]

    def _ask(self, call: tuple[_Question, ...]) -> list[Outcome]:
        item, kind = call[0].item, call[0].kind
        criteria = [criterion for question in call for criterion in question.criteria]
        if self.chat is None:
            return [Outcome(None, "no judge model")] * len(call)
        # The ids of a rubric are the user's own words; short ones of ours cannot mislead and are copied without error.
        ids = [f"C{number}" for number in range(1, len(criteria) + 1)]
        shown = [wording(c) + (f"\npoints: {c.points:+g}" if kind == "holistic" else "") for c in criteria]
        quotation = Quotation()
        user = render(
            "judge_user",
            marker=quotation.marker,
            conversation=quotation.conversation(item.messages),
            response=quotation.fence("response", item.response),
            ids=", ".join(ids),
            criteria="\n".join(quotation.fence(i, text) for i, text in zip(ids, shown, strict=True)),
        )
        try:
            reply = self.chat.complete(system_prompt(kind, self.evidence), user, schema_for(kind, self.evidence))
        except ChatFailure as failure:
            return [Outcome(None, failure.reason)] * len(call)
        found = read_reply(reply, ids, criteria, item.response)
        self.cache.put({q.key: outcome for q, outcome in zip(call, found, strict=True) if outcome.grade is not None})
        return found


@cache
def system_prompt(kind: Kind, evidence: bool) -> str:
    names = {"llm": "judge", "levels": "judge_levels", "holistic": "judge_holistic"}
    return prompt(names[kind]) + (prompt("judge_evidence") if evidence else "")


@cache
def _asking(kind: Kind, evidence: bool) -> str:
    """A digest of all fixed texts of a call."""
    schema = json.dumps(schema_for(kind, evidence).model_json_schema())
    return key_of(system_prompt(kind, evidence), prompt("judge_user"), schema)


def _verdict(criterion: Criterion, question: _Question, outcomes: dict[str, Outcome]) -> Verdict:
    grade, reason = outcomes[question.key]
    if grade is None:
        return Verdict.unscored(criterion.id, reason)
    if question.kind == "holistic" and criterion.points < 0:
        grade = 1 - grade  # so that the score of the whole is the grade
    return Verdict.graded(criterion.id, grade, reason)


def without_model(criterion: Criterion, response: str, refused: str | None = None) -> Verdict:
    """The verdict of a rule, or of an empty or ``refused`` response, which meets nothing that is wanted."""
    if refused is not None and criterion.points > 0:
        return Verdict.of(criterion.id, False, refused)
    return _by_rule(criterion, response) if criterion.kind == "rule" else Verdict.of(criterion.id, False, "empty response")


def _by_rule(criterion: Criterion, response: str) -> Verdict:
    if criterion.rule is None:
        raise ValueError(f"criterion '{criterion.id}' of kind 'rule' has no rule")
    try:
        return Verdict.of(criterion.id, met=rules.check(criterion.rule, response))
    except TaskError:  # an edit may bring a rule that does not fit; rules of tasks are refused by check_rubrics
        return Verdict.unscored(criterion.id, "rule")


def wording(criterion: Criterion) -> str:
    levels = criterion.levels or {}
    steps = [f"level {name}: {levels[name]}" for name in sorted(levels, key=lambda name: level_values([name]))]
    return "\n".join([criterion.text, *steps])


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
