"""p: which tasks a step draws.

Smooth weighted round robin: every task earns credit in proportion to its weight, the ``k`` tasks with the most credit are drawn
and pay one each. Over time each task is drawn in proportion to its weight, and no eligible task is ever left out
(huggingface/trl#3477), which independent draws do not promise. The first credits and the tie-breaks are random, from a generator
of its own that is saved with the checkpoint.
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from memory.harness import Harness
from memory.task import Task


class TaskSampler:
    """Draws distinct tasks by level. Every rank holds an equal copy and draws the same.

    Args:
        floor: least weight of any task; 0 lets retired tasks go.
    """

    def __init__(self, tasks: Sequence[Task], floor: float, seed: int):
        self.tasks = {t.id: t for t in tasks}
        self.floor = floor
        self.random = random.Random(seed)
        self.credit = {i: self.random.random() for i in sorted(self.tasks)}

    def weights(self, harness: Harness) -> dict[str, float]:
        return {i: max(harness.of(t).level, self.floor) for i, t in sorted(self.tasks.items())}

    def draw(self, harness: Harness, count: int) -> list[Task]:
        """``count`` distinct tasks, or all drawable ones where there are fewer, repeated in order to fill ``count``. Where every task is
        retired all are drawn alike: a step needs tasks."""
        weights = {i: w for i, w in self.weights(harness).items() if w > 0} or dict.fromkeys(sorted(self.tasks), 1.0)
        total = sum(weights.values())
        for task_id, weight in weights.items():
            self.credit[task_id] += count * weight / total
        ranked = sorted(weights, key=lambda i: (-self.credit[i], self.random.random()))
        drawn = [ranked[k % len(ranked)] for k in range(count)]
        for task_id in drawn:
            self.credit[task_id] -= 1
        return [self.tasks[i] for i in drawn]

    def bring_forward(self, task_ids: Iterable[str]) -> None:
        """Let these tasks be drawn soon, once more than their level alone would have them."""
        for task_id in task_ids:
            self.credit[task_id] += 1

    def state(self) -> dict[str, Any]:
        version, numbers, gauss = self.random.getstate()
        return {"credit": self.credit, "random": [version, list(numbers), gauss]}

    def restore(self, state: Mapping[str, Any]) -> None:
        version, numbers, gauss = state["random"]
        self.random.setstate((version, tuple(numbers), gauss))
        self.credit = {i: state["credit"][i] for i in sorted(state["credit"])}


def calibration_split(tasks: Sequence[Task], count: int, seed: int) -> list[Task]:
    """``count`` of the training tasks, drawn in turn from each domain: the split D_0 that fills the memory before training."""
    by_domain: dict[str, list[Task]] = {}
    for task in sorted(tasks, key=lambda t: t.id):
        by_domain.setdefault(task.domain, []).append(task)
    rng = random.Random(seed)
    for part in by_domain.values():
        rng.shuffle(part)
    in_turn = [task for row in zip_longest(*by_domain.values()) for task in row if task is not None]
    return in_turn[:count]
