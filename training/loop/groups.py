"""One step's groups: who sits where, what each rollout sees, and which rollouts train.

A group is the ``group_size`` consecutive seats of one task, keyed by task id and never by prompt text, since guidance makes the
prompts of a group differ (NVIDIA-NeMo/RL#4013).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.harness import Harness, TaskHarness
from memory.task import Task
from training.config import RunConfig
from training.loop.guidance import ceiling_at, guidance_text, guided_count, mount
from training.loop.sampling import TaskSampler


@dataclass(frozen=True)
class Seat:
    """One rollout to be made: its task, the harness entry it is made under, and the guidance it sees (None: plain)."""

    task: Task
    entry: TaskHarness
    guidance: str | None

    @property
    def plain_prompt(self):
        return self.entry.messages

    @property
    def seen_prompt(self):
        return mount(self.entry.messages, self.guidance)


def seat_step(sampler: TaskSampler, harness: Harness, step: int, config: RunConfig) -> list[Seat]:
    """All seats of a step over all ranks, group after group; the last rollouts of a group are the guided ones."""
    ceiling = ceiling_at(step, config.train.steps, config.guidance)
    n = config.train.group_size
    seats = []
    for task in sampler.draw(harness, config.train.tasks_per_step):
        entry = harness.of(task)
        text = guidance_text(entry.guidance, ceiling)
        guided = guided_count(n, config.guidance) if text else 0
        seats += [Seat(task, entry, text if k >= n - guided else None) for k in range(n)]
    return seats


def trains(scores: Sequence[float | None], group_size: int) -> list[bool]:
    """Which rollouts carry a gradient: the scored ones of groups whose scores differ.

    A group without spread trains nothing, its KL term included (huggingface/trl#5640), and neither does an unscored rollout.
    """
    flags: list[bool] = []
    for start in range(0, len(scores), group_size):
        group = scores[start : start + group_size]
        scored = [s for s in group if s is not None]
        spread = bool(scored) and max(scored) - min(scored) > 1e-9
        flags += [spread and s is not None for s in group]
    return flags
