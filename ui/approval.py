"""Edits that wait for a person (``evolver.approval: human``): their cards, and the answer, which goes into the run's inbox.

The inbox is the only file of a run that the console writes: one appended line per answer (``memory.approval``).
"""

import sys
import time
from dataclasses import replace

import streamlit as st

from memory.approval import LONGEST_NOTE, PHASE, Answer, Waiting, append_answer, settled
from memory.decision import Approval
from memory.errors import RunDirError
from memory.rundir import RunDir
from ui.card import card
from ui.drawing import counted
from ui.html import STYLE, html
from ui.readers import Remembered, RunView
from ui.words import age, escaped, plain, said_of

LATER = sys.maxsize // 2
"""Stands for the place in the journal that an edit gets when the wait is over: after everything there is."""


def draw(run: RunView) -> None:
    """The cards of edits that wait, each with its answer or the means to give one; nothing when none waits."""
    waiting = run.waiting
    held = held_decisions(run)
    if waiting is None or not held:
        return
    st.html(STYLE)
    st.subheader(waiting_words(held))
    st.markdown(escaped(until_when(run, waiting, time.time())))
    shown = as_if_recorded(run, waiting)
    decided, notes = settled(waiting.held, run.answers)
    for remembered in held:
        edit_id = remembered.decision.edit.id
        with st.container(border=True, key=f"held-{edit_id}"):
            st.html(html(card(shown, remembered)))
            for note in notes.get(edit_id, ()):
                st.markdown(f"Note: {escaped(note)}")
            if edit_id in decided:
                _answered(decided[edit_id])
            else:
                _ask(run, waiting, edit_id)


def waiting_words(held: list[Remembered]) -> str:
    return f"{counted(len(held), 'accepted edit')} {'waits' if len(held) == 1 else 'wait'} for a person"


def held_decisions(run: RunView) -> list[Remembered]:
    """What waits and is not on record yet."""
    if run.waiting is None:
        return []
    numbered = enumerate(run.waiting.decisions)
    return [Remembered(LATER + k, d) for k, d in numbered if d.edit.id in run.waiting.held and run.edit(d.edit.id) is None]


def until_when(run: RunView, waiting: Waiting, now: float) -> str:
    """How long there is to answer, what happens else, and whether the run is there to hear it."""
    beat = run.heartbeat
    if beat is None or beat.ended or beat.stale(now) or beat.phase != PHASE:
        return (
            "The run is not waiting right now: it was stopped, or has been resumed and has not come to this round again. It takes the "
            f"answers given here when it does; what has none then waits anew, and is {waiting.fate} by default in the end."
        )
    left = f"for {age(waiting.until - now)} more" if waiting.until > now else "no longer"
    return (
        f"Training stands still {left}, until {waiting.deadline}. What has no answer by then is {waiting.fate} by default "
        "(evolver.approval_default)."
    )


def as_if_recorded(run: RunView, waiting: Waiting) -> RunView:
    """The run as it will look when the round that waits is on record, so that its cards can be drawn."""
    number = waiting.round.round
    attempts: dict[tuple[int, str], list[Remembered]] = {}
    for k, decision in enumerate(waiting.decisions):
        attempts.setdefault((number, decision.edit.task_id), []).append(Remembered(LATER + k, decision))
    return replace(run, rounds={**run.rounds, number: waiting.round}, attempts={**run.attempts, **attempts})


def _answered(approval: Approval) -> None:
    icon = ":material/check:" if approval.granted else ":material/close:"
    words = f"{said_of(approval).capitalize()}{': ' + ' / '.join(approval.notes) if approval.notes else ''}"
    st.info(f"{escaped(words)}\\. The first answer stands\\.", icon=icon)


def _ask(run: RunView, waiting: Waiting, edit_id: str) -> None:
    key = f"note-{edit_id}-{waiting.held[edit_id]}"
    st.text_area("Note", key=key, max_chars=LONGEST_NOTE, placeholder="why, for the record and for the proposer")

    def answer(word: str) -> None:
        note = plain(st.session_state.get(key, "")).strip()
        if word == "note" and not note:
            st.session_state[f"failed-{key}"] = "A note needs words."
            return
        said = Answer.model_validate(
            {"edit_id": edit_id, "digest": waiting.held[edit_id], "answer": word, "note": note, "time": time.time()}
        )
        try:
            append_answer(RunDir(run.path).inbox, said)
            st.session_state[key] = ""
        except RunDirError as error:
            st.session_state[f"failed-{key}"] = str(error)

    with st.container(horizontal=True, gap="small"):
        for word, label, icon in (
            ("approve", "Approve", ":material/check:"),
            ("reject", "Reject", ":material/close:"),
            ("note", "Leave the note only", ":material/edit_note:"),
        ):
            st.button(label, key=f"{word}-{edit_id}", on_click=answer, args=(word,), icon=icon)
    if failed := st.session_state.pop(f"failed-{key}", None):
        st.error(escaped(failed))
