"""The Rollouts page: one group, its verdicts as a heat map, and what was written. Model text is shown as text, never as markup."""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from memory.harness import TaskHarness
from memory.visit import Rollout, Visit
from ui import heatmap
from ui.change import rule_of
from ui.link import go
from ui.readers import RunView
from ui.words import escaped, plain, score, share

WRITTEN_AT_ONCE = 8
"""Rollouts whose text is shown without asking for more."""
GROUP_SORTS = {"most spread": ("spread", False), "highest score": ("score", False), "Q agrees least": ("Q agrees", True)}
"""Orders of a step's groups: column of the table, and whether small comes first."""
SORTS = ("as rolled out", "score", "preferred by Q", "length")


@dataclass(frozen=True)
class Group:
    """Rollouts that belong together: those of a visit, or those that an edit was measured on."""

    rollout_ids: tuple[str, ...]
    entry: TaskHarness | None
    visit: Visit | None = None


def draw(run: RunView) -> None:
    """Choose a group by task or by step; then its heat map and texts."""
    if not run.visits:
        st.info("No rollouts yet: they appear with the first finished step.")
        return
    _by_step(run)
    left, right = st.columns(2)
    task_id = left.selectbox(
        "Task", run.visits.task_ids, index=None, placeholder="choose a task", key="task", bind="query-params"
    )
    if task_id is None:
        st.caption("Choose a task, or a group of the step above.")
        return
    names = groups_of(run, task_id)
    chosen = right.selectbox("Visit or measured edit", names, index=0, key="group", bind="query-params")
    group = find(run, task_id, chosen or names[0])
    if group is None:
        st.warning("This group cannot be read.")
        return
    draw_group(run, group)


def groups_of(run: RunView, task_id: str) -> list[str]:
    """Names of a task's groups, newest first: ``step 12`` for a visit, ``edit ID`` for the fresh rollouts of a measurement."""
    visits = [f"step {step}" for step in run.visits.steps[run.visits.rows(task_id)[::-1]]]
    measured = [
        plain(f"edit {d.edit.id}")
        for d in (remembered.decision for remembered in reversed(run.decisions))
        if d.edit.task_id == task_id and d.measurement and d.measurement.rollout_ids
    ]
    return [*dict.fromkeys(visits), *measured]


def find(run: RunView, task_id: str, name: str) -> Group | None:
    kind, _, which = name.partition(" ")
    remembered = run.edit(which) if kind == "edit" else None
    if remembered is not None and remembered.decision.measurement:
        return Group(remembered.decision.measurement.rollout_ids, run.entry_before(remembered))
    rows = run.visits.rows(task_id)
    rows = rows[run.visits.steps[rows] == int(which)] if kind == "step" else rows[:0]
    visits = run.visits.read(rows[-1:])
    return Group(visits[0].rollout_ids, run.entry_at(visits[0]), visits[0]) if visits else None


def _by_step(run: RunView) -> None:
    """All groups of a step, in an order of choice; a row opens its group."""
    steps = run.visits.steps
    chosen = st.session_state.get("task") or st.query_params.get("task")
    with st.expander("All groups of a step", expanded=not chosen, key="by-step"):
        first, last = int(steps.min()), int(steps.max())
        left, right = st.columns([1, 3])
        step = left.number_input("Step", first, last, last, key="step", bind="query-params")
        by = right.segmented_control(
            "Sort groups by", list(GROUP_SORTS), default="most spread", required=True, key="groups-by", bind="query-params"
        )
        visits = run.visits.read(run.visits.at(int(step)))
        if not visits:
            st.caption("No group was visited at this step.")
            return
        table = step_groups(visits, *GROUP_SORTS[by or "most spread"])

        def choose() -> None:
            rows = st.session_state["step-groups"].selection.rows
            if rows:
                go(task=table["task"].iloc[rows[0]], group=f"step {step:.0f}")

        st.dataframe(
            table,
            key="step-groups",
            hide_index=True,
            on_select=choose,
            selection_mode="single-row",
            column_config={
                **{n: st.column_config.NumberColumn(format="%.2f") for n in ("score", "spread", "Q agrees")},
            },
        )


def step_groups(visits: list[Visit], by: str = "spread", ascending: bool = False) -> pd.DataFrame:
    """One row per group: mean score, spread, share of separating pairs on which Q agrees, signs of hacking; what lacks ``by`` last."""
    rows = [
        {
            "task": v.task_id,
            "score": sum(v.scored) / len(v.scored) if v.scored else None,
            "spread": max(v.scored) - min(v.scored) if v.scored else None,
            "Q agrees": v.shares.alignment,
            "guided": sum(v.guided),
            "clipped": v.clipped,
            "signs of hacking": ", ".join(name for name, sign in v.signs.items() if sign.shows),
        }
        for v in visits
    ]
    return pd.DataFrame(rows).sort_values([by, "task"], ascending=[ascending, True], ignore_index=True)


