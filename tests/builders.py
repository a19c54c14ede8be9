"""Small tasks, rollouts and visits for tests, and a rehearsal over a policy whose pass rates are known."""

from collections.abc import Callable, Sequence

import numpy as np

from agents.rehearsal import GradeRequest, OrderRequest, RolloutRequest
from memory.decision import Decision, Interval, Measurement
from memory.edit import AddField, Claim, Edit
from memory.harness import GuidanceField, TaskHarness
from memory.pairs import Orders, group_shares
from memory.task import Criterion, Message, Rule, Task, Verdict
from memory.visit import PairOrder, PairShares, Rollout, Sign, Visit
from training.reward.rules import check
from training.reward.score import score


def criterion(criterion_id: str, phrase: str | None = None, points: float = 1.0, text: str | None = None) -> Criterion:
    phrase = phrase or criterion_id
    rule = Rule(name="mentions_any", args={"phrases": [phrase]})
    return Criterion(id=criterion_id, text=text or f"Mentions {phrase}", points=points, kind="rule", rule=rule)


def task(task_id: str = "t", *criteria: Criterion, domain: str = "science") -> Task:
    prompt = (Message(role="user", content="Tell me about it."),)
    return Task(id=task_id, domain=domain, messages=prompt, rubric=criteria or (criterion("alpha"), criterion("beta")))


def graded(rubric: Sequence[Criterion], rollout: Rollout) -> Rollout:
    assert all(c.rule for c in rubric)
    verdicts = tuple(Verdict.of(c.id, check(c.rule, rollout.text)) for c in rubric if c.rule)
    return rollout.model_copy(update={"verdicts": verdicts, "score": score(rubric, verdicts, 0.8)})


def rollouts(of: Task, texts: Sequence[str], name: str = "step-000000") -> list[Rollout]:
    return [
        graded(of.rubric, Rollout(id=f"{name}/{i}", task_id=of.id, text=text, tokens=len(text.split())))
        for i, text in enumerate(texts)
    ]


def orders(quality: Sequence[float]) -> tuple[PairOrder, ...]:
    """All pairs, ordered by a number per rollout."""
    return tuple(
        PairOrder(first=i, second=j, order=int(np.sign(quality[i] - quality[j])))  # type: ignore[arg-type]
        for j in range(len(quality))
        for i in range(j)
    )


def visit(
    of: Task, texts: Sequence[str], quality: Sequence[float] | None = None, step: int = 0, entry: TaskHarness | None = None
):
    """(visit, its rollouts) of a group with these responses."""
    made = rollouts(of, texts, f"step-{step:06d}")
    q = orders(quality if quality is not None else [0.0] * len(texts))
    shares, criteria = group_shares(made, of.rubric, q)
    return (
        Visit(
            id=f"v{step}-{of.id}",
            step=step,
            task_id=of.id,
            domain=of.domain,
            harness_version=0,
            level=entry.level if entry else 1.0,
            rollout_ids=tuple(r.id for r in made),
            guided=tuple(False for _ in made),
            guidance_ids=(),
            scores=tuple(r.score for r in made),
            lengths=tuple(r.tokens for r in made),
            clipped=0,
            shares=shares,
            criteria=criteria,
            quality=q,
        ),
        made,
    )


def field_edit(task_id: str = "t", text: str = "hint words", edit_id: str = "e1") -> Edit:
    return Edit(
        id=edit_id,
        task_id=task_id,
        operation=AddField(field=GuidanceField(id=edit_id, text=text, criterion_ids=("alpha",))),
        claim=Claim(pair_class="blind", criterion_ids=("alpha",), reason="nobody says alpha"),
        proposer="test",
    )


def decision(edit: Edit, outcome: str = "rejected", step: int = 0, number: int = 1, gain: float = 0.3) -> Decision:
    measurement = Measurement(
        edit_id=edit.id,
        quantity="share not blind",
        before=PairShares(),
        after=PairShares(),
        mean_score_before=0.1,
        mean_score_after=0.2,
        effect=Interval(estimate=gain, low=gain - 0.1, high=gain + 0.1),
        rollouts=16,
        quality_calls=10,
        looks=1,
    )
    return Decision.model_validate(
        {"edit": edit, "step": step, "round": number, "outcome": outcome, "sentence": "because", "measurement": measurement}
    )


class SimulatedRehearsal:
    """A rehearsal whose policy says each phrase with a known probability, more often where guidance names it.

    Args:
        rates: probability of each phrase in a plain response.
        guided: probability of a phrase when a guidance field contains it.
        quality: the true quality of a response; Q orders by it and errs with ``flip_rate``.
    """

    def __init__(
        self,
        tasks: dict[str, Task],
        rates: dict[str, float],
        guided: float = 0.9,
        quality: Callable[[str], float] = len,
        flip_rate: float = 0.15,
        seed: int = 0,
    ):
        self.tasks = tasks
        self.rates = rates
        self.guided = guided
        self.quality = quality
        self.flip_rate = flip_rate
        self.rng = np.random.default_rng(seed)
        self.quality_source = "gold"
        self.rolled_out = 0

    def roll_out(self, tag: str, requests: Sequence[RolloutRequest]) -> list[tuple[Rollout, ...]]:
        found = []
        for request in requests:
            hints = " ".join(f.text for f in request.entry.guidance) if request.guided else ""
            group = []
            for _ in range(request.count):
                said = [p for p, rate in self.rates.items() if self.rng.random() < (self.guided if p in hints else rate)]
                text = ". ".join(said) or "nothing"
                group.append(Rollout(id=f"{tag}/{self.rolled_out}", task_id=request.task_id, text=text, tokens=len(said)))
                self.rolled_out += 1
            found.append(tuple(group))
        return found

    def grade(self, requests: Sequence[GradeRequest]) -> list[tuple[Rollout, ...]]:
        return [tuple(graded(q.rubric, r) for r in q.rollouts) for q in requests]

    def signs(self, requests: Sequence[GradeRequest]) -> list[dict[str, Sign]]:
        return [{} for _ in requests]

    def order(self, requests: Sequence[OrderRequest]) -> list[Orders]:
        return [Orders.told(q.pairs, [self._order(q.rollouts, i, j) for i, j in q.pairs]) for q in requests]

    def _order(self, group: Sequence[Rollout], i: int, j: int) -> int:
        truth = int(np.sign(self.quality(group[i].text) - self.quality(group[j].text)))
        flip = -1 if self.rng.random() < self.flip_rate else 1
        return truth * flip
