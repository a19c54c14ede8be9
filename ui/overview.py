"""The Overview page: is the reward improving, is it still a reward worth learning from, and what was done about it."""

import streamlit as st

from ui import charts
from ui.readers import RunView
from ui.series import accepted_table, against_window, heldout_table, leading_ruler, shares_long, step_table, thinned
from ui.words import UNKNOWN, escaped, share


def draw_tiles(run: RunView) -> None:
    """Six numbers, each against the window before it."""
    table = step_table(run)
    heldout = leading_ruler(heldout_table(run))
    tiles = st.columns(6)
    _window_tile(tiles[0], "Reward", table["reward"], "{:.3f}", "normal")
    if len(heldout):
        first, last = heldout["mean"].iloc[0], heldout["mean"].iloc[-1]
        several = len(heldout) > 1
        tiles[1].metric(
            f"Held-out {heldout['ruler'].iloc[-1]}",
            f"{first:.3f} → {last:.3f}" if several else f"{last:.3f}",
            f"{last - first:+.3f}" if several else None,
            delta_description=f"steps {heldout['step'].iloc[0]} to {heldout['step'].iloc[-1]}" if several else None,
            border=True,
        )
    else:
        tiles[1].metric("Held-out", UNKNOWN, "not evaluated", delta_color="off", delta_arrow="off", border=True)
    _window_tile(tiles[2], "Flat groups", table["flat"], "{:.0%}", "inverse")
    _window_tile(tiles[3], "Unscored", table["unscored"], "{:.1%}", "inverse")
    accepted = f"{len(run.accepted)} of {len(run.decisions)} edits accepted"
    tiles[4].metric("Harness version", run.harness_version, accepted, delta_color="off", delta_arrow="off", border=True)
    beat = run.heartbeat
    step = beat.step if beat else int(table.index.max()) if len(table) else 0
    steps = beat.steps if beat else run.setting("train", "steps")
    done = f"{share(step / steps)} done" if isinstance(steps, int) and steps else None
    tiles[5].metric("Step", f"{step} of {steps or UNKNOWN}", done, delta_color="off", delta_arrow="off", border=True)


def _window_tile(place, label: str, values, form: str, good: str) -> None:
    if not values.notna().any():
        place.metric(label, UNKNOWN, "not recorded", delta_color="off", delta_arrow="off", border=True)
        return
    now, before, width = against_window(values)
    delta = None
    if before is not None:
        delta = f"{now - before:+.3f}" if form == "{:.3f}" else f"{100 * (now - before):+.0f} pts"
        if abs(now - before) < 5e-4:
            good = "off"
    described = f"last {width} against {width} before" if delta else None
    place.metric(label, form.format(now), delta, delta_color=good, delta_description=described, border=True)


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
