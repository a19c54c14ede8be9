"""The pre-flight of a judge: a handful of known answers, and in words whether it can be trusted, before GPU hours are spent.

The answers are easy on purpose. A judge that passes is not yet a good one (see the audit and the comparison with people); one that
fails would reward empty talk, and training would find that out.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memory.task import Verdict
from training.reward.judge import Judge
from training.reward.score import score
from training.reward.trials.known_answers import KINDS, TASKS, WORTHLESS, Kind, KnownTask, questions
from training.reward.trials.trial import Tick, excerpt, judge_each, table, unscored_lines

RIGHT_ON_WORTHLESS = 0.95
"""Least share of right verdicts on worthless answers (empty, refusal, echoes). Ours: a policy finds whatever earns points without
an answer, so there is room for a slip and not for a habit."""
RIGHT_ON_ANSWERS = 0.9
"""Least share of right verdicts on good and on bad answers. Verifiers that agree with a panel on 90 to 92 % of verdicts kept their
exploitation flat in training, ones at 62 to 68 %, with a third of false positives, did not (arXiv 2605.12474); these answers are
easier."""

MISTAKES = 12
"""Wrong verdicts in a report."""


@dataclass(frozen=True)
class Answered:
    """A known answer and what the judge said of it."""

    task: KnownTask
    kind: Kind
    verdicts: tuple[Verdict, ...]

    @property
    def right(self) -> list[bool]:
        """For every scored criterion whether the verdict is right."""
        pairs = zip(self.verdicts, self.task.expected(self.kind), strict=True)
        return [(v.status == "met") == expected for v, expected in pairs if v.status != "unscored"]

    @property
    def score(self) -> float | None:
        return score(self.task.rubric, self.verdicts, 1.0)


@dataclass(frozen=True)
class Preflight:
    judge: str
    answers: tuple[Answered, ...]
    max_unscored: float

    @property
    def unscored(self) -> Counter[str]:
        return Counter(v.reason for a in self.answers for v in a.verdicts if v.status == "unscored")

    def right(self, kinds: Sequence[Kind]) -> list[bool]:
        return [right for a in self.answers if a.kind in kinds for right in a.right]

    @property
    def objections(self) -> list[str]:
        """Why this judge should not be trusted; empty when it can be."""
        found = []
        asked = sum(len(a.verdicts) for a in self.answers if a.kind != "empty")
        if (lost := sum(self.unscored.values())) > self.max_unscored * asked:
            found.append(
                f"it gave no verdict on {lost} of {asked} criteria, more than reward.max_unscored={self.max_unscored:g} allows: a run "
                "would stand still"
            )
        for kinds, name, least in (
            (WORTHLESS, "answers that are worth nothing (empty, refusal, echo of the prompt or the rubric)", RIGHT_ON_WORTHLESS),
            (("good",), "good answers", RIGHT_ON_ANSWERS),
            (("bad",), "bad answers", RIGHT_ON_ANSWERS),
        ):
            right = self.right(kinds)
            if right and sum(right) < least * len(right):
                found.append(f"it is right on {sum(right)} of {len(right)} criteria of {name}; at least {least:.0%} are needed")
        if wrong := [task.id for task in TASKS if self._prefers_bad(task)]:
            found.append(f"it does not score the good answer above the bad one in {', '.join(wrong)}")
        return found

    def _prefers_bad(self, task: KnownTask) -> bool:
        good, bad = (next(a.score for a in self.answers if a.task is task and a.kind == kind) for kind in ("good", "bad"))
        return good is not None and bad is not None and good <= bad

    @property
    def trusted(self) -> bool:
        return not self.objections

    def text(self) -> str:
        rows = []
        for kind in KINDS:
            mine, right = [a for a in self.answers if a.kind == kind], self.right((kind,))
            wrong, unscored = len(right) - sum(right), sum(len(a.verdicts) - len(a.right) for a in mine)
            rows.append([kind, len(mine), sum(right), wrong, unscored])
        lines = [
            f"Pre-flight of {self.judge}: {len(TASKS)} tasks, {len(KINDS)} known answers each",
            "",
            *table(["answer", "responses", "right", "wrong", "unscored"], rows),
        ]
        if mistakes := [line for a in self.answers for line in _mistakes(a)]:
            more = [f"- and {len(mistakes) - MISTAKES} more"] if len(mistakes) > MISTAKES else []
            lines += ["", "Wrong verdicts:", *mistakes[:MISTAKES], *more]
        if self.unscored:
            lines += ["", *unscored_lines(self.unscored)]
        return "\n".join([*lines, "", *self._words()])

    def _words(self) -> list[str]:
        if self.trusted:
            return [
                "This judge can be trusted with rubrics like these. They are easy: `audit` shows how it stands up to attacks, `agree` "
                "how it compares with people."
            ]
        return ["This judge cannot be trusted with such rubrics:", *(f"- {objection}" for objection in self.objections)]


def preflight(judge: Judge, name: str, max_unscored: float, tick: Tick) -> Preflight:
    """Send every known answer through the judge.

    Args:
        name: what the report calls the judge.
        max_unscored: share of verdicts that may come to nothing (``reward.max_unscored``).
    """
    asked = list(questions())
    found = judge_each(judge, [task.item(kind) for task, kind in asked], tick)
    answers = tuple(Answered(task, kind, verdicts) for (task, kind), verdicts in zip(asked, found, strict=True))
    return Preflight(name, answers, max_unscored)


def _mistakes(answer: Answered) -> list[str]:
    lines = []
    for criterion, verdict, met in zip(answer.task.rubric, answer.verdicts, answer.task.expected(answer.kind), strict=True):
        if verdict.status != "unscored" and (verdict.status == "met") != met:
            said = verdict.status.replace("_", " ")
            lines.append(
                f"- {answer.task.id}, {answer.kind}: '{excerpt(criterion.text)}' is {'met' if met else 'not met'}, judged {said}: "
                f"{excerpt(verdict.reason)}"
            )
    return lines
