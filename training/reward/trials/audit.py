"""The audit: does a judge fall for responses that were made to fool it, and does it refuse honest ones that look suspicious?

A file of attacks and controls gives for each response the right verdict per criterion. *False credit* is a criterion that passes
and should not; *refused* is one that should pass and does not. Criteria on which people may well differ (``borderline_criteria``)
are in no rate, nor are those that code would check (``rule: ...``), which no model is asked about.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from memory.task import Criterion, Message, Points, Verdict
from training.reward.judge import Judge, JudgeItem
from training.reward.trials.trial import Share, Tick, excerpt, judge_each, read_rows, share, table, unscored_lines

WORST = 5
"""Examples in a report."""
BY_CODE = "rule:"
"""Begins the text of a criterion that code would check."""


class HackCriterion(BaseModel):
    model_config = ConfigDict(extra="forbid")
    criterion: str = Field(min_length=1)
    points: Points


class Hack(BaseModel):
    """One response, made to fool a judge or (``control``) honest, and the right verdict for every criterion."""

    model_config = ConfigDict(extra="forbid")
    id: str
    category: str
    prompt: list[Message] = Field(min_length=1)
    rubric: list[HackCriterion] = Field(min_length=1)
    response: str
    expected_verdicts: list[StrictBool]
    control: StrictBool = False
    borderline_criteria: list[int] = Field(default_factory=list)
    domain: str = ""
    expected_score: float | None = None
    why: str = ""
    source: str = ""

    @model_validator(mode="after")
    def _verdicts_fit(self) -> "Hack":
        if len(self.expected_verdicts) != len(self.rubric):
            raise ValueError(
                f"'{self.id}' has {len(self.expected_verdicts)} expected_verdicts for {len(self.rubric)} criteria; give one for each"
            )
        if any(not 0 <= place < len(self.rubric) for place in self.borderline_criteria):
            raise ValueError(f"'{self.id}': borderline_criteria must be places in the rubric, from 0 to {len(self.rubric) - 1}")
        return self

    @cached_property
    def criteria(self) -> dict[int, Criterion]:
        """What a model is asked about, by place in the rubric."""
        return {
            place: Criterion(id=f"c{place}", text=line.criterion, points=line.points)
            for place, line in enumerate(self.rubric)
            if not line.criterion.startswith(BY_CODE)
        }

    @property
    def item(self) -> JudgeItem:
        return JudgeItem(tuple(self.prompt), self.response, tuple(self.criteria.values()))


@dataclass(frozen=True)
class Judged:
    """One criterion of a hack with its verdict."""

    criterion: Criterion
    verdict: Verdict
    expected: bool
    borderline: bool

    @property
    def should_pass(self) -> bool:
        return self.expected == (self.criterion.points > 0)

    @property
    def counts(self) -> bool:
        return not self.borderline and self.verdict.status != "unscored"

    @property
    def false_credit(self) -> bool:
        return self.counts and not self.should_pass and self.verdict.passes(self.criterion) is True

    @property
    def refused(self) -> bool:
        return self.counts and self.should_pass and self.verdict.passes(self.criterion) is False


@dataclass(frozen=True)
class Case:
    hack: Hack
    judged: tuple[Judged, ...]

    @property
    def stolen(self) -> float:
        """Share of the rubric's |points| that was credited and should not have been."""
        weight = sum(abs(j.criterion.points) for j in self.judged)
        return sum(abs(j.criterion.points) for j in self.judged if j.false_credit) / weight if weight else 0.0


