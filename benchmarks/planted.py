"""Planted edits of known size over a simulated policy: what ``benchmarks.critic`` measures the critic with.

A response is a set of words, each said with a known rate, independently; Q orders by the number of good words and errs on 15 % of
pairs. Guidance and task texts move the rates by a known amount. So the true gain of every edit is known, and rejecting or accepting
it is right or wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from agents.rehearsal import GradeRequest, OrderRequest, RolloutRequest
from agents.sample import Candidate, GuardTask
from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    Operation,
    PairClass,
    RepriceCriterion,
    RewriteTask,
    SetLevel,
    apply,
)
from memory.harness import GuidanceField, TaskHarness
from memory.pairs import Orders
from memory.task import Criterion, Message, Rule, Verdict
from memory.visit import Rollout, Sign

FLIP = 0.15


def criterion(word: str, points: float = 1.0, name: str | None = None) -> Criterion:
    rule = Rule(name="mentions_any", args={"phrases": [word]})
    return Criterion(id=name or word, text=f"Mentions {word}", points=points, kind="rule", rule=rule)


def entry(*rubric: Criterion) -> TaskHarness:
    return TaskHarness(level=1.0, messages=(Message(role="user", content="Tell me about it."),), guidance=(), rubric=rubric)


@dataclass(frozen=True)
class Planted:
    """An edit whose truth is known.

    ``rates`` is how often each word is said, ``good`` the words that Q counts, ``moved`` the rates under the edit's text (of
    guidance or task), where it has one.
    """

    kind: str
    name: str
    before: TaskHarness
    operation: Operation
    rates: dict[str, float]
    good: tuple[str, ...]
    claim: PairClass = "spurious"
    moved: dict[str, float] = field(default_factory=dict)

    def candidate(self, number: int) -> Candidate:
        ids = tuple(c.id for c in self.before.rubric) if self.claim == "blind" else ()
        edit = Edit(
            id=f"{self.name}/{number}",
            task_id=f"{self.name}/{number}",
            operation=self.operation,
            claim=Claim(pair_class=self.claim, criterion_ids=ids, reason="planted"),
            proposer="planted",
        )
        # The guard task is one like the task itself, on which the edit has the same effect.
        near = GuardTask(task_id=f"{edit.task_id}/near", entry=self.before)
        return Candidate(edit=edit, before=self.before, after=apply(edit, self.before), guard_tasks=(near,))


MOVES = "moves"
"""What a guidance field or a task text says that moves the rates."""


class PlantedRehearsal:
    """The policy of planted edits. Task ids are ``NAME/NUMBER``, or ``NAME/NUMBER/near`` for a guard task."""

    quality_source = "gold"

    def __init__(self, planted: Sequence[Planted], seed: int):
        self.planted = {p.name: p for p in planted}
        self.rng = np.random.default_rng(seed)
        self.rolled_out = 0

    def of(self, task_id: str) -> Planted:
        return self.planted[task_id.split("/")[0]]

    def roll_out(self, tag: str, requests: Sequence[RolloutRequest]) -> list[tuple[Rollout, ...]]:
        found = []
        for request in requests:
            planted = self.of(request.task_id)
            moves = MOVES in request.entry.messages[-1].content
            moves |= request.guided and any(MOVES in f.text for f in request.entry.guidance)
            rates = planted.rates | (planted.moved if moves else {})
            said = self.rng.random((request.count, len(rates))) < np.array(list(rates.values()))
            words = np.array(list(rates))
            group = []
            for row in said:
                text = " ".join(words[row])
                group.append(Rollout(id=f"{tag}/{self.rolled_out}", task_id=request.task_id, text=text, tokens=int(row.sum())))
                self.rolled_out += 1
            found.append(tuple(group))
        return found

    def grade(self, requests: Sequence[GradeRequest]) -> list[tuple[Rollout, ...]]:
        return [tuple(_graded(r, request.rubric) for r in request.rollouts) for request in requests]

    def signs(self, requests: Sequence[GradeRequest]) -> list[dict[str, Sign]]:
        return [{} for _ in requests]

    def order(self, requests: Sequence[OrderRequest]) -> list[Orders]:
        found = []
        for request in requests:
            good = set(self.of(request.task_id).good)
            quality = [len(good & set(r.text.split())) for r in request.rollouts]
            flips = self.rng.random(len(request.pairs)) < FLIP
            orders = [
                int(np.sign(quality[i] - quality[j])) * (-1 if flip else 1)
                for (i, j), flip in zip(request.pairs, flips, strict=True)
            ]
            found.append(Orders.told(request.pairs, orders))
        return found


def _graded(rollout: Rollout, rubric: Sequence[Criterion]) -> Rollout:
    said = set(rollout.text.split())
    verdicts = tuple(Verdict.of(c.id, c.rule is not None and c.rule.args["phrases"][0] in said) for c in rubric)
    earned = sum(c.points for c, v in zip(rubric, verdicts, strict=True) if v.status == "met")
    score = min(1.0, max(0.0, earned / sum(c.points for c in rubric if c.points > 0)))
    return rollout.model_copy(update={"verdicts": verdicts, "score": score})


EVEN = {"one": 0.5, "two": 0.5, "three": 0.5, "four": 0.5}
FLAT = 0.5 * (1 - np.sqrt(0.5))
"""The rate p at which 2 p (1 - p) is 0.25, the default ``flat_share``."""


def hint(kind: str, name: str, before: float, after: float, good=("rare", "one", "two"), **others: float) -> Planted:
    """Guidance that moves one word's rate; ``others`` move with it."""
    field_ = GuidanceField(id="f", text=MOVES)
    return Planted(
        kind, name, entry(criterion("rare", 2)), AddField(field=field_), {"rare": before, **EVEN}, good, "blind",
        moved={"rare": after, **others},
    )  # fmt: skip


