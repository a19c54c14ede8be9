"""The tiles of the Overview: each a number of the last steps with its change against as many steps before."""

from typing import Literal

import pandas as pd
import streamlit as st

from ui.pace import Spend, seconds_left, spend, step_seconds
from ui.readers import RunView
from ui.series import (
    against_window,
    gap_to_training,
    heldout_table,
    leading_ruler,
    mean_interval,
    step_table,
)
from ui.settings import roles_in
from ui.words import UNKNOWN, age, share, signed

TILE, WIDE = 184, 268
"""Pixels; six tiles fit a laptop's width, and narrower windows wrap them. The wide one has room for an interval."""
LEAST_CHANGE = 5e-4
"""A smaller change of a mean is drawn as none."""
LEAST_COST = {"usd": 0.005, "tokens": 1.0}
Good = Literal["normal", "inverse", "off"]


def draw_tiles(run: RunView) -> None:
    """What is measured of the policy first, then of the reward's health, then of the run."""
    table = step_table(run)
    heldout = leading_ruler(heldout_table(run))
    with st.container(horizontal=True, key="tiles"):
        _reward_tile(table["reward"])
        _heldout_tile(heldout)
        _gap_tile(gap_to_training(table, heldout), heldout)
        _window_tile(
            "Flat groups", table["flat"], "{:.0%}", "inverse", "Groups whose rollouts all score alike: they teach nothing."
        )
        _window_tile(
            "Unscored", table["unscored"], "{:.1%}", "inverse", "Rollouts without a score: they are left out, not counted as 0."
        )
        _window_tile("Clipped", table["clipped"], "{:.0%}", "inverse", "Responses that the length limit cut off.")
        for label, column in (("Entropy", "entropy"), ("KL", "kl")):
            if table[column].notna().any():
                _window_tile(
                    label, table[column], "{:.3f}", "off", "Of the policy's tokens, in nats." if column == "entropy" else None
                )
        _tile(
            "Harness version",
            str(run.harness_version),
            f"{len(run.accepted):,} of {len(run.decisions):,} accepted",
            "Edits of the evolver.",
        )
        _spend_tile(spend(run), asks_models(run))
        _step_tiles(run, table)


def _tile(label: str, value: str, below: str | None, about: str | None = None) -> None:
    st.metric(label, value, below, delta_color="off", delta_arrow="off", border=True, width=TILE, help=about)


def _changed(
    label: str, value: str, change: float, form: str, against: str, good: Good, about: str | None, width: int = TILE
) -> None:
    """A tile with its change; ``form`` of the value says how the change is written."""
    moved = abs(change) >= LEAST_CHANGE
    said = points(change) if form.endswith("%}") else f"{change:+.3f}"
    st.metric(
        label,
        value,
        said if moved else "as before",
        delta_color=good if moved else "off",
        delta_arrow="auto" if moved else "off",
        delta_description=against,
        border=True,
        width=width,
        help=about,
    )


def points(change: float) -> str:
    """A change of a share in percentage points, small ones with a decimal."""
    return f"{100 * change:+.{0 if abs(change) >= 0.01 else 1}f} pts"


def _window_tile(label: str, values: pd.Series, form: str, good: Good, about: str | None, spread: str = "") -> None:
    if not values.notna().any():
        _tile(label, UNKNOWN, "not recorded", about)
        return
    now, before, steps = against_window(values)
    if before is None:
        _tile(label, form.format(now), "one step only", about)
    else:
        width = WIDE if spread else TILE
        _changed(label, form.format(now) + spread, now - before, form, f"vs {steps} before", good, about, width)


def _reward_tile(rewards: pd.Series) -> None:
    known = rewards.dropna()
    about, spread = "Mean over the last steps.", ""
    if len(known):
        *_, width = against_window(known)
        found = mean_interval(known.iloc[-width:].tolist())
        if found is not None:
            spread = f" ± {found.high - found.estimate:.3f}"
            about = f"Mean of the last {width} steps; ± is its 95% interval over steps (Student's t)."
    _window_tile("Reward", rewards, "{:.3f}", "normal", about, spread)


