"""The Tasks page: all visited tasks in a table, and the life of one of them."""

from itertools import pairwise

import numpy as np
import pandas as pd
import streamlit as st

from memory.harness import Harness, TaskHarness
from memory.task import Criterion, Task
from memory.visit import Visit
from ui import charts, lifelines
from ui.card import diff
from ui.change import compared_entries, message_lines
from ui.html import STYLE, h, html
from ui.link import go
from ui.readers import RunView, Version
from ui.series import accepted_table, visit_scores, visit_shares
from ui.words import CLASSES, UNKNOWN, escaped, operation, plain

SPARK, MOST_VISITS, HEALTH = 20, 200, 5
"""Visits behind a sparkline, on the pictures of a task, and behind the health of a criterion."""
SHORT = 8
"""Letters of an id that a small column shows."""


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

    shares = {
        name: st.column_config.ProgressColumn(name, format="%.0f%%", min_value=0, max_value=100, width=90) for name in CLASSES
    }
    st.dataframe(
        table,
        key="tasks-table",
        hide_index=True,
        height=min(320, 38 + 35 * len(table)),
        on_select=choose,
        selection_mode="single-row",
        column_config={
            **shares,
            "task": st.column_config.TextColumn(pinned=True),  # stays when a narrow window scrolls sideways
            "agree over visits": st.column_config.LineChartColumn(y_min=0, y_max=1, width=120),
            "edits": st.column_config.TextColumn(help="accepted / all"),
        },
    )
    st.caption("Class shares are those of the last visit; the tasks that agree least come first. Choose a row to see its life.")
    ids = table["task"].tolist()
    task_id = st.selectbox("Task", ids, index=None, placeholder="choose a task", key="task", bind="query-params")
    if task_id is not None:
        draw_task(run, task_id)


def task_table(run: RunView) -> pd.DataFrame:
    """One row per visited task, least agreeing first; from the numbers at hand, since there may be thousands."""
    rows = []
    edits: dict[str, list[str]] = {}
    for remembered in run.decisions:
        edits.setdefault(remembered.decision.edit.task_id, []).append(remembered.decision.outcome)
    visits = {task_id: run.visits.rows(task_id) for task_id in run.visits.task_ids}
    recent = [numbers[-SPARK:] for numbers in visits.values()]
    agree = np.split(run.visits.column("agree", np.concatenate(recent)), np.cumsum([len(r) for r in recent])[:-1])
    last = {name: run.visits.column(name, np.array([r[-1] for r in recent])) for name in ("level", "pairs", *CLASSES)}
    for k, (task_id, numbers) in enumerate(visits.items()):
        versions = run.history.get(task_id, [])
        task, entry = run.brought(task_id), versions[-1].entry if versions else None
        now = entry or task
        outcomes = edits.get(task_id, [])
        rows.append(
            {
                "task": task_id,
                "domain": plain(run.visits.domain_of[task_id]),
                "level": entry.level if entry else float(last["level"][k]),
                **{name: 100 * float(last[name][k]) if last["pairs"][k] > 0 else None for name in CLASSES},
                "agree over visits": agree[k].round(3).tolist(),
                "guidance": len(entry.guidance) if entry else 0,
                "criteria": len(now.rubric) if now else None,
                "rubric version": rubric_versions(task, versions),
                "visits": len(numbers),
                "edits": f"{outcomes.count('accepted')} / {len(outcomes)}",
            }
        )
    return pd.DataFrame(rows).sort_values(["agree", "task"], ignore_index=True)


def rubric_versions(task: Task | None, versions: list[Version]) -> int:
    """How often the criteria have changed since c_0."""
    rubrics = [task.rubric] if task else []
    rubrics += [v.entry.rubric for v in versions]
    return sum(a != b for a, b in pairwise(rubrics)) + (task is None and bool(versions))


