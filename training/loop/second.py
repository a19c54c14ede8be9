"""A second opinion on what the judge has begun to credit: credit that another judge refuses is what a policy learns to fool by."""

import random
from collections.abc import Sequence

from memory.memory import Memory
from memory.task import Criterion
from memory.visit import Visit
from training.loop.policy import derived_seed
from training.loop.signs import Group
from training.reward.judge import Judge, JudgeItem
from training.reward.signals import Reading

NEWLY = 0.25
"""Rise of a criterion's pass rate since the task's last visit from which its credit is new: two of eight rollouts."""
LEAST = 8
"""Credits looked at below which no share is given."""


class SecondOpinion:
    """``judge`` is another model than the one it is asked about; ``number`` credits of a step are shown to it."""

    def __init__(self, judge: Judge, number: int, seed: int):
        self.judge = judge
        self.chat = judge.chat
        self.number = number
        self.seed = seed

    def ask(self, step: int, groups: Sequence[Group], visits: Sequence[Visit], memory: Memory) -> Reading:
        """The share of newly credited criteria that the second judge says are not met. What it fails on counts for nothing."""
        credited = [
            JudgeItem(messages=seat.task.messages, response=rollout.text, rubric=(criterion,))
            for (seat, rollouts), visit in zip(groups, visits, strict=True)
            for criterion in _newly_credited(seat.entry.rubric, visit, memory)
            for rollout in rollouts
            if any(v.criterion_id == criterion.id and v.status == "met" for v in rollout.verdicts)
        ]
        chosen = random.Random(derived_seed(self.seed, "second", step)).sample(credited, min(self.number, len(credited)))
        statuses = [verdict.status for (verdict,) in self.judge.judge(chosen)]
        said = [status for status in statuses if status != "unscored"]
        share = said.count("not_met") / len(said) if len(said) >= LEAST else None
        return Reading(share, f"{said.count('not_met')} of {len(said)} new credits")


def _newly_credited(rubric: Sequence[Criterion], visit: Visit, memory: Memory) -> list[Criterion]:
    """Wanted criteria, judged by a model, that many more rollouts meet than at the task's last visit."""
    before = [v for v in memory.visits.get(visit.task_id, ()) if v.step < visit.step]
    if not before:
        return []
    then = {h.criterion_id: h.pass_rate for h in before[-1].criteria}
    now = {h.criterion_id: h.pass_rate for h in visit.criteria}
    return [
        c
        for c in rubric
        if c.points > 0
        and c.kind != "rule"
        and (rate := now.get(c.id)) is not None
        and (earlier := then.get(c.id)) is not None
        and rate - earlier >= NEWLY
    ]
