"""The harness H = (p, g, c): what of the training configuration lives and changes while the policy trains.

A harness is sparse: it stores an entry only for tasks that an edit has touched. ``Harness.of(task)`` gives the entry of any
task, so a fresh harness over any number of tasks is empty.
"""

from collections.abc import Mapping

from pydantic import Field

from memory.task import Criterion, Message, Noun, Task


class GuidanceField(Noun):
    """One piece of guidance shown to the policy during guided rollouts, never part of the training context."""

    id: str
    text: str = Field(min_length=1)
    criterion_ids: tuple[str, ...] = ()


class TaskHarness(Noun):
    """The three interfaces of one task: p (``level``, ``messages``), g (``guidance``) and c (``rubric``).

    ``level`` is the sampling weight of the task relative to an untouched one (1.0); 0 is retired.
    """

    level: float
    messages: tuple[Message, ...]
    guidance: tuple[GuidanceField, ...]
    rubric: tuple[Criterion, ...] = Field(min_length=1)

    def rubric_content(self) -> frozenset[str]:
        """The criteria without their ids and lineage: equal for two rubrics that ask for the same."""
        return frozenset(c.model_dump_json(exclude={"id", "parents"}) for c in self.rubric)

    def criterion(self, criterion_id: str) -> Criterion | None:
        return next((c for c in self.rubric if c.id == criterion_id), None)


def guidance_ceiling(step: int, steps: int, max_fields: int, until: float) -> int:
    """Guidance fields that may be shown for a task at ``step`` (0-based) of ``steps``: falls from ``max_fields`` to 0 at the share
    ``until`` of training, linearly, by whole fields, and stays 0 from then on."""
    done = step / steps
    if done >= until:
        return 0
    return max(1, round(max_fields * (1 - done / until))) if max_fields else 0


class Harness(Noun):
    """All edited tasks at one version. Versions count up by one for every round that accepted something."""

    version: int = 0
    entries: Mapping[str, TaskHarness] = Field(default_factory=dict)

    def of(self, task: Task) -> TaskHarness:
        entry = self.entries.get(task.id)
        return entry or TaskHarness(level=1.0, messages=task.messages, guidance=(), rubric=task.rubric)

    def updated(self, changed: Mapping[str, TaskHarness]) -> "Harness":
        """The next version, with ``changed`` in place of the entries of the same tasks."""
        return Harness(version=self.version + 1, entries={**self.entries, **changed})
