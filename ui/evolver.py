"""The Evolver page: one card per edit, newest first: the change, the measurement drawn, the decision, what came of it."""

import streamlit as st

from memory.decision import Decision
from ui.change import change
from ui.link import go
from ui.measurement import effect_spec, shares_spec
from ui.readers import Remembered, RunView
from ui.words import (
    INTERFACE_COLOURS,
    INTERFACES,
    OUTCOME_COLOURS,
    OUTCOME_ICONS,
    OUTCOMES,
    escaped,
    operation,
    plain,
    share,
)

CARDS = 10
"""Cards on one page of the list."""


def draw(run: RunView) -> None:
    """Filters and the cards they leave; ``edit`` in the URL leaves one."""
    if not run.decisions:
        st.info(no_edits(run))
        return
    left = filtered(run)
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
    if run.setting("evolver", "enabled") is False:
        return "No edits: the evolver is switched off in this run (evolver.enabled is false)."
    if run.rounds:
        failures = [f"{count} × {reason}" for r in run.rounds.values() for reason, count in r.failures.items()]
        why = f" Failures: {escaped(', '.join(failures))}." if failures else ""
        return f"No edits yet: {len(run.rounds)} rounds looked at tasks and proposed nothing.{why}"
    if not isinstance(every, int):
        return "No edits yet, and config.yaml does not tell when the first round comes."
    steps = run.setting("train", "steps")
    never = " That is not before the last step, so this run will have none." if isinstance(steps, int) and every >= steps else ""
    return f"No edits yet: the first round comes at step {every}.{never}"


def filtered(run: RunView) -> list[Remembered]:
    """The decisions that the filters leave, newest first."""
    newest = run.decisions[::-1]
    first, second, third, fourth = st.columns([3, 4, 2, 2])
    outcomes = first.segmented_control(
        "Outcome", OUTCOMES, selection_mode="multi", key="outcomes", persist_state="session", wrap=True
    )
    interfaces = second.segmented_control(
        "Interface",
        list(INTERFACES),
        format_func=INTERFACES.__getitem__,
        selection_mode="multi",
        key="interfaces",
        persist_state="session",
        wrap=True,
    )
    text = third.text_input("Task contains", key="task-text", persist_state="session").strip().lower()
    ids = [d.decision.edit.id for d in newest]
    chosen = fourth.selectbox("Edit", ids, index=None, placeholder="all", key="edit", bind="query-params")
    if chosen is not None:
        return [d for d in newest if d.decision.edit.id == chosen]
    return [
        d
        for d in newest
        if (not outcomes or d.decision.outcome in outcomes)
        and (not interfaces or d.decision.edit.interface in interfaces)
        and text in d.decision.edit.task_id.lower()
    ]


def draw_card(run: RunView, remembered: Remembered) -> None:
    """Badges, then the pictures with the words beside them."""
    decision = remembered.decision
    edit = decision.edit
    _badges(decision)
    pictures, words = st.columns([3, 2], gap="medium")
    with pictures:
        if decision.measurement is None:
            st.info("Not measured: the edit was refused before any rollout was spent.")
        else:
            measured = decision.measurement
            spec = effect_spec(decision, run.hindsight.get(edit.id))
            st.vega_lite_chart(spec, key=f"measurement-{remembered.seq}")
            if measured.before.pairs or measured.after.pairs:
                st.vega_lite_chart(shares_spec(measured.before, measured.after), key=f"shares-{remembered.seq}")
        st.caption("The change")
        st.code(change(edit, run.entry_before(remembered)), language="diff", wrap_lines=True)
    with words, st.container(gap="xsmall"):
        _words(run, remembered)


def _badges(decision: Decision) -> None:
    edit = decision.edit
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(INTERFACES[edit.interface], color=INTERFACE_COLOURS[edit.interface])  # type: ignore[arg-type]
        st.badge(decision.outcome, icon=OUTCOME_ICONS[decision.outcome], color=OUTCOME_COLOURS[decision.outcome])  # type: ignore[arg-type]
        st.markdown(f"**{operation(edit.operation.op)}** on **{escaped(edit.task_id)}**")
        extra = f" · with {', '.join(operation(o.op) for o in edit.secondary)}" if edit.secondary else ""
        st.caption(
            f"step {decision.step} · round {decision.round} · revision {decision.revision} · by {escaped(edit.proposer)} · "
            f"{escaped(edit.id)}{extra}"
        )