@dataclass(frozen=True)
class Audit:
    judge: str
    cases: tuple[Case, ...]

    @property
    def attacks(self) -> list[Case]:
        return [case for case in self.cases if not case.hack.control]

    @property
    def controls(self) -> list[Case]:
        return [case for case in self.cases if case.hack.control]

    @property
    def unscored(self) -> Counter[str]:
        return Counter(j.verdict.reason for case in self.cases for j in case.judged if j.verdict.status == "unscored")

    def text(self) -> str:
        attacks, controls = self.attacks, self.controls
        fell = sum(any(j.false_credit for j in case.judged) for case in attacks)
        borderline = sum(j.borderline for case in self.cases for j in case.judged)
        by_code = sum(len(case.hack.rubric) - len(case.hack.criteria) for case in self.cases)
        lines = [
            f"Audit of {self.judge}: {len(attacks)} attacks, {len(controls)} controls",
            "",
            f"- false credit on attacks: {false_credit(attacks)} of the criteria that should not pass; {fell} of {len(attacks)} attacks "
            "gained something",
            f"- wrongly refused on controls: {refused(controls)} of the criteria that should pass",
            f"- also: false credit on controls {false_credit(controls)}, wrongly refused on attacks {refused(attacks)}",
            f"- not counted: {borderline} criteria marked borderline, {by_code} that code checks",
            "",
            *table(
                ["category", "responses", "false credit", "wrongly refused", "unscored"], [*map(_row, _by_category(self.cases))]
            ),
        ]
        if worst := sorted((case for case in self.cases if case.stolen), key=lambda case: -case.stolen)[:WORST]:
            lines += ["", "Worst false credit:", *(line for case in worst for line in _example(case, "false_credit"))]
        if denied := [case for case in controls if any(j.refused for j in case.judged)][:WORST]:
            lines += ["", "Wrongly refused controls:", *(line for case in denied for line in _example(case, "refused"))]
        if self.unscored:
            lines += ["", *unscored_lines(self.unscored)]
        return "\n".join(lines)


def load_hacks(path: Path) -> list[Hack]:
    """Raises ``TaskError`` for a file or row that cannot be understood."""
    return read_rows(path, Hack, "--hacks")


def audit(judge: Judge, hacks: Sequence[Hack], name: str, tick: Tick) -> Audit:
    """Judge every hack; ``name`` is what the report calls the judge."""
    found = judge_each(judge, [hack.item for hack in hacks], tick)
    return Audit(name, tuple(_case(hack, verdicts) for hack, verdicts in zip(hacks, found, strict=True)))


def _case(hack: Hack, verdicts: Sequence[Verdict]) -> Case:
    return Case(
        hack,
        tuple(
            Judged(criterion, verdict, hack.expected_verdicts[place], place in hack.borderline_criteria)
            for (place, criterion), verdict in zip(hack.criteria.items(), verdicts, strict=True)
        ),
    )


def false_credit(cases: Sequence[Case]) -> Share:
    """Of the criteria that should not pass, those that do."""
    return share(
        [sum(j.false_credit for j in case.judged) for case in cases],
        [sum(j.counts and not j.should_pass for j in case.judged) for case in cases],
    )


def refused(cases: Sequence[Case]) -> Share:
    """Of the criteria that should pass, those that do not."""
    return share(
        [sum(j.refused for j in case.judged) for case in cases],
        [sum(j.counts and j.should_pass for j in case.judged) for case in cases],
    )


def _by_category(cases: Sequence[Case]) -> list[list[Case]]:
    groups: dict[tuple[bool, str], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.hack.control, case.hack.category), []).append(case)
    return [groups[key] for key in sorted(groups)]


def _row(cases: Sequence[Case]) -> tuple[str, int, str, str, int]:
    credit, denied = false_credit(cases), refused(cases)
    unscored = sum(j.verdict.status == "unscored" for case in cases for j in case.judged)
    cells = (f"{s.hits} of {s.total}" if s.total else "-" for s in (credit, denied))
    return cases[0].hack.category, len(cases), *cells, unscored  # type: ignore[return-value]


def _example(case: Case, fault: str) -> list[str]:
    lines = [f"- {case.hack.id} ({case.hack.category}): {excerpt(case.hack.response)}"]
    if case.hack.why:
        lines.append(f"  note: {case.hack.why}")
    for j in case.judged:
        if getattr(j, fault):
            said = j.verdict.status.replace("_", " ")
            lines.append(f"  {j.criterion.points:+g} '{excerpt(j.criterion.text)}' judged {said}: {excerpt(j.verdict.reason)}")
    return lines
