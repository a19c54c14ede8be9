"""The Evolver page: a timeline of all edits, filters, and one card per edit, newest first."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from memory.decision import Decision
from ui import approval, timeline
from ui.card import card, evidence_ids
from ui.drawing import counted
from ui.html import STYLE, html
from ui.link import go
from ui.readers import Remembered, RunView
from ui.words import INTERFACES, OUTCOMES, escaped

CARDS = 8
"""Cards on one page of the list."""


@dataclass(frozen=True)
class Filter:
    """Which edits to show; an empty part lets everything pass. ``text`` is looked for in all words of a card."""

    outcomes: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    domain: str | None = None
    task: str | None = None
    steps: tuple[int, int] | None = None
    text: str = ""

    def passes(self, run: RunView, decision: Decision) -> bool:
        edit = decision.edit
        return (
            (not self.outcomes or decision.outcome in self.outcomes)
            and (not self.interfaces or edit.interface in self.interfaces)
            and (self.domain is None or run.visits.domain_of.get(edit.task_id) == self.domain)
            and (self.task is None or edit.task_id == self.task)
            and (self.steps is None or self.steps[0] <= decision.step <= self.steps[1])
            and (not self.text or self.text.lower() in words_of(run, decision))
        )


def words_of(run: RunView, decision: Decision) -> str:
    attribution = run.attribution(decision)
    return "\n".join(
        [decision.sentence, decision.edit.model_dump_json(), attribution.reason if attribution else "", decision.outcome]
    ).lower()


def draw(run: RunView) -> None:
    """Filters and the cards they leave; ``edit`` in the URL leaves one."""
    approval.draw(run)
    if not run.decisions:
        st.info(no_edits(run))
        return
    st.html(STYLE)
    left = filtered(run)
    _timeline(run, left)
    st.caption(f"{len(left)} of {len(run.decisions)} edits, newest first")
    if not left:
        st.info("No edit matches the filters.")
        return
    pages = -(-len(left) // CARDS)
    page = st.pagination(pages, key=f"cards-{pages}") if pages > 1 else 1
    for remembered in left[(page - 1) * CARDS : page * CARDS]:
        with st.container(border=True, key=f"card-{remembered.seq}"):
            draw_card(run, remembered)


def no_edits(run: RunView) -> str:
    """Why there is nothing to show, and when there will be."""
    every = run.setting("evolver", "every")
    if run.waiting:
        return "No edits on record yet: the round that waits is the first."
    if run.setting("evolver", "enabled") is False:
        return "No edits: the evolver is switched off in this run (evolver.enabled is false)."
    if run.rounds:
        failures = [f"{count} × {reason}" for r in run.rounds.values() for reason, count in r.failures.items()]
        why = f" Failures: {escaped(', '.join(failures))}." if failures else ""
        return f"No edits yet: {counted(len(run.rounds), 'round')} looked at tasks and proposed nothing.{why}"
    if not isinstance(every, int):
        return "No edits yet, and config.yaml does not tell when the first round comes."
    if run.setting("evolver", "cold_start") and not run.metrics:
        return "No edits yet: the first round comes before the first step, on the calibration tasks."
    steps = run.setting("train", "steps")
    never = " That is not before the last step, so this run will have none." if isinstance(steps, int) and every >= steps else ""
    return f"No edits yet: the first round comes at step {every}.{never}"


def filtered(run: RunView) -> list[Remembered]:
    """The decisions that the filters leave, newest first."""
    newest = run.decisions[::-1]
    first, second, third = st.columns([7, 9, 5])
    outcomes = first.segmented_control("Outcome", OUTCOMES, selection_mode="multi", key="outcome", bind="query-params", wrap=True)
    interfaces = second.segmented_control(
        "Interface",
        list(INTERFACES),
        format_func=INTERFACES.__getitem__,
        selection_mode="multi",
        key="interface",
        bind="query-params",
        wrap=True,
    )
    text = third.text_input("Search the cards", key="text", bind="query-params", placeholder="words, a criterion, an id")
    first, second, third, fourth = st.columns([2, 3, 3, 2])
    tasks = list(dict.fromkeys(d.decision.edit.task_id for d in newest))
    domains = sorted({run.visits.domain_of[t] for t in tasks if t in run.visits})
    domain = first.selectbox("Domain", domains, index=None, placeholder="all", key="domain", bind="query-params")
    task = second.selectbox("Task", tasks, index=None, placeholder="all", key="of", bind="query-params")
    steps = _step_range(run, third)
    ids = [d.decision.edit.id for d in newest]
    chosen = fourth.selectbox("Edit", ids, index=None, placeholder="all", key="edit", bind="query-params")
    if chosen is not None:
        return [d for d in newest if d.decision.edit.id == chosen]
    asked = Filter(tuple(outcomes or ()), tuple(interfaces or ()), domain, task, steps, (text or "").strip())
    return [d for d in newest if asked.passes(run, d.decision)]


def _step_range(run: RunView, place: Any) -> tuple[int, int] | None:
    steps = [d.decision.step for d in run.decisions]
    if min(steps) == max(steps):
        return None
    return place.slider("Steps", min(steps), max(steps), (min(steps), max(steps)), key="steps", bind="query-params")


def _timeline(run: RunView, left: list[Remembered]) -> None:
    """All edits of the filters on one picture; choosing a mark opens its edit, or the steps of a mark that stands for several."""
    marks = timeline.marks(left)

    def choose() -> None:
        chosen = st.session_state["timeline"].selection.get(timeline.CHOSEN, [])
        if chosen and chosen[0].get("edit"):
            go(edit=chosen[0]["edit"])
        elif chosen:
            st.session_state["steps"] = (int(chosen[0]["first"]), int(chosen[0]["last"]))

    if len(marks) > 1:
        last = max(d.decision.step for d in run.decisions)
        st.vega_lite_chart(timeline.spec(marks, last), key="timeline", on_select=choose)


def draw_card(run: RunView, remembered: Remembered) -> None:
    """The card, and buttons that lead to what it rests on."""
    decision = remembered.decision
    edit = decision.edit
    st.html(html(card(run, remembered)))
    with st.container(horizontal=True, gap="small"):
        places = {"page": "Tasks", "task": edit.task_id}
        st.button(
            "Open the task",
            key=f"open-task-{remembered.seq}",
            on_click=go,
            kwargs=places,
            type="tertiary",
            icon=":material/timeline:",
        )
        if decision.measurement and decision.measurement.rollout_ids:
            count = len(decision.measurement.rollout_ids)
            places = {"page": "Rollouts", "task": edit.task_id, "group": f"edit {edit.id}"}
            _rollouts_button(f"The {count} measured rollouts", f"measured-{remembered.seq}", places)
        for number, evidence in enumerate(evidence_ids(run, decision)[:4]):
            visit = run.visits.by_id(evidence)
            if visit is not None:
                places = {"page": "Rollouts", "task": visit.task_id, "group": f"step {visit.step}"}
                _rollouts_button(f"Evidence: step {visit.step}", f"evidence-{remembered.seq}-{number}", places)
            elif run.edit(evidence) is not None:
                st.button(
                    f"Evidence: edit {escaped(evidence)}",
                    key=f"evidence-{remembered.seq}-{number}",
                    on_click=go,
                    kwargs={"edit": evidence},
                    type="tertiary",
                )


def _rollouts_button(words: str, key: str, places: dict[str, str]) -> None:
    st.button(words, key=key, on_click=go, kwargs=places, type="tertiary", icon=":material/grid_on:")
