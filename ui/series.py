"""From a ``RunView`` to tables that charts and tiles draw: one row per step, per evaluation, per visit."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from memory.decision import Interval
from memory.journal import EvaluationRecord
from memory.visit import Visit
from ui.readers import RunView
from ui.words import CLASSES

WINDOW = 10
"""Steps whose mean a tile shows."""
MOST_POINTS = 400
"""Steps that a curve shows; longer runs are averaged over neighbouring steps."""
COLUMNS = {
    "reward": "reward",
    "reward/plain": "plain",
    "reward/guided": "guided",
    "frac_reward_zero_std": "flat",
    "rollouts/unscored": "unscored",
    "harness/version": "version",
    "completions/clipped_ratio": "clipped",
    "entropy": "entropy",
    "kl": "kl",
    "rollouts/guided": "guided share",
    **{f"pairs/{name}": name for name in CLASSES},
}


def step_table(run: RunView) -> pd.DataFrame:
    """One row per finished step, the columns of ``COLUMNS``. ``metrics.jsonl`` first; steps it lacks come from their visits."""
    key = (len(run.metrics), len(run.visits))
    if key not in run.tables:
        rows = {m["step"]: {COLUMNS[k]: v for k, v in m["metrics"].items() if k in COLUMNS} for m in run.metrics}
        logged = pd.DataFrame.from_dict(rows, orient="index", columns=list(COLUMNS.values())).astype(float)
        table = logged.combine_first(_seen_in_visits(run, set(rows))).sort_index()[list(COLUMNS.values())]
        run.tables.clear()
        run.tables[key] = table
    return run.tables[key]


def _seen_in_visits(run: RunView, logged: set[int]) -> pd.DataFrame:
    """A visit of step 0 is seen when step 1 is finished. Of a long run without metrics, evenly chosen steps."""
    steps = [int(s) for s in np.unique(run.visits.steps) if int(s) + 1 not in logged]
    rows = {step + 1: _step_row(run.visits.read(run.visits.at(step))) for step in steps[:: -(-len(steps) // MOST_POINTS) or 1]}
    return pd.DataFrame.from_dict(
        {step: row for step, row in rows.items() if row}, orient="index", columns=list(COLUMNS.values())
    ).astype(float)


def _step_row(visits: list[Visit]) -> dict[str, float | None]:
    if not visits:
        return {}
    scores = [s for v in visits for s in v.scores]
    scored = [s for s in scores if s is not None]
    pairs = sum(v.shares.pairs for v in visits)
    row: dict[str, float | None] = {
        "reward": _mean(scored),
        "flat": _mean([float(is_flat(v)) for v in visits]),
        "unscored": 1 - len(scored) / len(scores) if scores else None,
        "clipped": sum(v.clipped for v in visits) / len(scores) if scores else None,
        "guided share": sum(g for v in visits for g in v.guided) / len(scores) if scores else None,
        "version": float(max(v.harness_version for v in visits)),
    }
    for name, guided in (("plain", False), ("guided", True)):
        row[name] = _mean([s for v in visits for s, g in zip(v.scores, v.guided, strict=False) if s is not None and g == guided])
    for name in CLASSES:
        row[name] = sum(getattr(v.shares, name) * v.shares.pairs for v in visits) / pairs if pairs else None
    return row


def _mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def is_flat(visit: Visit) -> bool:
    """No two scored rollouts of the group differ."""
    return len(visit.scored) < 2 or max(visit.scored) - min(visit.scored) < 1e-9


def thinned(table: pd.DataFrame, how: Any = "mean") -> pd.DataFrame:
    """At most ``MOST_POINTS`` rows, each of a stretch of neighbours and at its last step: their means, or as ``how`` says by column."""
    width = -(-len(table) // MOST_POINTS)
    if width <= 1:
        return table
    stretch = np.arange(len(table)) // width
    gathered = table.groupby(stretch).agg(how)
    gathered.index = pd.Index(table.index.to_series().groupby(stretch).max())
    return gathered


def rulers(evaluation: EvaluationRecord) -> list[tuple[str, dict[str, float]]]:
    """Held-out scores by task on each ruler, the one to go by first."""
    return [("gold", evaluation.gold), ("rubric", evaluation.score)]


def heldout_table(run: RunView) -> pd.DataFrame:
    """One row per evaluation and ruler: step, ruler (``gold`` or ``rubric``), mean score, number of tasks."""
    rows = []
    for evaluation in run.evaluations:
        for ruler, scores in rulers(evaluation):
            if scores:
                rows.append((evaluation.step, ruler, sum(scores.values()) / len(scores), len(scores)))
    return pd.DataFrame(rows, columns=["step", "ruler", "mean", "tasks"])


def leading_ruler(heldout: pd.DataFrame) -> pd.DataFrame:
    """The rows of gold where there is gold, else of the rubric."""
    ruler = "gold" if (heldout["ruler"] == "gold").any() else "rubric"
    return heldout[heldout["ruler"] == ruler]


def window_width(known: pd.Series) -> int:
    """Steps of a window: ``WINDOW``, or half of what there is."""
    return max(1, min(WINDOW, len(known) // 2))


def against_window(values: pd.Series) -> tuple[float, float | None, int]:
    """(mean of the last window, mean of the window before or None, steps in a window) of a column with at least one value."""
    known = values.dropna()
    width = window_width(known)
    now = float(known.iloc[-width:].mean())
    before = known.iloc[-2 * width : -width]
    return now, float(before.mean()) if len(before) == width else None, width


def mean_interval(values: Sequence[float]) -> Interval | None:
    """The mean with its 95% interval by Student's t; None of less than two values, which tell no spread."""
    data = np.asarray(values, dtype=float)
    if len(data) < 2:
        return None
    half = float(stdtrit(len(data) - 1, 0.975) * data.std(ddof=1) / np.sqrt(len(data)))
    mean = float(data.mean())
    return Interval(estimate=mean, low=mean - half, high=mean + half)


