"""Which tasks an edit could hurt: those nearest by meaning, in the same domain first."""

from agents.sample import GuardTask
from memory.memory import Memory


def guard_tasks(memory: Memory, task_id: str, count: int) -> tuple[GuardTask, ...]:
    """The ``count`` visited tasks nearest to this one, with their entries as they are."""
    near = memory.nearest_tasks(task_id, count) if count else []
    return tuple(GuardTask(task_id=other, entry=memory.harness.of(memory.tasks[other])) for other in near)
