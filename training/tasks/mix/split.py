"""Who goes where: groups to sides of the split, and tasks of a side in turn from every kind there is."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence

from memory.task import Task
from training.reward.rules.language import language_of

LENGTHS = (200, 800)
"""Characters of a prompt up to which it is short, and middling: about a third each of WritingBench's, K-QA's and our own."""


def position(seed: int, name: str) -> float:
    """A place in [0, 1) that depends on the name and the seed alone, so that a larger build moves no task to another side."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") / 2**64


def group_of(task: Task, label: str | None) -> str:
    """What must stay together: the tasks with the same label of this name, else the task alone."""
    source = task.origin.source if task.origin else ""
    own = next((tag for tag in task.tags if label is not None and tag.startswith(f"{label}:")), None)
    return f"{source}/{own if own is not None else task.id}"


def kind_of(task: Task) -> tuple[str, str, int]:
    """Source, language and length class of a task: what a suite is balanced over."""
    length = sum(len(message.content) for message in task.messages)
    source = task.origin.source if task.origin else ""
    return source, language_of(task.messages[-1].content) or "none", sum(length > limit for limit in LENGTHS)


def balanced(tasks: Sequence[Task], number: int, seed: int) -> list[Task]:
    """At most ``number`` tasks, one of each kind in turn, so that no source, language or length crowds out the others."""
    kinds: dict[tuple[str, str, int], list[Task]] = defaultdict(list)
    for task in sorted(tasks, key=lambda t: position(seed, t.id)):
        kinds[kind_of(task)].append(task)
    queues = [kinds[kind] for kind in sorted(kinds)]
    chosen: list[Task] = []
    depth = 0
    while len(chosen) < number and any(depth < len(queue) for queue in queues):
        chosen += [queue[depth] for queue in queues if depth < len(queue)]
        depth += 1
    return chosen[:number]
