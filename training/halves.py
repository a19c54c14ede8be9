"""The two halves of a run's tasks: trained on and held out, loaded, held to the policy's context, and told of in words."""

from collections import Counter
from collections.abc import Sequence

from memory.errors import ConfigError
from memory.task import Task
from training.config import RunConfig
from training.loop.policy import Speaker, context_tokens
from training.tasks.length import fit_prompts
from training.tasks.load import Loaded, load_tasks
from training.tasks.notes import MEANINGS, Remark
from training.tasks.source import TaskSource

SHOWN = 3
"""Left-out rows that are told one by one."""


def load_halves(config: RunConfig) -> tuple[list[Task], list[Task], list[str]]:
    """Tasks to train on, tasks held out, and what there is to say of them, one line each.

    Raises:
        UserError: what is wrong, with source, row and field.
    """
    from training.session import load_tokenizer

    settings = config.tasks
    loaded = {
        "tasks.train": load_tasks(settings.train or (), "tasks.train", settings.on_error),
        "tasks.heldout": load_tasks(settings.heldout or (), "tasks.heldout", settings.on_error),
    }
    speaker = Speaker(load_tokenizer(config), config.policy)
    limit = settings.max_prompt_tokens or _room(config)
    lines: list[str] = []
    halves: list[list[Task]] = []
    for field, found in loaded.items():
        tasks = found.tasks
        long: list[Remark] = []
        if limit is not None:
            tasks, long = fit_prompts(tasks, lambda m: len(speaker.prompt_ids(m)), limit, settings.overlong, field)
        lines += _lines(field, found, long, settings.train if field == "tasks.train" else settings.heldout)
        halves.append(tasks)
    train, heldout = halves
    if not train:
        raise ConfigError(
            f"tasks.train: every prompt is longer than {limit} tokens; raise tasks.max_prompt_tokens or use other tasks"
        )
    trained = {task.messages for task in train}
    if shared := sum(task.messages in trained for task in heldout):
        lines.append(
            f"tasks.heldout: {shared} of {len(heldout)} prompts are also trained on, so the held-out score is no proof of learning"
        )
    return train, heldout, lines


def _room(config: RunConfig) -> int | None:
    """Tokens that the policy's context leaves for a prompt; None where the model states no context length."""
    context = context_tokens(config.policy)
    if context is None:
        return None
    if context <= config.policy.max_completion_tokens:
        raise ConfigError(
            f"policy.max_completion_tokens is {config.policy.max_completion_tokens}, but the policy's whole context has {context} tokens; lower it"
        )
    return context - config.policy.max_completion_tokens


def _lines(field: str, found: Loaded, long: Sequence[Remark], sources: Sequence[TaskSource] | None) -> list[str]:
    """Nothing for a suite that ships; otherwise counts, what was noted, and the first rows that were left out."""
    if all(source.suite for source in sources or ()) and not long:
        return []
    drafted = sum(criterion.drafted for task in found.tasks for criterion in task.rubric)
    notes = Counter(r.code for r in found.remarks if r.code.startswith("W_"))
    left_out = [*(r for r in found.remarks if r.code.startswith("E_")), *long]
    lines = [f"{field}: {len(found.tasks) - len(long)} tasks" + (f", {len(left_out)} rows left out" if left_out else "")]
    if drafted:
        lines.append(f"  {drafted} criteria were drafted by a model and are read by nobody")
    lines += [f"  {count} x {code}: {MEANINGS[code]}" for code, count in sorted(notes.items())]
    lines += [f"  left out: {r.source} row {r.row}: {r.text}" for r in left_out[:SHOWN]]
    if len(left_out) > SHOWN:
        lines.append(f"  and {len(left_out) - SHOWN} more; python -m training.tasks validate FILE lists them all")
    return lines
