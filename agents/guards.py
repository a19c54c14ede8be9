"""Guard tasks: what an edit teaches, the policy carries over to tasks like it, so there it must do no harm.

Only edits that bring in something new are looked at: a field of guidance, whose behaviour may spread, and a new criterion, whose
reward may. A field is mounted on the guard task, and Q compares its responses with those without it; a new criterion is added to the
guard task's rubric, and the rank agreement of the score with Q is compared on the same fresh rollouts. The edit is rejected when the
harm is certain: estimate over ``guard_limit`` and interval above 0.

This is also how the edits of one round are confirmed as a set. They are taken in order of evidence; where a guard task is itself about
to be edited, it is rehearsed as it will be, so that of two edits that do not go together the weaker one gives way. The same holds for
what earlier passes of the round have accepted.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from agents.config import CriticConfig
from agents.measurement import failed_for_certain, guard, scores_of
from agents.pool import RolloutPool
from agents.rehearsal import OrderRequest
from agents.sample import Arm, GuardTask, Sample
from agents.statistics import Estimate, agreement, agreement_lost
from memory.decision import Guard
from memory.edit import AddField, CreateCriterion, RewriteField
from memory.harness import GuidanceField, TaskHarness
from memory.pairs import Orders
from memory.visit import Rollout


def carried_over(sample: Sample, entry: TaskHarness) -> TaskHarness | None:
    """The guard task's entry with what the edit brings in; None for an edit that brings in nothing that could spread."""
    edit = sample.candidate.edit
    created = next((o for o in (edit.operation, *edit.secondary) if isinstance(o, CreateCriterion)), edit.operation)
    match edit.operation if edit.interface == "g" else created:
        case AddField(field=field):
            text = field.text
        case RewriteField(text=text):
            pass
        case CreateCriterion(criterion=criterion):
            own = sum(abs(c.points) for c in entry.rubric)
            share = abs(criterion.points) / sum(abs(c.points) for c in sample.candidate.before.rubric)
            points = own * share * (1 if criterion.points > 0 else -1)
            new = criterion.model_copy(update={"id": f"carried-over-{edit.id}", "points": points})
            return entry.model_copy(update={"rubric": (*entry.rubric, new)})
        case _:
            return None
    return entry.model_copy(update={"guidance": (*entry.guidance, GuidanceField(id=f"carried-over-{edit.id}", text=text))})


def confirm(
    pool: RolloutPool,
    tag: str,
    samples: Sequence[Sample],
    config: CriticConfig,
    with_quality: bool,
) -> dict[str, tuple[Guard, ...]]:
    """Guards per edit id for samples about to be accepted, one per task, strongest evidence first."""
    if not with_quality or not config.guard_tasks:
        return {}
    coming: dict[str, TaskHarness] = {}
    trials: list[_Trial] = []
    for sample in samples:
        for task in sample.candidate.guard_tasks[: config.guard_tasks]:
            entry = coming.get(task.task_id, task.entry)
            after = carried_over(sample, entry)
            if after is not None:
                trials.append(_Trial(sample, GuardTask(task_id=task.task_id, entry=entry), after, config.guard_rollouts))
        coming[sample.task_id] = sample.candidate.after
    if not trials:
        return {}
    pool.roll_out(tag, [(t.task.task_id, arm, t.needs(arm)) for t in trials for arm in t.arms])
    for trial in trials:
        trial.take(pool)
    found: dict[str, list[Guard]] = {}
    for trial, harm in zip(trials, _harms(pool, trials, config.quality_pairs), strict=True):
        one = guard("quality" if trial.by_rollouts else "rank agreement with Q", harm, config.guard_limit, trial.task.task_id)
        holds = not failed_for_certain(one)
        found.setdefault(trial.sample.candidate.edit.id, []).append(one.model_copy(update={"holds": holds}))
    return {edit_id: tuple(guards) for edit_id, guards in found.items()}


class _Trial:
    """One edit on one guard task: ``rollouts`` on each side for guidance, twice as many on both sides at once for a criterion."""

    def __init__(self, sample: Sample, task: GuardTask, after: TaskHarness, rollouts: int):
        self.sample, self.task, self.after, self.rollouts = sample, task, after, rollouts
        self.by_rollouts = after.guidance != task.entry.guidance
        entry = task.entry
        plain = Arm(entry, guided=bool(entry.guidance) and self.by_rollouts, share=1.0, in_before=True, in_after=False)
        self.arms = [plain, Arm(after, guided=True, share=1.0, in_before=False, in_after=True)] if self.by_rollouts else [plain]
        self.taken: list[Rollout] = []
        self.strata: list[int] = []

    def needs(self, arm: Arm) -> int:
        return self.rollouts if self.by_rollouts else 2 * self.rollouts

    def take(self, pool: RolloutPool) -> None:
        for stratum, arm in enumerate(self.arms):
            rollouts = pool.latest(self.task.task_id, arm, self.needs(arm))
            self.taken += rollouts
            self.strata += [stratum] * len(rollouts)
        self.sample.further_rollouts += len(self.taken)

    def pairs(self, limit: int) -> list[tuple[int, int]]:
        every = [
            (i, j) for i, j in combinations(range(len(self.taken)), 2) if not self.by_rollouts or self.strata[i] != self.strata[j]
        ]
        return every[:: max(1, -(-len(every) // limit))]


def _harms(pool: RolloutPool, trials: Sequence[_Trial], limit: int) -> list[Estimate]:
    orders = pool.order([OrderRequest(t.task.task_id, t.taken, t.pairs(limit)) for t in trials])
    rubrics = [(t, rubric) for t in trials for rubric in (t.task.entry.rubric, t.after.rubric)]
    graded = iter(pool.grade([(t.task.task_id, rubric, t.taken) for t, rubric in rubrics]))
    harms = []
    for trial, pairs in zip(trials, orders, strict=True):
        trial.sample.quality_calls += len(pairs)
        old, new = scores_of(next(graded)), scores_of(next(graded))
        harms.append(_harm(trial, pairs, old, new))
    return harms


def _harm(trial: _Trial, pairs: Orders, old: np.ndarray, new: np.ndarray) -> Estimate:
    if trial.by_rollouts:
        side = np.array([1.0 - 2.0 * s for s in trial.strata])
        return agreement(side, pairs, trial.strata)
    return agreement_lost(old, new, pairs, trial.strata)
