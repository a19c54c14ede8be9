"""The two sides of a comparison, two runs or two steps of one, as tables of the same shape."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from memory.decision import Decision, Interval
from memory.journal import EvaluationRecord
from memory.visit import PairShares, Visit
from ui.pace import spend
from ui.readers import RunView
from ui.series import WINDOW, accepted_table, heldout_table, leading_ruler, mean_interval, rulers, step_table, thinned
from ui.words import CLASSES, INTERFACES, OUTCOMES, UNKNOWN, operation, plain

NUMBERS = {
    "reward": ("reward", "{:.3f}"),
    "reward of plain rollouts": ("plain", "{:.3f}"),
    "flat groups": ("flat", "{:.0%}"),
    "unscored": ("unscored", "{:.1%}"),
    "clipped": ("clipped", "{:.0%}"),
    "entropy": ("entropy", "{:.3f}"),
    "KL": ("kl", "{:.3f}"),
}
SIGNS = {"A": "◆", "B": "■"}
"""The shapes of ``ui.curves``."""


@dataclass(frozen=True)
class Side:
    """``letter`` A or B; ``step`` counts finished steps and ends the windows that are compared."""

    letter: str
    run: RunView
    step: int
    width: int = WINDOW
    """Steps of a window."""

    @property
    def name(self) -> str:
        return plain(f"{self.letter}: {self.run.name}, step {self.step}")

    def window(self) -> pd.DataFrame:
        """The steps whose means are compared: those of a window that ends here."""
        seen = step_table(self.run)
        seen = seen[seen.index <= self.step]
        return seen.iloc[-self.width :]

    def decisions(self) -> list[Decision]:
        """Edits that were decided before this step was finished."""
        return [r.decision for r in self.run.decisions if r.decision.step < self.step]

    def visit(self, task_id: str) -> Visit | None:
        """The task's last visit by then, or else its first one after."""
        rows = self.run.visits.rows(task_id)
        if not len(rows):
            return None
        before = rows[self.run.visits.steps[rows] < self.step]
        return self.run.visits.one(int(before[-1] if len(before) else rows[0]))


def pair(first: tuple[RunView, int], second: tuple[RunView, int]) -> tuple[Side, Side]:
    """The two sides, with windows of one width that neither reach back beyond the first step nor into each other."""
    (run_a, step_a), (run_b, step_b) = first, second
    seen = [sum(s <= step for s in steps_of(run)) for run, step in (first, second)]
    apart = abs(step_a - step_b) if run_a is run_b else WINDOW
    width = max(1, min(WINDOW, *seen, apart))
    return Side("A", run_a, step_a, width), Side("B", run_b, step_b, width)


def steps_of(run: RunView) -> list[int]:
    """Numbers of finished steps that are known."""
    return [int(step) for step in step_table(run).index]


def facts(first: Side, second: Side) -> pd.DataFrame:
    """One row per number: on either side as text, and B less A."""
    windows = [side.window() for side in (first, second)]
    rows = []
    for name, (column, form) in NUMBERS.items():
        means = [window[column].mean() for window in windows]
        if any(pd.notna(m) for m in means):
            rows.append(_row(name, means, form))
    same, held = on_one_ruler(first, second)
    if same:
        rows.append(_row(f"held-out {same}", held, "{:.3f}"))
    versions = [window["version"].max() for window in windows]
    rows.append(_row("harness version", versions, "{:.0f}"))
    accepted = [float(sum(d.outcome == "accepted" for d in side.decisions())) for side in (first, second)]
    rows.append(_row("edits accepted", accepted, "{:.0f}"))
    if first.run is not second.run:
        spent = [spend(side.run) for side in (first, second)]
        rows += [
            _row(f"model cost ({unit})", [s.total if s and s.unit == unit else None for s in spent], "{:,.2f}")
            for unit in ("usd", "tokens")
            if any(s and s.unit == unit for s in spent)
        ]
    return pd.DataFrame(rows)


def _row(name: str, values: list[Any], form: str) -> dict[str, str]:
    known = [None if v is None or pd.isna(v) else float(v) for v in values]
    said = [UNKNOWN if v is None else form.format(v) for v in known]
    if known[0] is None or known[1] is None:
        change = UNKNOWN
    elif form.endswith("%}"):
        change = f"{100 * (known[1] - known[0]):+.1f} pts"
    else:
        change = form.replace(":", ":+").format(known[1] - known[0])
    change = change if any(digit in change for digit in "123456789") or change == UNKNOWN else "0"
    return {"": name, "A": said[0], "B": said[1], "B − A": change.replace("-", "−")}


