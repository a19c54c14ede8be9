"""The Compare page: two runs, or two steps of one, on the same pictures, and what both wrote to the same prompts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import altair as alt
import pandas as pd
import streamlit as st

from memory.visit import Rollout, Visit
from ui import charts, curves, drawing, rollouts, settings, sides
from ui.change import message_lines
from ui.html import STYLE, h, html
from ui.link import go
from ui.readers import RunView
from ui.series import WINDOW, heldout_table, shares_long, step_table, thinned
from ui.sides import Side
from ui.words import escaped, plain, signed

KINDS = ("two runs", "two steps")
MOST_EDITS = 200
MOST_MARKS = 30
"""Marks of accepted edits on one of two pictures beside each other."""
WRITTEN_AT_ONCE = 3
"""Responses of a side that are shown without asking for more."""


class Opens(Protocol):
    """Gives the view of another run by its folder."""

    def __call__(self, path: Path) -> RunView: ...


def draw(run: RunView, others: Mapping[str, Path], opens: Opens) -> None:
    """Choose the two sides; then numbers, curves, classes, edits, prompts. ``others`` are the runs of the folder, by name."""
    others = {name: path for name, path in others.items() if name != run.name}
    left, right = st.columns([2, 5], vertical_alignment="bottom")
    begin_with("compare", KINDS[0] if others else KINDS[1])
    kind = left.segmented_control("Compare", KINDS, required=True, key="compare", bind="query-params")
    with right:
        found = _two_runs(run, others, opens) if kind == KINDS[0] else _two_steps(run)
    if found is None:
        return
    first, second = found
    look = ("", "") if first.run is second.run else (", solid and ◆", ", dashed and ■")
    st.markdown(f"**{escaped(first.name)}**{look[0]}, against **{escaped(second.name)}**{look[1]}")
    _numbers(first, second)
    _curves(first, second)
    _classes(first, second)
    _edits(first, second)
    _settings(first, second)
    _prompts(first, second)


def begin_with(key: str, value: str | int) -> None:
    """Choose for a widget that is yet to come, unless the URL does. It has no default of its own, so that the URL always tells what is
    compared, also when the default has moved on."""
    if key not in st.session_state and key not in st.query_params:
        st.query_params[key] = str(value)
        st.session_state[key] = value


def _two_runs(run: RunView, others: Mapping[str, Path], opens: Opens) -> tuple[Side, Side] | None:
    if not others:
        st.info("There is no other run in this folder to compare with; compare two steps, or open a folder with several runs.")
        return None
    begin_with("with", next(iter(others)))
    name = st.selectbox("With the run", list(others), index=None, placeholder="choose a run", key="with", bind="query-params")
    if name is None:
        return None
    other = opens(others[name])
    for trouble in other.troubles.values():
        st.warning(f"{escaped(other.name)}: {escaped(trouble)}", icon=":material/description:")
    last = [max(sides.steps_of(view), default=0) for view in (run, other)]
    for view, step in zip((run, other), last, strict=True):
        if not step:
            st.info(f"{escaped(view.name)} has no finished step yet, so there is nothing to compare.")
            return None
    return sides.pair((run, last[0]), (other, last[1]))


def _two_steps(run: RunView) -> tuple[Side, Side] | None:
    steps = sides.steps_of(run)
    if len(steps) < 2:
        st.info("Two steps can be compared when two are finished.")
        return None
    left, right = st.columns(2)
    width = max(1, min(WINDOW, len(steps) // 2))
    chosen = []
    for place, label, usual, key in ((left, "Step A", steps[width - 1], "first"), (right, "Step B", steps[-1], "second")):
        begin_with(key, usual)
        asked = place.number_input(label, steps[0], steps[-1], None, 1, key=key, bind="query-params")
        chosen.append(usual if asked is None else int(asked))
    if chosen[0] == chosen[1]:
        st.info("A and B are the same step: choose two.")
        return None
    return sides.pair((run, chosen[0]), (run, chosen[1]))


def _numbers(first: Side, second: Side) -> None:
    st.subheader("Numbers", anchor=False)
    st.dataframe(sides.facts(first, second), key="facts", hide_index=True)
    means = "Numbers of the step itself" if first.width == 1 else f"Means of the {first.width} steps up to A and up to B"
    st.caption(f"{means}; held-out scores of the last evaluation by then.")
    change = sides.heldout_change(first, second)
    if change is None:
        st.caption("No held-out tasks that both evaluated, so held-out scores are not compared.")
        return
    ruler, found, tasks = change
    certain = "significant" if found.low > 0 or found.high < 0 else "not significant"
    st.markdown(
        f"Held-out {ruler}, task by task: B − A = **{signed(found.estimate)}** (95% interval {signed(found.low)} to "
        f"{signed(found.high)} over {tasks} shared tasks, {certain})."
    )


def _curves(first: Side, second: Side) -> None:
    st.subheader("Reward and held-out score", anchor=False)
    if first.run is not second.run:
        rewards, heldout = sides.curves((first, second))
        last = float(max(first.step, second.step))
        st.altair_chart(curves.two_sides(rewards, heldout, last), key="two-curves")
        return
    table, heldout = thinned(step_table(first.run)), heldout_table(first.run)
    last = float(max(*sides.steps_of(first.run), *heldout["step"]))
    marks = curves.step_marks([("A", first.step), ("B", second.step)])
    st.altair_chart(alt.layer(charts.score_curves(table, heldout, last), marks).properties(height=340), key="step-curves")


def _classes(first: Side, second: Side) -> None:
    st.subheader("Pair classes", anchor=False)
    found = [(side.letter, shares) for side in (first, second) if (shares := sides.shares(side)) is not None]
    if not found:
        st.info("No class shares: no pair of rollouts could be compared.")
        return
    st.html(STYLE)
    st.html(html(h("div", drawing.stacked(found), class_="card")))
    if first.run is second.run:
        return
    for place, side in zip(st.columns(2), (first, second), strict=True):
        shares = shares_long(thinned(step_table(side.run)))
        if len(shares):
            place.caption(escaped(side.name))
            picture = charts.class_areas(shares, sides.edit_marks(side, MOST_MARKS), float(side.step)).properties(height=360)
            place.altair_chart(picture, key=f"areas-{side.letter}")


def _edits(first: Side, second: Side) -> None:
    if first.run is second.run:
        early, late = sorted((first.step, second.step))
        st.subheader(f"Edits between step {early} and step {late}", anchor=False)
        between = [("", r.decision) for r in first.run.decisions if early <= r.decision.step < late]
        if not between:
            st.caption("None was decided between them.")
        else:
            _edit_table(sides.edit_rows(between).drop(columns="side"), first.run)
        return
    st.subheader("Edits", anchor=False)
    mine, theirs = first.decisions(), second.decisions()
    st.dataframe(sides.edit_counts(mine, theirs), key="edit-counts", hide_index=True)
    st.caption("accepted / rejected / inconclusive")
    both = [*(("A", d) for d in mine), *(("B", d) for d in theirs)]
    if both:
        with st.expander(f"The {len(both)} edits", key="edit-list"):
            _edit_table(sides.edit_rows(both), None)


def _edit_table(table: pd.DataFrame, run: RunView | None) -> None:
    """Edits; of one run a row opens the card."""
    if len(table) > MOST_EDITS:
        st.caption(f"The newest {MOST_EDITS} of {len(table)}.")
    shown = table.iloc[:MOST_EDITS]
    if run is None:
        st.dataframe(shown, key="edit-rows", hide_index=True)
        return

    def choose() -> None:
        rows = st.session_state["edit-rows"].selection.rows
        if rows:
            go(page="Evolver", edit=shown["id"].iloc[rows[0]])

    st.dataframe(shown, key="edit-rows", hide_index=True, on_select=choose, selection_mode="single-row")
    st.caption("Choose a row to open its card.")


def _settings(first: Side, second: Side) -> None:
    if first.run is second.run:
        return
    st.subheader("Settings that differ", anchor=False)
    if not first.run.config or not second.run.config:
        st.caption("Not known: a config.yaml is not here.")
        return
    table = settings.difference(first.run.config, second.run.config, ("A", "B"))
    if len(table):
        st.dataframe(table, key="settings-that-differ", hide_index=True)
    else:
        st.caption("None.")


def _prompts(first: Side, second: Side) -> None:
    st.subheader("The same prompt on both sides", anchor=False)
    tasks = sides.common_tasks(first, second)
    if not tasks:
        st.info("No task was visited on both sides.")
        return
    chosen = st.selectbox("Task", tasks, index=0, key="prompt", bind="query-params")
    task_id = chosen if chosen in tasks else tasks[0]
    visits = [visit for side in (first, second) if (visit := side.visit(task_id)) is not None]
    if len(visits) < 2:
        st.warning("A visit of this task cannot be read.")
        return
    entries = [side.run.entry_at(visit) for side, visit in zip((first, second), visits, strict=True)]
    if entries[0] and entries[1] and entries[0].rubric != entries[1].rubric:
        st.caption("The criteria are not the same on both sides, so their scores are on different rulers.")
    prompts = ["\n".join(message_lines(entry.messages)) if entry else None for entry in entries]
    same = prompts[0] is not None and prompts[0] == prompts[1]
    if same:
        st.code(prompts[0] or "", language=None, wrap_lines=True)
    if first.run is second.run and visits[0] == visits[1]:
        st.caption("The task was not visited between the two steps: both sides show one visit.")
    more = st.toggle("Show all responses", key="all-responses", bind="query-params")
    for place, side, visit, prompt in zip(st.columns(2), (first, second), visits, prompts, strict=True):
        with place:
            _responses(side, visit, None if same else prompt, more)


def _responses(side: Side, visit: Visit, prompt: str | None, more: bool) -> None:
    """One side's group, best first. Model text is shown as text."""
    scored = visit.scored
    mean = f"mean score {sum(scored) / len(scored):.3f}" if scored else "no rollout was scored"
    st.markdown(f"**{side.letter}** · visit of step {visit.step} · {mean}")
    if prompt is not None:
        st.code(prompt, language=None, wrap_lines=True)
    found = side.run.rollouts(visit.rollout_ids)
    if len(found) < len(visit.rollout_ids):
        st.warning(
            f"{len(visit.rollout_ids) - len(found)} of {len(visit.rollout_ids)} rollouts are not in rollouts/ or cannot be read."
        )
    ordered = rollouts.ordered(found, "score", visit)
    for rollout in ordered if more else ordered[:WRITTEN_AT_ONCE]:
        _written(rollout)
    if not more and len(ordered) > WRITTEN_AT_ONCE:
        st.caption(f"{len(ordered) - WRITTEN_AT_ONCE} more with lower scores.")


def _written(rollout: Rollout) -> None:
    st.caption(rollouts.marks(rollout))
    st.code(plain(rollout.text), language=None, wrap_lines=True)