def _heldout_tile(heldout: pd.DataFrame) -> None:
    if not len(heldout):
        _tile("Held-out", UNKNOWN, "not evaluated")
        return
    last = heldout.iloc[-1]
    label, value = f"Held-out {last['ruler']}", f"{last['mean']:.3f}"
    if len(heldout) == 1:
        _tile(label, value, f"step {last['step']}, {last['tasks']} tasks")
        return
    before, first = heldout.iloc[-2], heldout.iloc[0]
    about = f"Mean over {last['tasks']} tasks at step {last['step']}; {first['mean']:.3f} at step {first['step']}."
    _changed(label, value, last["mean"] - before["mean"], "{:.3f}", f"vs step {before['step']}", "normal", about)


def _gap_tile(gaps: list[float | None], heldout: pd.DataFrame) -> None:
    label, about = (
        "Training − held-out",
        "Training reward just before the last evaluation, less the held-out score. A gap that grows says that the reward rises "
        "faster than what it stands for.",
    )
    if not gaps or gaps[-1] is None:
        _tile(label, UNKNOWN, "no evaluation after a step", about)
    elif len(gaps) < 2 or gaps[-2] is None:
        _tile(label, signed(gaps[-1], 3), f"at step {heldout['step'].iloc[-1]}", about)
    else:
        against = f"vs step {heldout['step'].iloc[-2]}"
        _changed(label, signed(gaps[-1], 3), gaps[-1] - gaps[-2], "{:.3f}", against, "inverse", about)


def amount(value: float, unit: str) -> str:
    """USD to the cent, or tokens in the largest fitting unit."""
    if unit == "usd":
        return f"${value:,.2f}"
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.1f}{name} tok"
    return f"{value:.0f} tok"


def _spend_tile(found: Spend | None, asks: bool) -> None:
    if found is None:
        _tile("Spend", UNKNOWN if asks else "none", "nothing recorded yet" if asks else "no role asks a model")
        return
    limit = f"of {amount(found.budget, found.unit)}, {share(found.total / found.budget)}" if found.budget else "no budget is set"
    value, about = amount(found.total, found.unit), f"All roles, over all resumes; {limit}."
    if found.now is None or found.before is None:
        _tile("Spend", value, limit, about)
        return
    more = found.now - found.before
    more = more if abs(more) >= LEAST_COST[found.unit] else 0.0
    change = ("+" if more >= 0 else "-") + amount(abs(more), found.unit)
    label = "Spend" if found.budget is None else f"Spend {limit}"
    st.metric(
        label,
        value,
        change if more else "as before",
        delta_color="inverse" if more else "off",
        delta_arrow="auto" if more else "off",
        delta_description=f"vs {found.width} before",
        border=True,
        width=TILE,
        help=f"{about} The change compares the cost of the last {found.width} steps with that of as many before.",
    )


def asks_models(run: RunView) -> bool:
    """Whether any role of the run has a model."""
    return any(role["model"] for _, role in roles_in(run.config))


def _step_tiles(run: RunView, table: pd.DataFrame) -> None:
    beat = run.heartbeat
    step = beat.step if beat else int(table.index.max()) if len(table) else 0
    steps = beat.steps if beat else run.setting("train", "steps")
    known = isinstance(steps, int) and steps > 0
    _tile("Step", str(step), f"of {steps}, {share(step / steps)} done" if known else None)
    taken = step_seconds(run)
    pace = f"{sum(taken) / len(taken):.1f} s a step" if taken else "the pace is not recorded"
    left = seconds_left(run)
    value = f"≈ {age(left)}" if left is not None else beat.phase if beat and beat.ended else UNKNOWN
    _tile("Time left", value, pace, "By the pace of the last steps, rounds and evaluations included.")
