"""The Overview page: is the reward improving, is it still a reward worth learning from, and what was done about it."""

import streamlit as st

from memory.journal import AlertRecord
from ui import charts
from ui.evolver import no_edits
from ui.link import go
from ui.readers import RunView
from ui.series import accepted_table, heldout_table, shares_long, step_table, thinned
from ui.words import escaped

MOST_MARKS = 60
"""Marks of accepted edits over the steps; a longer run gathers neighbouring steps into one."""
MOST_ALERTS = 8
"""Newest alerts that are shown without asking for more."""


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
        edits = accepted_table(run, stretch=max(1, -(-int(last) // MOST_MARKS)))
        st.altair_chart(charts.class_areas(shares, edits, last), key="class-areas")
        if not run.decisions:
            st.caption(no_edits(run))
        elif not len(edits):
            st.caption(f"No edit is marked: none of {len(run.decisions)} was accepted.")
        st.caption(
            "Of two rollouts of a group, a criterion is failed by both (blind), passed by both (saturated), separates them against the "
            "quality order (spurious) or with it (agree). Only agree teaches what is meant."
        )
    elif len(table):
        st.info("No class shares yet: no pair of rollouts could be compared.")
    draw_alerts(run)


def draw_alerts(run: RunView) -> None:
    """What goes wrong while the run looks healthy, newest first, with its advice and the rollouts it was seen in."""
    st.subheader("Alerts", anchor=False)
    if not run.alerts:
        st.caption("None so far.")
    newest = list(enumerate(run.alerts))[::-1]
    for number, (step, alert) in newest[:MOST_ALERTS]:
        _alert(run, number, step, alert)
    rest = newest[MOST_ALERTS:]
    if rest and st.toggle(f"Show {len(rest)} older ones", key="all-alerts", bind="query-params"):
        for number, (step, alert) in rest:
            _alert(run, number, step, alert)


def _alert(run: RunView, number: int, step: int, alert: AlertRecord) -> None:
    """An alert is written after its step is finished, so what it saw are the visits of the step before."""
    seen = step - 1
    with st.container(horizontal=True, vertical_alignment="center", key=f"alert-{number}"):
        st.warning(f"step {step} · **{escaped(alert.name)}** · {escaped(alert.text)}", icon=":material/warning:", width="stretch")
        if len(run.visits.at(seen)):
            st.button("Its rollouts", key=f"alert-rollouts-{number}", on_click=_open_step, args=(seen,), type="tertiary")


def _open_step(step: int) -> None:
    go(page="Rollouts")
    st.query_params["step"] = str(step)
    st.session_state["step"] = step
