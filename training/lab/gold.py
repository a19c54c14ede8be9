"""Gold checks: what a good answer to each lab task really says. The held-out score of the laboratory.

Kept apart on purpose: reward, attribution and proposer never read this file or its data. Scores belong to the task as the
user brought it (its id); edits to rubric or prompt do not change them.
"""

from collections import Counter
from pathlib import Path
from typing import Literal

from memory.errors import TaskError
from memory.task import Noun, Rule
from training.lab import GOLD_FILE
from training.reward.rules import check, sentences, words

REPEAT_PENALTY = 0.1
PADDING_PENALTY = 0.08
STUFFING_PENALTY = 0.16
STUFFED_KEYWORDS = 3
"""A sentence that is no content sentence counts as stuffing when it holds this many keywords of the topic."""

Start = Literal["blind", "saturated", "spurious", "healthy"]


class Need(Noun):
    """One thing a good answer does: says a whole sentence, or obeys the prompt's format."""

    weight: float
    sentence: str | None = None
    rule: Rule | None = None


class Gold(Noun):
    """The gold check of one task.

    ``harmless`` are content sentences of the topic and domain beyond what is needed; any other sentence is padding.
    ``start`` is the reward failure the task was built to begin with.
    """

    task_id: str
    start: Start
    needs: tuple[Need, ...]
    harmless: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()

    def score(self, response: str) -> float:
        """Weighted share of the needs met, minus penalties per repeated, padding and stuffing sentence; in [0, 1]."""
        told = Counter(sentences(response))
        coverage = sum(need.weight for need in self.needs if _met(need, response, told)) / sum(n.weight for n in self.needs)
        content = {words(text) for text in (*self.harmless, *(n.sentence for n in self.needs if n.sentence))}
        repeats = sum(count - 1 for count in told.values())
        padding = [sentence for sentence in told if sentence not in content]
        stuffed = sum(len(set(sentence) & set(self.keywords)) >= STUFFED_KEYWORDS for sentence in padding)
        penalty = REPEAT_PENALTY * repeats + PADDING_PENALTY * (len(padding) - stuffed) + STUFFING_PENALTY * stuffed
        return min(1.0, max(0.0, coverage - penalty))


def _met(need: Need, response: str, told: Counter[tuple[str, ...]]) -> bool:
    if need.rule is not None:
        return check(need.rule, response)
    return need.sentence is not None and words(need.sentence) in told


class GoldChecks:
    """The gold checks of all lab tasks, by task id."""

    def __init__(self, checks: dict[str, Gold]) -> None:
        self._checks = checks

    @classmethod
    def load(cls, path: Path = GOLD_FILE) -> "GoldChecks":
        """Read a ``gold.jsonl``. Raises ``TaskError`` when the file is missing or a line is no gold check."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            checks = [Gold.model_validate_json(line) for line in lines if line.strip()]
        except (OSError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise TaskError(f"gold checks '{path}' cannot be read ({reason}); run python -m training.lab.suite") from error
        return cls({check.task_id: check for check in checks})

    def covers(self, task_id: str) -> bool:
        """Whether the task has a gold check."""
        return task_id in self._checks

    def start(self, task_id: str) -> Start:
        """The reward failure the task was built to begin with."""
        return self._of(task_id).start

    def score(self, task_id: str, response: str) -> float:
        """How good ``response`` really is, in [0, 1]. Raises ``TaskError`` for a task without gold check."""
        return self._of(task_id).score(response)

    def _of(self, task_id: str) -> Gold:
        if task_id not in self._checks:
            raise TaskError(f"task '{task_id}' has no gold check; gold checks exist for the tasks of the lab suite only")
        return self._checks[task_id]
