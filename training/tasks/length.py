"""Prompts against the policy's context, before a step is spent on them."""

from collections.abc import Callable, Sequence
from typing import Literal

from memory.errors import TaskError
from memory.task import Message, Task
from training.tasks.notes import Remark


def fit_prompts(
    tasks: Sequence[Task],
    count: Callable[[tuple[Message, ...]], int],
    limit: int,
    overlong: Literal["stop", "drop"],
    field: str,
) -> tuple[list[Task], list[Remark]]:
    """The tasks whose prompts have at most ``limit`` tokens, and a remark on each of the others.

    Args:
        count: tokens of a prompt, as the policy sees it without guidance.
        overlong: stop at any longer prompt, or leave its task out.

    Raises:
        TaskError: with the number of tasks that are too long, the longest of them and the limit.
    """
    lengths = [count(task.messages) for task in tasks]
    remarks = [
        Remark(
            task.origin.source if task.origin else task.id,
            (task.origin.row or 0) if task.origin else 0,
            "W_PROMPT_TOO_LONG",
            f"task '{task.id}': the prompt has {length} tokens, {limit} are allowed",
        )
        for task, length in zip(tasks, lengths, strict=True)
        if length > limit
    ]
    if remarks and overlong == "stop":
        longest, task = max(zip(lengths, tasks, strict=True), key=lambda pair: pair[0])
        raise TaskError(
            f"{field}: {len(remarks)} of {len(tasks)} prompts are longer than {limit} tokens, the longest has {longest} "
            f"(task '{task.id}'); raise tasks.max_prompt_tokens if the policy's context allows, or leave such tasks out with "
            "tasks.overlong=drop"
        )
    return [task for task, length in zip(tasks, lengths, strict=True) if length <= limit], remarks
