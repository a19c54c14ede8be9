"""Held-out evaluation: the policy under the plain prompt, scored by the rubric the user brought (c_0) and by gold checks.

Harness edits never touch held-out tasks, so two evaluations of a run, or of two runs, are on the same ruler.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from memory.decision import Interval
from memory.task import Task
from training.config import RunConfig
from training.reward.judge import JudgeItem
from training.reward.score import raw_score, score

if TYPE_CHECKING:
    from training.loop.patience import PatientJudge
    from training.loop.policy import Generate, Speaker

RESAMPLES = 10_000


class Gold(Protocol):
    """Gold checks of a suite; held-out scoring and the laboratory's Q are the only ones to see them."""

    def covers(self, task_id: str) -> bool: ...

    def score(self, task_id: str, response: str) -> float: ...


class HeldoutScores(NamedTuple):
    """Mean over a task's samples, by task id. Tasks without a scored sample are absent."""

    score: dict[str, float]
    raw: dict[str, float]
    gold: dict[str, float]


def evaluate(
    config: RunConfig, tasks: Sequence[Task], generate: "Generate", speaker: "Speaker", judge: "PatientJudge", gold: Gold | None
) -> HeldoutScores:
    """Sample ``evaluation.samples`` responses per task and score them; the same seed at every evaluation of a run."""
    from training.loop.policy import derived_seed

    seats = [task for task in tasks for _ in range(config.evaluation.samples)]
    completions = generate([speaker.prompt_ids(t.messages) for t in seats], derived_seed(config.seed, "heldout"))
    texts = [speaker.rollout("", t, ids, None).text for t, ids in zip(seats, completions, strict=True)]
    verdicts = judge.judge(
        [JudgeItem(messages=t.messages, response=text, rubric=t.rubric) for t, text in zip(seats, texts, strict=True)]
    )
    least = config.reward.min_scored_share
    values: dict[str, dict[str, list[float]]] = {name: {} for name in HeldoutScores._fields}
    for task, text, found in zip(seats, texts, verdicts, strict=True):
        measured = {
            "score": score(task.rubric, found, least),
            "raw": raw_score(task.rubric, found, least),
            "gold": gold.score(task.id, text) if gold is not None and gold.covers(task.id) else None,
        }
        for name, value in measured.items():
            if value is not None:
                values[name].setdefault(task.id, []).append(value)
    return HeldoutScores(*({i: float(np.mean(v)) for i, v in by_task.items()} for by_task in values.values()))


def paired_difference(before: dict[str, float], after: dict[str, float], seed: int = 0) -> Interval | None:
    """Mean change over the tasks that both sides have, with a 95 % bootstrap interval over tasks; None without any."""
    shared = sorted(before.keys() & after.keys())
    if not shared:
        return None
    change = np.array([after[i] - before[i] for i in shared])
    rng = np.random.default_rng(seed)
    means = change[rng.integers(len(change), size=(RESAMPLES, len(change)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(estimate=float(change.mean()), low=float(low), high=float(high))
