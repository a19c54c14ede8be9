"""What the steps drew: levels, coverage and guidance over time, from the journal's harness versions and visits and the metrics."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pandas as pd

from memory.harness import TaskHarness, guidance_ceiling
from ui.readers import RunView
from ui.series import MOST_POINTS, step_table, thinned

UNTOUCHED = 1.0
"""The level of a task that no edit has moved."""
RETIRED = 0.0


def task_count(run: RunView) -> int:
    """Training tasks: those brought, or where their file is missing those seen."""
    return len(run.tasks) or len(run.visits.domain_of.keys() | run.history.keys())


def last_step(run: RunView) -> int:
    """The newest step that anything is known of."""
    seen = int(run.visits.steps.max()) if len(run.visits) else 0
    return max(seen, *(versions[-1].step for versions in run.history.values())) if run.history else seen


def changes(run: RunView, of: Callable[[TaskHarness], float], before: float) -> list[tuple[int, str, float]]:
    """(step, task, new value) of every change of a number of the entries, which is ``before`` until an edit moves it, oldest first."""
    found = []
    for task_id, versions in run.history.items():
        value = before
        for version in versions:
            if (new := of(version.entry)) != value:
                value = new
                found.append((version.seq, version.step, task_id, value))
    return [(step, task_id, value) for _, step, task_id, value in sorted(found)]


def level_changes(run: RunView) -> list[tuple[int, str, float]]:
    """(step, task, new level) of every change, oldest first."""
    return changes(run, lambda entry: entry.level, UNTOUCHED)


def tallies(run: RunView, moves: Iterable[tuple[int, str, float]], before: float) -> Iterator[tuple[int, Counter[float]]]:
    """(step, tasks at each number) after each of these ``changes``; the same counter goes on."""
    tasks, at = Counter({before: task_count(run)}), dict[str, float]()
    for step, task_id, value in moves:
        tasks[at.get(task_id, before)] -= 1
        tasks[value] += 1
        at[task_id] = value
        yield step, tasks


def levels_now(run: RunView) -> dict[str, float]:
    """Tasks whose level an edit has moved, and where to."""
    return {task_id: versions[-1].entry.level for task_id, versions in run.history.items()}


def ladder(run: RunView) -> list[float]:
    """Every level that a task of this run can have or has had, highest first."""
    legal = run.setting("sampling", "levels")
    named = [float(v) for v in legal if isinstance(v, int | float)] if isinstance(legal, list) else []
    return sorted({*named, UNTOUCHED, RETIRED, *(level for _, _, level in level_changes(run))}, reverse=True)


def level_table(run: RunView) -> pd.DataFrame:
    """Tasks at each level: one row per level and step at which any task changed, and at both ends. Columns step, level, tasks."""
    levels = ladder(run)
    states = {0: {level: task_count(run) if level == UNTOUCHED else 0 for level in levels}}
    for step, tasks in tallies(run, level_changes(run), UNTOUCHED):
        states[step] = {level: tasks[level] for level in levels}
    states[last_step(run)] = list(states.values())[-1]
    steps = list(states)
    kept = steps if len(steps) <= MOST_POINTS else [*steps[:: -(-len(steps) // MOST_POINTS)], steps[-1]]
    rows = [(step, level, count) for step in kept for level, count in states[step].items()]
    return pd.DataFrame(rows, columns=["step", "level", "tasks"])


def floor_of(run: RunView) -> float:
    found = run.setting("sampling", "floor")
    return float(found) if isinstance(found, int | float) else 0.0


def pass_width(run: RunView) -> int:
    """Steps in which as many groups are drawn as there are tasks."""
    groups = np.bincount(np.unique(run.visits.steps, return_inverse=True)[1]) if len(run.visits) else np.ones(1)
    return max(1, -(-task_count(run) // max(1, int(np.median(groups)))))


def coverage_table(run: RunView, width: int) -> pd.DataFrame:
    """Per step (thinned): share of the eligible tasks that the last ``width`` steps drew (``window``), and that were drawn at all so
    far (``ever``). Retired tasks are eligible only where ``sampling.floor`` brings them back."""
    steps, tasks = run.visits.steps, run.visits.tasks
    if not len(steps):
        return pd.DataFrame(columns=["window", "ever"])
    order = np.argsort(steps, kind="stable")
    steps, tasks = steps[order], tasks[order]
    all_steps = np.unique(steps)
    points = all_steps if len(all_steps) <= MOST_POINTS else all_steps[:: -(-len(all_steps) // MOST_POINTS)]
    points = np.unique([*points.tolist(), int(all_steps[-1])])
    number = {task_id: k for k, task_id in enumerate(run.visits.task_ids)}
    moves = level_changes(run) if floor_of(run) == 0 else []
    retired: set[str] = set()
    first_seen = np.sort(np.unique(tasks, return_index=True)[1])
    ends = np.searchsorted(steps, points, side="right")
    starts = np.searchsorted(steps, points - width, side="right")
    total, rows = task_count(run), []
    for point, start, end in zip(points.tolist(), starts, ends, strict=True):
        while moves and moves[0][0] <= point:
            _, task_id, level = moves.pop(0)
            (retired.add if level == RETIRED else retired.discard)(task_id)
        out = np.array([number[t] for t in retired if t in number], dtype=tasks.dtype)
        eligible = max(1, total - len(retired))
        drawn = len(np.setdiff1d(tasks[start:end], out))
        ever = int(np.searchsorted(first_seen, end)) if not len(out) else len(np.setdiff1d(tasks[:end], out))
        rows.append((drawn / eligible, ever / eligible))
    return pd.DataFrame(rows, columns=["window", "ever"], index=points)


def never_drawn(run: RunView) -> list[str]:
    """Eligible tasks without a visit."""
    levels, floor = levels_now(run), floor_of(run)
    return [t for t in run.tasks if t not in run.visits and max(levels.get(t, UNTOUCHED), floor) > 0]


def draw_table(run: RunView, width: int) -> pd.DataFrame:
    """Per level: tasks now, the share of draws that their weights ask for, and the share that the last ``width`` steps gave them."""
    floor, moved = floor_of(run), Counter(levels_now(run).values())
    tasks = {level: moved[level] for level in ladder(run)}
    tasks[UNTOUCHED] += task_count(run) - sum(moved.values())
    weights = {level: count * max(level, floor) for level, count in tasks.items()}
    newest = run.visits.steps > last_step(run) - width
    drawn = run.visits.column("level", np.flatnonzero(newest))
    total = sum(weights.values())
    rows = [
        {
            "level": level,
            "tasks": count,
            "share of draws due": 100 * weights[level] / total if total else None,
            "share of draws": 100 * float(np.mean(drawn == level)) if len(drawn) else None,
        }
        for level, count in tasks.items()
    ]
    return pd.DataFrame(rows)


def ceiling(run: RunView, step: int) -> int | None:
    """Guidance fields that the config allows at a step; None where config.yaml does not say."""
    steps, fields, until = run.setting("train", "steps"), run.setting("guidance", "max_fields"), run.setting("guidance", "until")
    if not (isinstance(steps, int) and steps > 0 and isinstance(fields, int) and isinstance(until, int | float)):
        return None
    return guidance_ceiling(step, steps, fields, until)


def guidance_table(run: RunView) -> pd.DataFrame:
    """Per step (thinned): ``fields``, the most guidance fields that a task had, ``ceiling``, how many of them could be shown, and
    ``rollouts``, the share of rollouts that were guided. Of neighbours that are thinned the highest fields and ceiling stand, and the
    mean share."""
    shares = step_table(run)["guided share"]
    steps = shares.index.to_numpy(dtype=np.int64) - 1  # a table of steps names them when they are finished
    changed, most = [-1], [0.0]
    for step, tasks in tallies(run, changes(run, lambda entry: len(entry.guidance), 0), 0):
        changed.append(step)
        most.append(max(fields for fields, count in tasks.items() if count > 0))
    at_most = np.array(most)[np.searchsorted(changed, steps, side="right") - 1]
    allowed = [ceiling(run, int(step)) for step in steps]
    table = pd.DataFrame({"fields": at_most, "ceiling": allowed, "rollouts": shares.to_numpy()}, index=steps).astype(float)
    return thinned(table, {"fields": "max", "ceiling": "max", "rollouts": "mean"})


def fields_held(run: RunView) -> dict[str, int]:
    """Tasks that have guidance now, and how many fields."""
    now = {task_id: len(versions[-1].entry.guidance) for task_id, versions in run.history.items()}
    return {task_id: fields for task_id, fields in now.items() if fields}