def draw_task(run: RunView, task_id: str) -> None:
    """The life of a task on one picture, its criteria, versions and edits."""
    visits = run.visits.of(task_id, MOST_VISITS)
    if not visits:
        st.warning("The visits of this task cannot be read.")
        return
    edits = accepted_table(run, task_id)
    st.subheader(escaped(task_id), anchor=False)
    with st.container(horizontal=True):
        st.button(
            "Rollouts of this task",
            key="to-rollouts",
            on_click=go,
            kwargs={"page": "Rollouts", "task": task_id, "group": f"step {visits[-1].step}"},
        )
        st.button("Edits of this task", key="to-edits", on_click=go, kwargs={"page": "Evolver", "of": task_id})
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
    if len(run.visits.rows(task_id)) > len(visits):
        st.caption(f"The newest {len(visits)} of {len(run.visits.rows(task_id))} visits.")
    st.markdown("**Criteria, guidance and level over time**")
    lives = lifelines.lives(run, task_id, last)
    if lives:
        st.vega_lite_chart(lifelines.spec(lives, last), key=f"life-{task_id}")
    else:
        st.caption("Not known: the task's file is not here, and no edit was accepted.")
    st.markdown("**Criteria**")
    _criteria(run, task_id, entry, visits)
    _guidance(entry)
    _versions(run, task_id)
    st.markdown("**Edits**")
    _edits(run, task_id)


def _criteria(run: RunView, task_id: str, entry: TaskHarness | None, visits: list[Visit]) -> None:
    table = criteria_table(run, task_id, entry, visits)
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
            "id": st.column_config.Column(width=None if len(max(table["id"], key=len)) > SHORT else "small"),
            "unscored": st.column_config.Column(width="small"),
            **{name: st.column_config.Column(width="large") for name in ("now", "in c_0")},
            "pass rate": st.column_config.ProgressColumn(format="%.0f%%", min_value=0, max_value=100, help="At the last visit."),
            "health": st.column_config.Column(help=f"Over the last {HEALTH} visits of the task."),
        },
    )


def health_of(criterion_id: str, visits: list[Visit]) -> str:
    """What is wrong with a criterion over the last visits, in words; empty when nothing is."""
    seen = [c for v in visits[-HEALTH:] for c in v.criteria if c.criterion_id == criterion_id]
    rates = [c.pass_rate for c in seen if c.pass_rate is not None]
    if not rates:
        return "never scored" if seen else ""
    found = [word for word, rate in (("always passed", 1.0), ("never passed", 0.0)) if all(r == rate for r in rates)]
    spurious = sum(c.shares.spurious * c.shares.pairs for c in seen)
    agree = sum(c.shares.agree * c.shares.pairs for c in seen)
    return ", ".join([*found, *(["disagrees with Q"] if spurious > agree else [])])


def _versions(run: RunView, task_id: str) -> None:
    """What changed between any two versions of the task's harness entry."""
    task = run.task(task_id)
    entries = {"as brought": Harness().of(task)} if task else {}
    entries |= {f"version {v.version}, step {v.step}": v.entry for v in run.history.get(task_id, [])}
    if len(entries) < 2:
        return
    with st.expander("Compare two versions", key=f"versions-{task_id}"):
        left, right = st.columns(2)
        names = list(entries)
        old = left.selectbox("From", names, index=0, key=f"from-{task_id}")
        new = right.selectbox("To", names, index=len(names) - 1, key=f"to-{task_id}")
        rows = compared_entries(entries[old or names[0]], entries[new or names[-1]])
        if rows:
            st.html(STYLE)
            st.html(html(h("div", diff(rows), class_="card")))
        else:
            st.caption("The two are equal.")


def criteria_table(run: RunView, task_id: str, entry: TaskHarness | None, visits: list[Visit]) -> pd.DataFrame:
    """Every criterion of now and of c_0, with what became of it and how it does."""
    last = visits[-1]
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
                "health": health_of(criterion_id, visits),
                "pass rate": 100 * seen.pass_rate if seen and seen.pass_rate is not None else None,
                "unscored": str(seen.unscored) if seen else "",
            }
        )
    table = pd.DataFrame(rows)
    if (table["in c_0"] == "").all():
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
        left, right = st.columns([1, 12], vertical_alignment="center")
        places = {"page": "Evolver", "edit": decision.edit.id}
        left.button("Open", key=f"open-edit-{remembered.seq}", on_click=go, kwargs=places)
        right.text(plain(f"step {decision.step}: {operation(decision.edit.operation.op)}. {decision.sentence}"))