def rewrite(kind: str, name: str, before: float, after: float) -> Planted:
    text = (Message(role="user", content=f"Tell me about it, {MOVES}."),)
    return Planted(
        kind, name, entry(criterion("rare", 2)), RewriteTask(direction="easier", messages=text), {"rare": before, **EVEN},
        ("rare", "one"), "blind", moved={"rare": after},
    )  # fmt: skip


def level(kind: str, name: str, rate: float, op: str) -> Planted:
    change = SetLevel.model_validate({"op": op, "level": 0.5 if op == "lower_level" else 2.0})
    return Planted(kind, name, entry(criterion("word")), change, {"word": rate}, ("word",), "saturated")


def criteria(kind: str, name: str, operation: Operation, *rubric: Criterion, good=("one", "two")) -> Planted:
    return Planted(kind, name, entry(*rubric), operation, {**EVEN, "noise": 0.5}, tuple(good))


def create(word: str, points: float = 1.0) -> CreateCriterion:
    return CreateCriterion(criterion=criterion(word, points, "new"))


def catalogue() -> list[Planted]:
    """The planted edits. ``A/A``: nothing changes. ``neutral``: something changes, the true gain is 0. ``harmful``: the gain is
    negative, or bought with quality. ``small``, ``medium``, ``large``: helpful."""
    one, two, noise = criterion("one"), criterion("two"), criterion("noise", 2)
    aligned = ("one", "two", "three")
    return [
        hint("A/A", "hint without effect, often passed", 0.3, 0.3),
        hint("A/A", "hint without effect, seldom passed", 0.1, 0.1),
        rewrite("A/A", "task text without effect", 0.3, 0.3),
        criteria("neutral", "one more criterion like the others", create("three"), one, two, good=aligned),
        criteria("neutral", "price of one of two alike", RepriceCriterion(criterion_id="one", points=3), one, two),
        level("neutral", "lower a task just at the limit", FLAT, "lower_level"),
        level("neutral", "raise a task just at the limit", FLAT, "raise_level"),
        criteria("harmful", "criterion of noise", create("noise", 2), one, two),
        criteria("harmful", "delete one that agrees", DeleteCriterion(criterion_id="one"), one, two, noise),
        hint("harmful", "hint that helps the criterion and spoils the answer", 0.1, 0.6, ("one", "two"), one=0.05, two=0.05),
        level("harmful", "lower an informative task", 0.35, "lower_level"),
        hint("small", "hint, 0.02 to 0.3", 0.02, 0.3),
        hint("medium", "hint, 0.02 to 0.5", 0.02, 0.5),
        hint("large", "hint, 0.02 to 0.8", 0.02, 0.8),
        rewrite("medium", "task text, 0.02 to 0.3", 0.02, 0.3),
        criteria("medium", "delete the criterion of noise", DeleteCriterion(criterion_id="noise"), one, two, noise),
        criteria("medium", "add one that agrees", create("one", 2), criterion("noise"), criterion("four")),
        level("medium", "lower a task with 5 % informative", 0.0257, "lower_level"),
        level("medium", "raise a task with 45 % informative", 0.35, "raise_level"),
    ]  # fmt: skip
