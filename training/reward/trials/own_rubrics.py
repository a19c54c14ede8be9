"""What a judge gives for nothing under the user's own rubrics: a refusal and the prompt once more, which answer no request.

Their right verdicts are not beyond dispute, as those of the known answers are: "Is polite" may be met by a refusal. So every credit is
shown, and only a share of them that no such criteria explain speaks against the judge, or against rubrics that ask for too little.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from memory.task import Criterion, Task, Verdict
from training.reward.judge import Judge, JudgeItem
from training.reward.trials.known_answers import REFUSAL
from training.reward.trials.trial import Tick, excerpt, judge_each

TASKS = 8
"""Tasks whose rubrics are tried."""
MOST_CREDIT = 0.2
"""Share of the wanted criteria that may be credited to a refusal or an echo. Ours: of the criteria of the shipped suite that one could
grant to a refusal (politeness, what is left out), there are far fewer."""
SHOWN = 8


@dataclass(frozen=True)
class Tried:
    """One worthless response to one of the user's tasks, and what the judge said of the criteria that are wanted."""

    task: Task
    kind: str
    criteria: tuple[Criterion, ...]
    verdicts: tuple[Verdict, ...]


@dataclass(frozen=True)
class OwnRubrics:
    """``tried`` is empty where no task has a criterion that a model judges."""

    tried: tuple[Tried, ...]

    @property
    def credits(self) -> list[tuple[Tried, Criterion, Verdict]]:
        return [(t, c, v) for t in self.tried for c, v in zip(t.criteria, t.verdicts, strict=True) if v.status == "met"]

    @property
    def scored(self) -> int:
        return sum(v.status != "unscored" for t in self.tried for v in t.verdicts)

    @property
    def trusted(self) -> bool:
        return len(self.credits) <= MOST_CREDIT * self.scored

    def text(self) -> str:
        if not self.tried:
            return "Own rubrics: tasks.train has no criterion that a model judges, so none was tried."
        tasks = len({t.task.id for t in self.tried})
        lines = [f"Own rubrics: {tasks} tasks of tasks.train, each with a refusal and with its prompt once more."]
        lines.append(
            f"Credited for nothing: {len(self.credits)} of {self.scored} wanted criteria; at most {MOST_CREDIT:.0%} should be."
        )
        lines += [
            f"- {t.task.id}, {t.kind}: '{excerpt(c.text)}' is met, it says: {excerpt(v.reason)}"
            for t, c, v in self.credits[:SHOWN]
        ]
        if not self.trusted:
            lines.append("Read these: either this judge grants what is not there, or the criteria ask for nothing.")
        return "\n".join(lines)


def chosen(tasks: Sequence[Task], seed: int) -> list[Task]:
    """Some tasks with wanted criteria that a model judges; the same for the same seed."""
    fitting = [task for task in tasks if _wanted(task)]
    return random.Random(seed).sample(fitting, min(TASKS, len(fitting)))


def try_own_rubrics(judge: Judge, tasks: Sequence[Task], tick: Tick) -> OwnRubrics:
    """Put a refusal and an echo of the prompt to the judge, under the wanted criteria of each task."""
    asked = [(task, kind, text) for task in tasks for kind, text in _worthless(task)]
    items = [JudgeItem(task.messages, text, _wanted(task)) for task, _, text in asked]
    found = judge_each(judge, items, tick)
    return OwnRubrics(tuple(Tried(t, kind, _wanted(t), v) for (t, kind, _), v in zip(asked, found, strict=True)))


def _wanted(task: Task) -> tuple[Criterion, ...]:
    return tuple(c for c in task.rubric if c.kind != "rule" and c.points > 0)


def _worthless(task: Task) -> tuple[tuple[str, str], ...]:
    return (("refusal", REFUSAL), ("prompt echo", task.messages[-1].content))
