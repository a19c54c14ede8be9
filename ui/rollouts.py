"""One visit's rollouts: who passed what, and what was written. Model text is shown as text, never as markup."""

import pandas as pd
import streamlit as st

from memory.harness import TaskHarness
from memory.visit import Rollout, Visit
from ui.readers import RunView
from ui.words import escaped, plain, score

PASS, FAIL, UNSCORED = "✓ pass", "✗ fail", "? unscored"
SHADES = {PASS: "background-color: rgba(63, 157, 99, 0.25)", FAIL: "background-color: rgba(208, 82, 79, 0.22)"}
WRITTEN_AT_ONCE = 16
"""Rollouts whose text is shown without asking for more."""


def draw_visit(run: RunView, task_id: str) -> None:
    """Choose a visit of a task; its verdicts as a table, the texts below."""
    visits = run.visits[task_id]
    newest = visits[::-1]
    names = [f"step {v.step}, harness version {v.harness_version}" for v in newest]
    chosen = st.selectbox("Visit", range(len(newest)), format_func=names.__getitem__, key=f"visit-{task_id}")
    visit = newest[chosen or 0]
    rollouts = run.rollouts(visit)
    missing = len(visit.rollout_ids) - len(rollouts)
    if missing:
        st.warning(f"{missing} of {len(visit.rollout_ids)} rollouts of this visit are not in rollouts/ or cannot be read.")
    if not rollouts:
        return
    table = verdict_table(visit, rollouts, run.entry_at(visit))
    st.dataframe(
        table.style.map(lambda cell: SHADES.get(cell, "")),
        hide_index=True,
        key=f"verdicts-{task_id}-{visit.id}",
        column_config={"criterion": st.column_config.TextColumn(width="large", pinned=True)},
    )
    st.caption(
        "Pass means met for positive points, not met for negative ones. Q counts the pairs in which it preferred the rollout."
    )
    for rollout in rollouts[:WRITTEN_AT_ONCE]:
        _written(rollout)
    if len(rollouts) > WRITTEN_AT_ONCE and st.toggle(f"Show all {len(rollouts)}", key=f"all-{task_id}-{visit.id}"):
        for rollout in rollouts[WRITTEN_AT_ONCE:]:
            _written(rollout)


def verdict_table(visit: Visit, rollouts: list[Rollout], entry: TaskHarness | None) -> pd.DataFrame:
    """Criteria x rollouts, under a row of scores and one of Q."""
    known = {c.id: c for c in entry.rubric} if entry else {}
    judged = list(dict.fromkeys(v.criterion_id for r in rollouts for v in r.verdicts))
    columns: dict[str, list[str]] = {
        "criterion": ["score", *(["preferred by Q"] if visit.quality else []), *(_criterion_name(i, known) for i in judged)]
    }
    for rollout in rollouts:
        place = visit.rollout_ids.index(rollout.id)
        verdicts = {v.criterion_id: v for v in rollout.verdicts}
        cells = [score(rollout.score), *([_preferred(visit, place)] if visit.quality else [])]
        for criterion_id in judged:
            verdict, criterion = verdicts.get(criterion_id), known.get(criterion_id)
            if verdict is None or verdict.status == "unscored":
                cells.append(UNSCORED)
            elif criterion is None:
                cells.append(verdict.status.replace("_", " "))
            else:
                cells.append(PASS if verdict.passes(criterion) else FAIL)
        columns[f"{number(rollout)}{' guided' if rollout.guidance is not None else ''}"] = cells
    return pd.DataFrame(columns)


def number(rollout: Rollout) -> str:
    return "#" + plain(rollout.id).rsplit("/", 1)[-1]


def _criterion_name(criterion_id: str, known) -> str:
    criterion = known.get(criterion_id)
    return plain(f"[{criterion.points:+g}] {criterion.text}" if criterion else criterion_id)


def _preferred(visit: Visit, place: int) -> str:
    """In how many of its compared pairs Q preferred this rollout."""
    orders = [
        p.order if p.first == place else -p.order for p in visit.quality if p.order is not None and place in (p.first, p.second)
    ]
    return f"{orders.count(1)} of {len(orders)}" if orders else "–"


def _written(rollout: Rollout) -> None:
    marks = [f"score {score(rollout.score)}" if rollout.score is not None else "unscored", f"{rollout.tokens} tokens"]
    marks += ["clipped"] if rollout.clipped else []
    marks += ["guided"] if rollout.guidance is not None else []
    st.markdown(f"**{escaped(number(rollout))}** · {escaped(' · '.join(marks))}")
    if rollout.guidance is not None:
        with st.container(border=True, key=f"guidance-{rollout.id}"):
            st.caption("Guidance that was shown; it is no part of the response and not trained on")
            st.text(plain(rollout.guidance))
    st.code(plain(rollout.text), language=None, wrap_lines=True)
    reasons = [f"{v.criterion_id}: {v.status.replace('_', ' ')}, {v.reason}" for v in rollout.verdicts if v.reason]
    if reasons:
        with st.expander("The judge's reasons", key=f"reasons-{rollout.id}"):
            st.text(plain("\n".join(reasons)))
