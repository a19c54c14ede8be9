"""Which tasks an edit could hurt: those nearest by meaning."""

from collections.abc import Mapping, Sequence

from agents.sample import GuardTask
from memory.harness import TaskHarness
from memory.memory import Memory


def guard_tasks(
    memory: Memory, task_ids: Sequence[str], count: int, coming: Mapping[str, TaskHarness]
) -> dict[str, tuple[GuardTask, ...]]:
    """Per task the ``count`` visited tasks nearest to it, with their entries as they are, or as they are ``coming``."""
    near = memory.nearest_tasks(task_ids, count) if count else {task_id: [] for task_id in task_ids}
    return {
        task_id: tuple(
            GuardTask(task_id=other, entry=coming.get(other) or memory.harness.of(memory.tasks[other])) for other in others
        )
        for task_id, others in near.items()
    }