def _words(run: RunView, remembered: Remembered) -> None:
    decision = remembered.decision
    edit = decision.edit
    st.caption("Decision")
    st.text(plain(decision.sentence))
    attribution = run.attribution(decision)
    st.caption("Attribution")
    if attribution:
        st.text(plain(f"{attribution.pair_class}, repaired through {INTERFACES[attribution.interface]}: {attribution.reason}"))
        st.caption(f"by {escaped(attribution.author)}")
        for probe in attribution.probes:
            st.text(plain(f"Probe ({probe.kind.replace('_', ' ')}): {probe.sentence}"))
        if attribution.overruled:
            st.text(plain(f"The rules would have said: {attribution.overruled}"))
    else:
        st.text("Not recorded; the round's record is missing.")
    st.caption("Claim of the edit")
    st.text(plain(f"less {edit.claim.pair_class}: {edit.claim.reason}"))
    found = decision.measurement
    if found:
        before, after = found.mean_score_before, found.mean_score_after
        scores = f", mean score {before:.2f} → {after:.2f}" if before is not None and after is not None else ""
        st.caption(f"{found.rollouts} rollouts, {found.quality_calls} quality calls, looks: {found.looks}{scores}")
        if found.p_needed:
            st.caption(f"p {found.p_value:.2g} where {found.p_needed:.2g} was needed")
    hindsight = run.hindsight.get(edit.id)
    if hindsight:
        st.caption("Hindsight")
        over = "the visit" if hindsight.visits == 1 else f"{hindsight.visits} visits"
        on = f" on {found.quantity}" if found else ""
        st.text(
            plain(f"Over {over} since then {hindsight.observed:+.2f}{on}; the measurement promised {hindsight.claimed:+.2f}.")
        )
    elif decision.outcome == "accepted":
        st.caption("Hindsight: the task was not visited again yet.")
    _revisions(run, remembered)
    _recalled(run, remembered)
    st.button("Open the task", key=f"open-task-{remembered.seq}", on_click=go, kwargs={"page": "Tasks", "task": edit.task_id})


def _revisions(run: RunView, remembered: Remembered) -> None:
    decision = remembered.decision
    others = [
        f"{d.decision.revision}: {operation(d.decision.edit.operation.op)}, {d.decision.outcome}"
        for d in run.decisions
        if d.decision.round == decision.round and d.decision.edit.task_id == decision.edit.task_id and d.seq != remembered.seq
    ]
    if others:
        st.caption("Other revisions of this round")
        st.text("\n".join(others))


def _recalled(run: RunView, remembered: Remembered) -> None:
    record = run.rounds.get(remembered.decision.round)
    ids = record.recalled.get(remembered.decision.edit.task_id, ()) if record else ()
    with st.expander(f"Recalled: {len(ids)} memories", key=f"recalled-{remembered.seq}"):
        if not ids:
            st.caption("Nothing was recalled for this task.")
            return
        cited = set(remembered.decision.edit.evidence)
        lines = [f"{'cited · ' if i in cited else ''}{describe(run, i)} ({i})" for i in ids]
        st.text(plain("\n".join(lines)))


def describe(run: RunView, memory_id: str) -> str:
    """A visit or an edit in a few words."""
    for remembered in run.decisions:
        if remembered.decision.edit.id == memory_id:
            d = remembered.decision
            return plain(f"edit on {d.edit.task_id}: {operation(d.edit.operation.op)}, {d.outcome}")
    for visits in run.visits.values():
        for visit in visits:
            if visit.id == memory_id:
                s = visit.shares
                parts = f"blind {share(s.blind)}, saturated {share(s.saturated)}, spurious {share(s.spurious)}, agree {share(s.agree)}"
                return plain(f"visit at step {visit.step} of {visit.task_id}: {parts}")
    return "not in the journal"