def gap_to_training(table: pd.DataFrame, heldout: pd.DataFrame) -> list[float | None]:
    """Per row of ``heldout``: mean training reward of the window that ends with its step, less the held-out mean."""
    rewards = table["reward"].dropna()
    gaps: list[float | None] = []
    for step, mean in zip(heldout["step"], heldout["mean"], strict=True):
        seen = rewards[rewards.index <= step]
        gaps.append(float(seen.iloc[-window_width(rewards) :].mean()) - mean if len(seen) else None)
    return gaps


def shares_long(table: pd.DataFrame) -> pd.DataFrame:
    """Class shares stacked: one row per step and class, with its lower and upper edge."""
    known = table[list(CLASSES)].dropna()
    upper = known.cumsum(axis=1)
    parts = [
        pd.DataFrame(
            {"step": known.index, "class": name, "share": known[name], "low": upper[name] - known[name], "high": upper[name]}
        )
        for name in CLASSES
    ]
    return pd.concat(parts, ignore_index=True)


def accepted_table(run: RunView, task_id: str | None = None, stretch: int = 1) -> pd.DataFrame:
    """One row per ``stretch`` of steps and interface with accepted edits: step in its middle, interface, count, what was done."""
    found: dict[tuple[float, str], Counter[str]] = {}
    for remembered in run.accepted:
        edit = remembered.decision.edit
        if task_id is None or edit.task_id == task_id:
            middle = remembered.decision.step // stretch * stretch + (stretch - 1) / 2
            found.setdefault((middle, edit.interface), Counter())[edit.operation.op] += 1
    rows = [
        (step, interface, operations.total(), ", ".join(f"{n} {op}" for op, n in operations.items()))
        for (step, interface), operations in sorted(found.items())
    ]
    return pd.DataFrame(rows, columns=["step", "interface", "edits", "operations"])


def visit_scores(visits: list[Visit]) -> pd.DataFrame:
    """One row per scored rollout: step, score, kind (``plain`` or ``guided``)."""
    rows = [
        (v.step, s, "guided" if g else "plain") for v in visits for s, g in zip(v.scores, v.guided, strict=False) if s is not None
    ]
    return pd.DataFrame(rows, columns=["step", "score", "kind"])


def visit_shares(visits: list[Visit]) -> pd.DataFrame:
    """Class shares per visit in the shape of ``shares_long``; visits without a scored pair are left out."""
    rows = {v.step: {name: getattr(v.shares, name) for name in CLASSES} for v in visits if v.shares.pairs > 0}
    return shares_long(pd.DataFrame.from_dict(rows, orient="index", columns=list(CLASSES)).astype(float))
