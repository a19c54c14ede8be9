"""The Overview page: is the reward improving, is it still a reward worth learning from, and what was done about it."""

from typing import Literal

import pandas as pd
import streamlit as st

from ui import charts
from ui.readers import RunView
from ui.series import accepted_table, against_window, heldout_table, leading_ruler, shares_long, step_table, thinned
from ui.words import UNKNOWN, escaped, share

TILE, WIDE_TILE = 184, 230
"""Pixels; six tiles fit a laptop's width, and narrower windows wrap them."""
LEAST_CHANGE = 5e-4
"""A smaller change of a mean is drawn as none."""


def draw_tiles(run: RunView) -> None:
    """Six numbers; those of training are means of the last steps against as many steps before."""
    table = step_table(run)
    with st.container(horizontal=True):
        _window_tile("Reward", table["reward"], "{:.3f}", "normal")
        _heldout_tile(leading_ruler(heldout_table(run)))
        _window_tile("Flat groups", table["flat"], "{:.0%}", "inverse")
        _window_tile("Unscored", table["unscored"], "{:.1%}", "inverse")
        _tile("Harness version", run.harness_version, f"{len(run.accepted)} of {len(run.decisions)} edits accepted")
        beat = run.heartbeat
        step = beat.step if beat else int(table.index.max()) if len(table) else 0
        steps = beat.steps if beat else run.setting("train", "steps")
        _tile("Step", step, f"of {steps}, {share(step / steps)} done" if isinstance(steps, int) and steps else None)


def _tile(label: str, value: str | int, below: str | None) -> None:
    st.metric(label, value, below, delta_color="off", delta_arrow="off", border=True, width=TILE)


def _heldout_tile(heldout: pd.DataFrame) -> None:
    if not len(heldout):
        _tile("Held-out", UNKNOWN, "not evaluated")
        return
    first, last = heldout.iloc[0], heldout.iloc[-1]
    label = f"Held-out {last['ruler']}"
    if len(heldout) == 1:
        _tile(label, f"{last['mean']:.3f}", f"step {last['step']}, {last['tasks']} tasks")
        return
    value, change = f"{first['mean']:.2f} → {last['mean']:.2f}", f"{last['mean'] - first['mean']:+.3f}"
    st.metric(label, value, change, delta_description=f"steps {first['step']} to {last['step']}", border=True, width=WIDE_TILE)


def _window_tile(label: str, values: pd.Series, form: str, good: Literal["normal", "inverse"]) -> None:
    if not values.notna().any():
        _tile(label, UNKNOWN, "not recorded")
        return
    now, before, width = against_window(values)
    if before is None:
        _tile(label, form.format(now), None)
        return
    change = f"{now - before:+.3f}" if form == "{:.3f}" else f"{100 * (now - before):+.0f} pts"
    colour = good if abs(now - before) >= LEAST_CHANGE else "off"
    st.metric(
        label,
        form.format(now),
        change,
        delta_color=colour,
        delta_description=f"vs {width} before",
        border=True,
        width=TILE,
    )


def draw(run: RunView) -> None:
    """Curves, class shares with accepted edits, alerts."""
    table = thinned(step_table(run))
    heldout = heldout_table(run)
    last = float(max(table.index.max() if len(table) else 0, heldout["step"].max() if len(heldout) else 0))
    if not len(table) and not len(heldout):
        st.info("No steps yet: curves appear when the first step is finished.")
    else:
        st.subheader("Reward and held-out score", anchor=False)
        st.altair_chart(charts.score_curves(table, heldout, last), key="score-curves")
        if not len(heldout):
            st.caption("No held-out evaluation yet, so there is no curve for it.")
    shares = shares_long(table)
    if len(shares):
        st.subheader("Pair classes over steps", anchor=False)
        st.altair_chart(charts.class_areas(shares, accepted_table(run), last), key="class-areas")
        st.caption(
            "Of two rollouts of a group, a criterion is failed by both (blind), passed by both (saturated), separates them against the "
            "quality order (spurious) or with it (agree). Only agree teaches what is meant."
        )
    elif len(table):
        st.info("No class shares yet: no pair of rollouts could be compared.")
    st.subheader("Alerts", anchor=False)
    if not run.alerts:
        st.caption("None so far.")
    for step, alert in reversed(run.alerts):
        st.warning(f"step {step} · **{escaped(alert.name)}** · {escaped(alert.text)}", icon=":material/warning:")
