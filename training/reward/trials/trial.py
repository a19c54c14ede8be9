"""Trials: a judge on responses whose right verdicts are known. What the audit, the pre-flight and the comparison with people share.

A failed judgement is neither right nor wrong: it is *unscored*, counted apart by its reason, and in no rate.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from memory.decision import Interval
from memory.errors import TaskError, nearest
from memory.task import Verdict
from training.reward.judge import Judge, JudgeItem, together

Row = TypeVar("Row", bound=BaseModel)
Tick = Callable[[], None]

Z = 1.959964
"""Quantile of the normal distribution for 95 % intervals."""
EXCERPT = 160
"""Characters of a text that a report shows."""

ADVICE = {
    "timeout": "raise {role}.timeout and {role}.deadline, or lower limits.concurrency for a server that is slow under load",
    "rate_limit": "set limits.requests_per_minute or limits.tokens_per_minute to what the endpoint allows",
    "refusal": "the model declines to judge such texts; use another model",
    "length": "the reply was cut, often by long thinking; raise {role}.max_tokens",
    "parse": "the replies are not in the asked form; try {role}.structured=json_schema, or use another model",
    "ids": "the model loses track of the criteria; use a smaller {role}.batch",
    "evidence": "what it quotes is not in the response; set {role}.evidence=false, or use another model",
    "server": "the endpoint answers with errors; check {role}.base_url and {role}.model and look into its log",
    "connection": "the endpoint cannot be reached; check {role}.base_url",
}
"""What to do about verdicts that are unscored for a reason; ``{role}`` is the place of the model in the configuration."""


def judge_each(judge: Judge, items: Sequence[JudgeItem], tick: Tick) -> list[tuple[Verdict, ...]]:
    """The verdicts on every item; ``tick`` is called, on any thread, as each is done."""

    def one(item: JudgeItem) -> tuple[Verdict, ...]:
        (verdicts,) = judge.judge([item])
        tick()
        return verdicts

    return together(one, items, judge.concurrency)


@dataclass(frozen=True)
class Share:
    """``hits`` of ``total`` with a 95 % interval; None for the interval when there was no trial."""

    hits: int
    total: int
    interval: Interval | None

    def __str__(self) -> str:
        if self.interval is None:
            return "-"
        i = self.interval
        return f"{self.hits} of {self.total} = {i.estimate:.0%} ({i.low:.0%} to {i.high:.0%})"


def share(hits: Sequence[int], totals: Sequence[int]) -> Share:
    """How many of all trials were hits, from hits and trials per response.

    The interval is Wilson's (1927) on the effective number of trials, n over the design effect (Rao and Scott 1992): trials on one
    response rise and fall together and tell less than as many on different ones. Where all went alike the effect
    cannot be estimated, and each response counts as one trial.
    """
    pairs = [(h, t) for h, t in zip(hits, totals, strict=True) if t]
    hit, total, groups = sum(h for h, _ in pairs), sum(t for _, t in pairs), len(pairs)
    if not total:
        return Share(0, 0, None)
    p = hit / total
    alone = p * (1 - p) / total
    if alone == 0 or groups == 1:
        effect = total / groups
    else:
        spread = groups / (groups - 1) * sum((h - p * t) ** 2 for h, t in pairs) / total**2
        effect = max(1.0, spread / alone)
    n = total / effect
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
    return Share(hit, total, Interval(estimate=p, low=max(0.0, centre - half), high=min(1.0, centre + half)))


# ---- reports ----


def unscored_lines(reasons: Counter[str], role: str = "judge") -> list[str]:
    """What came to nothing, why, and what to do about it."""
    if not reasons:
        return []
    lines = [f"Unscored, in no number here: {sum(reasons.values())}"]
    for reason, n in reasons.most_common():
        advice = ADVICE.get(reason, "").format(role=role)
        lines.append(f"- {reason}: {n}" + (f"; {advice}" if advice else ""))
    return lines


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    lines = [list(head), ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return ["| " + " | ".join(line) + " |" for line in lines]


def excerpt(text: str) -> str:
    """One line of a text, cut where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 3] + "..."


# ---- files ----


def read_text(path: Path, option: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        raise TaskError(f"{option}: {path} does not exist; check the path") from error
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"{option}: cannot read {path} as UTF-8 text: {error}") from error


def read_rows(path: Path, model: type[Row], option: str) -> list[Row]:
    """The rows of a JSONL file, each checked by ``model``.

    Raises:
        TaskError: names file, row and field, or says that there is no row.
    """
    rows = []
    for number, line in enumerate(read_text(path, option).split("\n"), 1):
        if line.strip():
            try:
                rows.append(model.model_validate(json.loads(line)))
            except ValidationError as error:
                raise TaskError(f"{option}: {path} row {number}: {_problem(error, model)}") from error
            except ValueError as error:
                raise TaskError(f"{option}: {path} row {number}: not JSON ({error}); give one JSON object per line") from error
    if not rows:
        raise TaskError(f"{option}: {path} has no rows; give one JSON object per line with {', '.join(model.model_fields)}")
    return rows


def _problem(error: ValidationError, model: type[BaseModel]) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        return f"unknown field '{place}'; {nearest(place, model.model_fields)}"
    if first["type"] == "missing":
        return f"the field '{place}' is missing; a row has {', '.join(model.model_fields)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{place}: {message}" if place else message
