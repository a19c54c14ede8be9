"""The Runs page: every run of the folder in one table; and the line that says how a run is doing."""

from pathlib import Path

import pandas as pd
import streamlit as st

from ui.link import go
from ui.readers import RunView
from ui.series import heldout_table, leading_ruler, step_table
from ui.words import age, escaped, plain


def state_of(run: RunView, now: float) -> str:
    """What the run is doing, or when it was last heard of."""
    beat = run.heartbeat
    if beat is None:
        return "unknown: no readable heartbeat"
    if beat.ended:
        return plain(beat.phase)
    since = age(now - beat.time)
    if beat.stale(now):
        return f"stale: silent for {since} in phase {plain(beat.phase)}"
    if beat.reason is not None:
        return f"{plain(beat.phase)}: {plain(beat.reason)}"
    return f"running: {plain(beat.phase)}"


def progress_of(run: RunView) -> str:
    beat = run.heartbeat
    return f"{beat.step} of {beat.steps}" if beat else "–"


def row(run: RunView, now: float) -> dict[str, object]:
    """One run as the table shows it."""
    rewards = step_table(run)["reward"].dropna()
    heldout = leading_ruler(heldout_table(run))
    return {
        "run": run.name,
        "state": state_of(run, now),
        "step": progress_of(run),
        "last sign of life": f"{age(now - run.heartbeat.time)} ago" if run.heartbeat else "–",
        "last reward": rewards.iloc[-1] if len(rewards) else None,
        "held-out": heldout["mean"].iloc[-1] if len(heldout) else None,
        "held-out ruler": heldout["ruler"].iloc[-1] if len(heldout) else "not evaluated",
        "edits": f"{len(run.accepted)} / {len(run.decisions)}",
        "harness version": run.harness_version,
    }


def draw_no_runs(folder: Path, demo: bool) -> None:
    """What to do about a folder without a run."""
    name = escaped(folder.name or folder)
    shown = " Below is the demo run that ships with the console: a short run of the laboratory, finished." if demo else ""
    st.info(f"No runs in {name}: start one (`make run`), or name another folder after `--`.{shown}")


def draw(found: list[RunView], now: float) -> None:
    """The table; choosing a row opens the run."""
    table = pd.DataFrame([row(run, now) for run in found])

    def open_chosen() -> None:
        chosen = st.session_state["runs-table"].selection.rows
        if chosen:
            go(run=found[chosen[0]].name, page="Overview")

    st.dataframe(
        table,
        key="runs-table",
        hide_index=True,
        on_select=open_chosen,
        selection_mode="single-row",
        column_config={
            "last reward": st.column_config.NumberColumn(format="%.3f"),
            "held-out": st.column_config.NumberColumn(
                format="%.3f", help="Mean of the last evaluation: gold where there is gold."
            ),
            "edits": st.column_config.TextColumn("edits accepted / all"),
        },
    )
    st.caption("Choose a row to open the run. A run that is neither finished nor stopped and was silent for 60 s is stale.")


def draw_state(run: RunView, now: float) -> None:
    """The run's state in one line, and a sentence for every file that could not be read."""
    said = f"**{escaped(run.name)}** · {escaped(state_of(run, now))} · step {escaped(progress_of(run))}"
    st.markdown(said + (f" · last sign of life {age(now - run.heartbeat.time)} ago" if run.heartbeat else ""))
    for trouble in run.troubles.values():
        st.warning(escaped(trouble), icon=":material/description:")
