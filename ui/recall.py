"""The Memory page: what the run remembers, searched by meaning, each record on one line with the way to it."""

from contextlib import closing, nullcontext
from dataclasses import replace

import streamlit as st

from memory.edit import Interface
from ui.drawing import counted
from ui.link import go
from ui.meaning import SITUATIONS, Asked, Hit, Kind, Meaning, Situation, line, own_embedding
from ui.readers import MANY, Remembered, RunView, uncollected
from ui.words import INTERFACES, OUTCOME_SIGNS, OUTCOMES, escaped

MOST_FOUND = 200
ON_A_PAGE = 20
LONGEST_LINE = 320
"""Characters of a record that are shown."""
KINDS: tuple[Kind, ...] = ("edits", "visits")


def draw(run: RunView) -> None:
    """The search, its filters and what they find."""
    if not run.visits and not run.decisions:
        st.info("Nothing to remember yet: the first visits come with the first step.")
        return
    asked = ask(run)
    meaning = run.meaning = run.meaning or Meaning()
    with uncollected():
        take(run, meaning)
        if asked.text:
            embed(run, meaning)
    st.caption(escaped(how(run, meaning)))
    found = meaning.find(asked, MOST_FOUND)
    if not found:
        st.info(nothing(asked, meaning))
        return
    order = "nearest first" if asked.text else "newest first; give words to search by meaning"
    many = f"the first {MOST_FOUND}" if len(found) == MOST_FOUND else counted(len(found), "record")
    st.caption(f"{many}, {order}")
    pages = -(-len(found) // ON_A_PAGE)
    page = st.pagination(pages, key=f"found-{pages}") if pages > 1 else 1
    for place, hit in enumerate(found[(page - 1) * ON_A_PAGE : page * ON_A_PAGE]):
        draw_hit(run, meaning, place, hit)


def ask(run: RunView) -> Asked:
    """The words and filters; all of them stand in the URL."""
    text = st.text_input(
        "Search by meaning", key="q", bind="query-params", placeholder="what failed, what was tried, a criterion"
    )
    first, second, third = st.columns([3, 4, 3])
    kinds = first.segmented_control("Records", KINDS, selection_mode="multi", key="kind", bind="query-params")
    classes = second.segmented_control(
        "Failure class", SITUATIONS, selection_mode="multi", key="failure", bind="query-params", wrap=True
    )
    outcomes = third.segmented_control(
        "Outcome of edits", OUTCOMES, selection_mode="multi", key="came", bind="query-params", wrap=True
    )
    first, second = st.columns([4, 3])
    interfaces: list[Interface] = first.segmented_control(
        "Interface of edits",
        list(INTERFACES),
        format_func=INTERFACES.__getitem__,
        selection_mode="multi",
        key="through",
        bind="query-params",
        wrap=True,
    )
    task = second.selectbox("Task", run.visits.task_ids, index=None, placeholder="all", key="about", bind="query-params")
    return Asked(
        (text or "").strip(), tuple(kinds or ()), tuple(classes or ()), tuple(interfaces or ()), tuple(outcomes or ()), task
    )


def take(run: RunView, meaning: Meaning) -> None:
    """Take in what has come since; soon after a long run was opened its visits' numbers are waited for."""
    with st.spinner("Reading the numbers of the visits") if run.visits.unfilled > MANY else nullcontext():
        meaning.take(run)


def embed(run: RunView, meaning: Meaning) -> None:
    """Read the words of what is not read yet; the first time of a long run this shows how far it is."""
    bar = None
    with closing(meaning.embed(run)) as steps:
        for done, total in steps:
            if done == total:
                break
            words = f"Reading what the run remembers, once: {done:,} of {total:,}"
            bar = bar.progress(done / total, words) if bar else st.progress(done / total, words)
    if bar is not None:
        bar.empty()


def how(run: RunView, meaning: Meaning) -> str:
    """What the search goes by, and what it leaves out."""
    name = meaning.embedding.name
    own = f"as the run itself recalls ({name})"
    if not own_embedding(run, meaning.embedding):
        own = f"with the offline embedding {name}, not with the run's own ({run.setting('memory', 'embedding')})"
    left = f" {meaning.left_out:,} later records are not searched." if meaning.left_out else ""
    return f"Near in meaning {own}: by shared words and word forms, not by synonyms.{left}"


def nothing(asked: Asked, meaning: Meaning) -> str:
    """Why nothing was found."""
    if asked.kinds == ("visits",) and (asked.interfaces or asked.outcomes):
        return "Nothing: interface and outcome belong to edits, and only visits are asked for."
    if asked.text and meaning.find(replace(asked, text=""), 1):
        return "Nothing is near to these words; try words that the task, a criterion or a reason would use."
    return "No record matches the filters."


def draw_hit(run: RunView, meaning: Meaning, place: int, hit: Hit) -> None:
    """One line, and buttons that lead to its card, its task and its rollouts."""
    record = hit.record
    words = line(run, record, lambda situation: meaning.entry(run, situation))
    words = words if len(words) <= LONGEST_LINE else words[:LONGEST_LINE].rstrip() + " …"
    near = f" · near {hit.similarity:.2f}" if hit.similarity is not None else ""
    sign = OUTCOME_SIGNS[record.decision.outcome] if isinstance(record, Remembered) else "◦"
    with st.container(border=True, key=f"hit-{place}", horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"{escaped(sign)} {escaped(words)}{escaped(near)}")
        if isinstance(record, Situation):
            step = f"step {record.last_step}"
            _to(f"{place}-visit", f"The last visit, {step}", page="Rollouts", task=record.task_id, group=step)
            task_id = record.task_id
        else:
            _to(f"{place}-edit", "Open the card", page="Evolver", edit=record.decision.edit.id)
            task_id = record.decision.edit.task_id
        _to(f"{place}-task", "Open the task", page="Tasks", task=task_id)


def _to(key: str, words: str, **places: str) -> None:
    st.button(words, key=f"to-{key}", on_click=go, kwargs=places, type="tertiary")