def draw_group(run: RunView, group: Group) -> None:
    """Signs, heat map, the chosen verdict, the texts."""
    rollouts = run.rollouts(group.rollout_ids)
    missing = len(group.rollout_ids) - len(rollouts)
    if missing:
        st.warning(f"{missing} of {len(group.rollout_ids)} rollouts of this group are not in rollouts/ or cannot be read.")
    if not rollouts:
        return
    if group.visit is None:
        st.caption(
            "Fresh rollouts of the frozen policy that the edit was measured on, with the verdicts under the criteria before it."
        )
    else:
        _facts(group.visit)
    by = st.segmented_control("Sort rollouts by", SORTS, default=SORTS[0], key="sort", bind="query-params")
    rollouts = ordered(rollouts, by or SORTS[0], group.visit)
    cells = heatmap.cells(rollouts, group.entry, group.visit)

    def choose() -> None:
        chosen = st.session_state["heatmap"].selection.get(heatmap.CHOSEN, [])
        if chosen and chosen[0].get("criterion"):
            go(rollout=chosen[0]["rollout"], criterion=chosen[0]["criterion"])

    st.vega_lite_chart(heatmap.spec(cells), key="heatmap", on_select=choose)
    st.caption(
        "✓ pass: met for positive points, not met for negative ones. ✗ fail. ? unscored. Q: in how many of its compared pairs the "
        "rollout was preferred. g: guided, c: cut at the length limit. Choose a cell, or choose below."
    )
    _verdict(rollouts, group)
    for rollout in rollouts[:WRITTEN_AT_ONCE]:
        _written(rollout)
    if len(rollouts) > WRITTEN_AT_ONCE and st.toggle(f"Show all {len(rollouts)}", key="all-rollouts"):
        for rollout in rollouts[WRITTEN_AT_ONCE:]:
            _written(rollout)


def _facts(visit: Visit) -> None:
    s = visit.shares
    classes = f"blind {share(s.blind)}, saturated {share(s.saturated)}, spurious {share(s.spurious)}, agree {share(s.agree)}"
    st.caption(
        f"{classes} · level {visit.level:g} · harness version {visit.harness_version} · {sum(visit.guided)} guided · {visit.clipped} cut"
    )
    for name, sign in visit.signs.items():
        if sign.shows:
            st.warning(
                f"Sign of reward hacking: {escaped(name)} {sign.value:.2f}, from {sign.threshold:.2f} on it is one.",
                icon=":material/flag:",
            )


def ordered(rollouts: list[Rollout], by: str, visit: Visit | None) -> list[Rollout]:
    """Best, or longest, first; unscored last."""
    if by == "score":
        return sorted(rollouts, key=lambda r: -1.0 if r.score is None else r.score, reverse=True)
    if by == "preferred by Q" and visit is not None:
        return sorted(rollouts, key=lambda r: heatmap.preferred(visit, r.id)[0], reverse=True)
    return sorted(rollouts, key=lambda r: r.tokens, reverse=True) if by == "length" else rollouts


def _verdict(rollouts: list[Rollout], group: Group) -> None:
    """One verdict in full: the criterion, what the judge said and why."""
    criteria = list(dict.fromkeys(v.criterion_id for r in rollouts for v in r.verdicts))
    if not criteria:
        st.caption("No verdict was recorded for these rollouts.")
        return
    left, right = st.columns(2)
    name = left.selectbox("Rollout", [heatmap.number(r) for r in rollouts], index=0, key="rollout", bind="query-params")
    criterion_id = right.selectbox("Criterion", criteria, index=0, key="criterion", bind="query-params")
    rollout = next((r for r in rollouts if heatmap.number(r) == name), rollouts[0])
    verdict = next((v for v in rollout.verdicts if v.criterion_id == criterion_id), None)
    criterion = group.entry.criterion(criterion_id) if group.entry and criterion_id else None
    with st.container(border=True, key="verdict"):
        asked = f"[{criterion.points:+g}] {criterion.text}" if criterion else str(criterion_id)
        st.text(plain(asked))
        if verdict is None:
            st.text("No verdict on this rollout.")
            return
        grade = f", grade {verdict.grade:.2f}" if verdict.grade not in (None, 0.0, 1.0) else ""
        passed = heatmap.WORDS[heatmap.status(verdict, criterion)]
        rule = rule_of(criterion) if criterion else ""
        why = verdict.reason or (f"It is {rule}." if rule else "The judge gave no reason.")
        st.text(plain(f"{verdict.status.replace('_', ' ')}{grade}: {passed}. {why}"))
        st.code(plain(rollout.text), language=None, wrap_lines=True)


def marks(rollout: Rollout) -> str:
    """What is to be known of a response before it is read."""
    found = [f"score {score(rollout.score)}" if rollout.score is not None else "unscored", f"{rollout.tokens} tokens"]
    found += ["clipped"] if rollout.clipped else []
    found += ["guided"] if rollout.guidance is not None else []
    return escaped(" · ".join(found))


def _written(rollout: Rollout) -> None:
    st.markdown(f"**{escaped(heatmap.number(rollout))}** · {marks(rollout)}")
    if rollout.guidance is not None:
        with st.container(border=True, key=f"guidance-{rollout.id}"):
            st.caption("Guidance that was shown; it is no part of the response and not trained on")
            st.text(plain(rollout.guidance))
    st.code(plain(rollout.text), language=None, wrap_lines=True)
