"""The Sampling page: which tasks the steps draw, and how much guidance their rollouts see."""

import streamlit as st

from ui import curves, draws
from ui.drawing import counted
from ui.draws import pass_width
from ui.evolver import no_edits
from ui.readers import RunView
from ui.words import escaped, share

NAMED = 12
"""Tasks that are named one by one."""


def draw(run: RunView) -> None:
    """Levels, coverage, guidance."""
    if not run.visits:
        st.info("No tasks were drawn yet: levels and coverage appear with the first finished step.")
        return
    last = float(draws.last_step(run))
    width = pass_width(run)
    _levels(run, last, width)
    _coverage(run, last, width)
    _guidance(run, last)


def _levels(run: RunView, last: float, width: int) -> None:
    st.subheader("Levels over time", anchor=False)
    if not draws.level_changes(run):
        total = draws.task_count(run)
        tried = sum(d.decision.edit.operation.op in ("raise_level", "lower_level", "retire_task") for d in run.decisions)
        why = no_edits(run) if not run.decisions else f"Edits that would have, none of them accepted: {tried}."
        st.info(f"All {total} tasks are at level 1: no edit has moved one. {why}")
        return
    left, right = st.columns(2, gap="large")
    with left:
        st.altair_chart(curves.level_lanes(draws.level_table(run), last), key="levels")
        st.caption("Tasks at each level, each lane to its own scale; the number at the right is that of now.")
    with right:
        st.markdown(f"**Draws of the last {width} steps by level**")
        st.dataframe(
            draws.draw_table(run, width),
            key="draws",
            hide_index=True,
            column_config={
                "level": st.column_config.NumberColumn(format="%g", help="0 is retired."),
                **{
                    name: st.column_config.ProgressColumn(format="%.1f%%", min_value=0, max_value=100, help=about)
                    for name, about in (
                        ("share of draws due", "By the weights of now: a task's level, at least sampling.floor."),
                        ("share of draws", "What the steps gave tasks that had this level when they were drawn."),
                    )
                },
            },
        )


def _coverage(run: RunView, last: float, width: int) -> None:
    st.subheader("Coverage", anchor=False)
    table = draws.coverage_table(run, width)
    st.altair_chart(curves.coverage(table, width, last), key="coverage")
    now, total = table.iloc[-1], draws.task_count(run)
    floor = draws.floor_of(run)
    retired = f"Retired tasks stay eligible at the least weight {floor:g}." if floor else "Retired tasks are not eligible."
    begun = "The first pass is under way. " if last + 1 < width else ""
    st.caption(
        f"One pass over {total:,} tasks takes {width} steps: {share(now['window'])} of the eligible ones were drawn in the last pass, "
        f"{share(now['ever'])} at all. {begun}{retired}"
    )
    if not run.tasks:
        st.caption("tasks.jsonl is not here, so only tasks that were drawn at least once are counted.")
    missed = draws.never_drawn(run)
    if missed:
        named = ", ".join(escaped(t) for t in missed[:NAMED])
        more = f" and {len(missed) - NAMED:,} more" if len(missed) > NAMED else ""
        st.caption(f"Never drawn so far: {named}{more}.")


def _guidance(run: RunView, last: float) -> None:
    st.subheader("Guidance against its ceiling", anchor=False)
    if run.setting("guidance", "max_fields") == 0:
        st.info("Guidance is switched off in this run (guidance.max_fields is 0).")
        return
    table = draws.guidance_table(run)
    left, right = st.columns(2, gap="large")
    left.altair_chart(curves.guidance(table, last), key="guidance")
    right.altair_chart(curves.guided_share(table, last), key="guided-share")
    step = int(last)
    allowed = draws.ceiling(run, step)
    held = draws.fields_held(run)
    said = "config.yaml does not tell the ceiling" if allowed is None else f"the ceiling at step {step} is {allowed}"
    if not held:
        st.caption(f"No task has guidance now; {said}. {no_edits(run) if not run.decisions else ''}")
        return
    hidden = sum(count > allowed for count in held.values()) if allowed is not None else 0
    more = f" Of them {hidden:,} have more than may be shown now." if hidden else ""
    st.caption(
        f"Tasks with guidance now: {len(held):,}, with at most {counted(max(held.values()), 'field')}; {said}. Rollouts see the newest fields "
        f"up to the ceiling.{more}"
    )