def heldout_scores(side: Side) -> list[tuple[str, dict[str, float]]]:
    """Scores by ruler of the side's last evaluation by its step; empty ones before the first."""
    found = [e for e in side.run.evaluations if e.step <= side.step]
    return rulers(found[-1] if found else EvaluationRecord(step=0, score={}))


def on_one_ruler(first: Side, second: Side) -> tuple[str | None, list[float | None]]:
    """The ruler that both sides have, gold before rubric, and the means of their last evaluations on it; None without one."""
    for (ruler, before), (_, after) in zip(heldout_scores(first), heldout_scores(second), strict=True):
        if before and after:
            return ruler, [sum(s.values()) / len(s) for s in (before, after)]
    return None, [None, None]


def heldout_change(first: Side, second: Side) -> tuple[str, Interval, int] | None:
    """(ruler, mean change with its interval, tasks) over the held-out tasks that both sides evaluated; None without two of them."""
    for (ruler, before), (_, after) in zip(heldout_scores(first), heldout_scores(second), strict=True):
        change = mean_interval([after[i] - before[i] for i in sorted(before.keys() & after.keys())])
        if change is not None:
            return ruler, change, len(before.keys() & after.keys())
    return None


def shares(side: Side) -> PairShares | None:
    """Mean class shares of the side's window; None where no pair was compared."""
    known = side.window()[list(CLASSES)].dropna()
    return PairShares(**{name: float(known[name].mean()) for name in CLASSES}, pairs=1.0) if len(known) else None


def curves(sides: tuple[Side, Side]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """(rewards, held-out means) of both runs over all their steps: columns step, value, side, series."""
    rewards, heldout = [], []
    for side in sides:
        table = thinned(step_table(side.run))["reward"].dropna()
        name = plain(side.run.name)
        rewards.append(
            pd.DataFrame(
                {"step": table.index, "value": table.to_numpy(), "side": side.letter, "series": f"{side.letter} reward, {name}"}
            )
        )
        held = leading_ruler(heldout_table(side.run))
        series = f"{SIGNS[side.letter]} {side.letter} held-out {held['ruler'].iloc[0]}, {name}" if len(held) else ""
        heldout.append(pd.DataFrame({"step": held["step"], "value": held["mean"], "side": side.letter, "series": series}))
    return pd.concat(rewards, ignore_index=True), pd.concat(heldout, ignore_index=True)


def edit_counts(first: list[Decision], second: list[Decision]) -> pd.DataFrame:
    """Per interface: edits of either side by outcome, as ``accepted / rejected / inconclusive``."""
    rows = []
    for interface, name in INTERFACES.items():
        row = {"interface": name}
        for letter, decisions in (("A", first), ("B", second)):
            mine = [d for d in decisions if d.edit.interface == interface]
            row[letter] = " / ".join(str(sum(d.outcome == o for d in mine)) for o in OUTCOMES)
        rows.append(row)
    return pd.DataFrame(rows)


def edit_rows(decisions: list[tuple[str, Decision]]) -> pd.DataFrame:
    """One row per edit, newest first."""
    rows = [
        {
            "side": letter,
            "step": d.step,
            "task": plain(d.edit.task_id),
            "edit": operation(d.edit.operation.op),
            "outcome": d.outcome,
            "decision": plain(d.sentence),
            "id": plain(d.edit.id),
        }
        for letter, d in sorted(decisions, key=lambda pair: -pair[1].step)
    ]
    return pd.DataFrame(rows)


def edit_marks(side: Side, most: int) -> pd.DataFrame:
    """Accepted edits of the side's run, gathered to at most ``most`` stretches of steps."""
    last = max(steps_of(side.run), default=0)
    return accepted_table(side.run, stretch=max(1, -(-last // most)))


def common_tasks(first: Side, second: Side) -> list[str]:
    """Tasks that both sides visited; the same step order for both, those of A first."""
    return [t for t in first.run.visits.task_ids if t in second.run.visits]
