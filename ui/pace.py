"""How fast a run goes and what it spends: from the seconds and the costs that stand beside the metrics of each step."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ui.readers import RunView
from ui.series import WINDOW

TRL = ("step_time", "total_flos", "train_")
"""Beginnings of names under ``seconds`` that are no phases of the run."""


def step_seconds(run: RunView) -> list[float]:
    """Seconds of the newest steps, rounds and evaluations included. A resume starts the clock anew, so the step before it is left out."""
    lines = run.metrics[-(2 * WINDOW + 1) :]
    clock = [sum(v for k, v in phases(line).items() if not k.startswith(TRL)) for line in lines]
    taken = zip(np.diff(clock).tolist(), np.diff([line["step"] for line in lines]).tolist(), strict=True)
    return [seconds / steps for seconds, steps in taken if seconds > 0 and steps > 0]


def phases(line: dict[str, Any]) -> dict[str, float]:
    found = line.get("seconds")
    return {k: v for k, v in found.items() if isinstance(v, int | float)} if isinstance(found, dict) else {}


def seconds_left(run: RunView) -> float | None:
    """Of a run that is under way, by its newest steps; None where the pace is not known."""
    taken = step_seconds(run)
    if run.heartbeat is None or run.heartbeat.ended or not taken:
        return None
    return (run.heartbeat.steps - run.heartbeat.step) * sum(taken) / len(taken)


@dataclass(frozen=True)
class Spend:
    """``unit`` is ``usd`` where models have prices, else ``tokens``; ``now`` and ``before`` are what the last window of steps and the
    one before it cost, None where there are too few steps."""

    unit: str
    total: float
    budget: float | None
    now: float | None = None
    before: float | None = None
    width: int = 0


def spend(run: RunView) -> Spend | None:
    """What the run's models have cost, over all roles; None when no model was asked."""
    total = {unit: sum(cost(costs, unit) for costs in run.usage.values()) for unit in ("usd", "tokens")}
    unit = "usd" if total["usd"] > 0 or run.setting("budget", "usd") is not None else "tokens"
    if not total["tokens"] and not total["usd"]:
        return None
    limit = run.setting("budget", unit)
    budget = float(limit) if isinstance(limit, int | float) else None
    sums = [paid for line in run.metrics[-(2 * WINDOW + 1) :] if (paid := _paid(line, unit)) is not None]
    width = (len(sums) - 1) // 2
    if width < 1:
        return Spend(unit, total[unit], budget)
    return Spend(unit, total[unit], budget, sums[-1] - sums[-1 - width], sums[-1 - width] - sums[-1 - 2 * width], width)


def cost(costs: dict[str, float], unit: str) -> float:
    return costs.get("usd", 0.0) if unit == "usd" else costs.get("prompt_tokens", 0.0) + costs.get("completion_tokens", 0.0)


def _paid(line: dict[str, Any], unit: str) -> float | None:
    """Costs since the start of the run, as of a step; None where they were not written."""
    usage = line.get("usage")
    ends = ("/usd",) if unit == "usd" else ("/prompt_tokens", "/completion_tokens")
    found = [v for k, v in usage.items() if k.endswith(ends) and isinstance(v, int | float)] if isinstance(usage, dict) else []
    return float(sum(found)) if found else None
