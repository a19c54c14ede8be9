"""g: how guidance is mounted, who of a group sees it, and the ceiling that takes it away again."""

from collections.abc import Sequence

from memory.harness import GuidanceField, guidance_ceiling
from memory.task import Message
from training.config import GuidanceSettings

TEMPLATE = "Keep in mind:\n{fields}"


def guidance_text(fields: Sequence[GuidanceField], ceiling: int) -> str | None:
    """The text shown to guided rollouts: the newest ``ceiling`` fields; None when there is nothing to show."""
    shown = list(fields)[-ceiling:] if ceiling > 0 else []
    return TEMPLATE.replace("{fields}", "\n".join(f"- {f.text}" for f in shown)) if shown else None


def mount(messages: Sequence[Message], guidance: str | None) -> tuple[Message, ...]:
    """The prompt with guidance in its system message; the plain prompt for None."""
    if guidance is None:
        return tuple(messages)
    if messages[0].role == "system":
        system = messages[0].model_copy(update={"content": f"{messages[0].content}\n\n{guidance}"})
        return (system, *messages[1:])
    return (Message(role="system", content=guidance), *messages)


def ceiling_at(step: int, steps: int, settings: GuidanceSettings) -> int:
    """Fields of a task that may be shown at ``step`` (0-based) of ``steps``. The decay follows the finding that static guidance
    trades blind groups for saturated ones."""
    return guidance_ceiling(step, steps, settings.max_fields, settings.until)


def guided_count(group_size: int, settings: GuidanceSettings) -> int:
    """How many rollouts of a group are guided when the task has guidance."""
    return int(group_size * settings.group_share)
