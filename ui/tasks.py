"""The Tasks page: all visited tasks in a table, and the life of one of them."""

import pandas as pd
import streamlit as st

from memory.harness import TaskHarness
from memory.task import Criterion
from memory.visit import Visit
from ui import charts
from ui.change import message_lines
from ui.link import go
from ui.readers import RunView
from ui.rollouts import draw_visit
from ui.series import accepted_table, visit_scores, visit_shares
from ui.words import CLASSES, UNKNOWN, escaped, operation, plain


def draw(run: RunView) -> None:
    """The table, and below it the chosen task."""
    if not run.visits:
        st.info("No tasks yet: they appear with the first finished step.")
        return
    table = task_table(run)

    def choose() -> None:
        chosen = st.session_state["tasks-table"].selection.rows
        if chosen:
            go(task=table["task"].iloc[chosen[0]])

    shares = {name: st.column_config.ProgressColumn(name, format="%.0f%%", min_value=0, max_value=100) for name in CLASSES}
    st.dataframe(
        table,
        key="tasks-table",
        hide_index=True,
        height=min(320, 38 + 35 * len(table)),
        on_select=choose,
        selection_mode="single-row",
        column_config={**shares, "edits": st.column_config.TextColumn(help="accepted / all")},
    )
    st.caption("Class shares are those of the last visit; the tasks that agree least come first. Choose a row to see its life.")
    ids = table["task"].tolist()
    task_id = st.selectbox("Task", ids, index=None, placeholder="choose a task", key="task", bind="query-params")
    if task_id is not None:
        draw_task(run, task_id)


def task_table(run: RunView) -> pd.DataFrame:
    """One row per visited task, least agreeing first."""
    rows = []
    edits: dict[str, list[str]] = {}
    for remembered in run.decisions:
        edits.setdefault(remembered.decision.edit.task_id, []).append(remembered.decision.outcome)
    for task_id, visits in run.visits.items():
        last = visits[-1]
        entry = run.entry(task_id)
        compared = last.shares.pairs > 0
        rows.append(
            {
                "task": task_id,
                "domain": plain(last.domain),
                "level": entry.level if entry else last.level,
                **{name: 100 * getattr(last.shares, name) if compared else None for name in CLASSES},
                "guidance": len(entry.guidance) if entry else 0,
                "criteria": len(entry.rubric) if entry else len(last.criteria),
                "visits": len(visits),
                "edits": f"{edits.get(task_id, []).count('accepted')} / {len(edits.get(task_id, []))}",
            }
        )
    return pd.DataFrame(rows).sort_values(["agree", "task"], ignore_index=True)


def draw_task(run: RunView, task_id: str) -> None:
    """Scores and classes per visit, criteria against c_0, edits, and one visit's rollouts."""
    visits = run.visits[task_id]
    edits = accepted_table(run, task_id)
    st.subheader(escaped(task_id), anchor=False)
    entry = run.entry(task_id)
    if entry:
        with st.expander("The prompt", key=f"prompt-{task_id}"):
            st.code("\n".join(message_lines(entry.messages)), language=None, wrap_lines=True)
    left, right = st.columns(2)
    last = float(visits[-1].step)
    scores = visit_scores(visits)
    with left:
        st.markdown("**Scores per visit**")
        if len(scores):
            st.altair_chart(charts.visit_scores(scores, edits, last), key=f"scores-{task_id}")
        else:
            st.info("No rollout of this task was scored.")
    shares = visit_shares(visits)
    with right:
        st.markdown("**Pair classes per visit**")
        if len(shares):
            st.altair_chart(charts.visit_classes(shares, edits, last), key=f"classes-{task_id}")
        else:
            st.info("No pair of rollouts of this task could be compared.")
    st.markdown("**Criteria**")
    _criteria(run, task_id, entry, visits[-1])
    _guidance(entry)
    st.markdown("**Edits**")
    _edits(run, task_id)
    st.markdown("**Rollouts**")
    draw_visit(run, task_id)


def _criteria(run: RunView, task_id: str, entry: TaskHarness | None, last: Visit) -> None:
    table = criteria_table(run, task_id, entry, last)
    if entry is None or run.task(task_id) is None:
        st.caption(
            "The rubric the user brought (c_0) is not in the run directory, and the task file that config.yaml names is not here or has "
            "changed; what it said is left blank."
        )
    elif task_id not in run.history:
        st.caption("No accepted edit: the criteria are c_0.")
    st.dataframe(
        table,
        hide_index=True,
        key=f"criteria-{task_id}",
        column_config={
            **{name: st.column_config.Column(width="small") for name in ("id", "unscored")},
            **{name: st.column_config.Column(width="large") for name in ("now", "in c_0")},
            "pass rate": st.column_config.ProgressColumn(format="%.0f%%", min_value=0, max_value=100, help="At the last visit."),
        },
    )


def criteria_table(run: RunView, task_id: str, entry: TaskHarness | None, last: Visit) -> pd.DataFrame:
    """Every criterion of now and of c_0, with what became of it."""
    task = run.task(task_id)
    brought = {c.id: c for c in task.rubric} if task else {}
    now = {c.id: c for c in entry.rubric} if entry else {}
    health = {c.criterion_id: c for c in last.criteria}
    rows = []
    for criterion_id in dict.fromkeys([*now, *brought, *(health if not now else ())]):
        old, new, seen = brought.get(criterion_id), now.get(criterion_id), health.get(criterion_id)
        if not now:
            state = UNKNOWN
        elif new is None:
            state = "gone"
        elif old is None:
            state = f"new, from {', '.join(new.parents)}" if new.parents else "new" if brought else UNKNOWN
        else:
            moved = [("reworded", old.text != new.text or old.rule != new.rule), ("repriced", old.points != new.points)]
            state = " and ".join(word for word, holds in moved if holds) or "as in c_0"
        changed = state != "as in c_0"
        rows.append(
            {
                "id": plain(criterion_id),
                "state": plain(state),
                "now": _points_and_text(new) if new else UNKNOWN,
                "in c_0": _points_and_text(old) if old and changed else "",
                "pass rate": 100 * seen.pass_rate if seen and seen.pass_rate is not None else None,
                "unscored": str(seen.unscored) if seen else "",
            }
        )
    table = pd.DataFrame(rows)
    if brought and (table["state"] == "as in c_0").all():
        return table.drop(columns="in c_0")
    return table


def _points_and_text(criterion: Criterion) -> str:
    return plain(f"[{criterion.points:+g}] {criterion.text}")


def _guidance(entry: TaskHarness | None) -> None:
    if entry and entry.guidance:
        st.markdown("**Guidance**")
        for guidance in entry.guidance:
            st.code(plain(f"{guidance.id}: {guidance.text}"), language=None, wrap_lines=True)


def _edits(run: RunView, task_id: str) -> None:
    found = [d for d in run.decisions if d.decision.edit.task_id == task_id]
    if not found:
        st.caption("No edit was proposed for this task.")
    for remembered in reversed(found):
        decision = remembered.decision
        with st.container(horizontal=True, vertical_alignment="center", key=f"edit-row-{remembered.seq}"):
            st.button(
                "Open", key=f"open-edit-{remembered.seq}", on_click=go, kwargs={"page": "Evolver", "edit": decision.edit.id}
            )
            st.text(plain(f"step {decision.step}: {operation(decision.edit.operation.op)}. {decision.sentence}"), width="stretch")
