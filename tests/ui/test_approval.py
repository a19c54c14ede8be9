"""Answering an edit that waits: the answer is one line in the inbox, and nothing else of the run is written."""

import json
import time

import pytest

from memory.approval import Answer, Waiting, append_answer, digest, read_inbox, write_waiting
from memory.decision import Approval, Attribution
from memory.journal import Journal, RoundRecord
from memory.rundir import RunDir
from tests.ui.conftest import checked
from tests.ui.synthetic import STEPS, TRICKY
from tests.ui.test_console import cards, said, text_of
from ui.export import main as export
from ui.readers import RunReader

PAGE = {"page": "Evolver", "run": "copy"}


@pytest.fixture
def held(copied, synthetic):
    """A run that waits: two accepted edits of a seventh round, and one that the critic did not accept."""
    known = {d.edit.id: d for d in synthetic.decisions}
    chosen = [known[i] for i in ("r1-fever-1-1", "r2-letter-3-2", "r2-letter-3-1")]
    decisions = tuple(
        d.model_copy(update={"round": 7, "step": STEPS, "edit": d.edit.model_copy(update={"id": f"r7-{d.edit.task_id}-{k}"})})
        for k, d in enumerate(chosen)
    )
    reason = Attribution(task_id="fever-1", pair_class="spurious", interface="c", reason=f"it rambles {TRICKY}", author="rules")
    waiting = Waiting(
        step=STEPS,
        thread="round-7-abc",
        until=time.time() + 600,
        default="reject",
        decisions=decisions,
        held={d.edit.id: digest(d) for d in decisions if d.outcome == "accepted"},
        round=RoundRecord(round=7, task_ids=("fever-1", "letter-3"), attributions=(reason,), rollouts=48),
    )
    write_waiting(copied / "waiting.json", waiting)
    beat(copied, "approval")
    return copied, waiting


def beat(path, phase: str, age: float = 1.0) -> None:
    state = {"phase": phase, "step": STEPS, "steps": STEPS, "time": time.time() - age, "reason": "2 edits wait"}
    (path / "heartbeat.json").write_text(json.dumps(state))


def files(path) -> dict:
    return {p: (p.stat().st_mtime_ns, p.stat().st_size) for p in sorted(path.rglob("*")) if p.name != "inbox.jsonl"}


def test_what_waits_stands_on_top_with_its_whole_case(held, open_page):
    path, _ = held
    app = open_page(path.parent, **PAGE)
    assert app.subheader[0].value == "2 accepted edits wait for a person"
    assert "Training stands still for 10 min more" in said(app)
    assert "is rejected by default" in said(app)
    first = text_of(cards(app)[0])
    assert "reword criterion on fever-1" in first
    assert "it rambles # not a heading" in first, "the round is not on record yet, its reasons are shown"
    assert "The whole round: 48 rollouts" in first
    assert {b.key for b in app.button if str(b.key).startswith("approve")} == {"approve-r7-fever-1-0", "approve-r7-letter-3-1"}


def test_an_exported_file_shows_what_waits(held, tmp_path):
    path, waiting = held
    out = tmp_path / "cards.html"
    assert export([str(path), "--out", str(out)]) == 0
    text = out.read_text()
    assert "2 accepted edits wait for a person" in text
    assert all(f'id="{edit_id}"' in text for edit_id in waiting.held)


@pytest.mark.parametrize(("word", "shown"), [("approve", "Approved by a person"), ("reject", "Rejected by a person")])
def test_an_answer_is_one_line_for_that_edit_as_it_was_shown(held, open_page, word, shown):
    path, waiting = held
    app = open_page(path.parent, **PAGE)
    before = files(path)
    app.text_area[0].set_value("looks *fine*")
    checked(app.button(key=f"{word}-r7-fever-1-0").click().run())
    (answer,), faults = read_inbox(path / "inbox.jsonl")
    assert faults == []
    assert (answer.edit_id, answer.answer, answer.note) == ("r7-fever-1-0", word, "looks *fine*")
    assert answer.digest == waiting.held["r7-fever-1-0"]
    assert any(shown in i.value and "looks \\*fine\\*" in i.value and "first answer stands" in i.value for i in app.info)
    assert not [b for b in app.button if b.key == "approve-r7-fever-1-0"], "it is not asked for twice"
    assert [b for b in app.button if b.key == "approve-r7-letter-3-1"], "the other one still is"
    assert files(path) == before, "nothing but the inbox is written"


def test_a_note_alone_leaves_the_question_open(held, open_page):
    path, _ = held
    app = open_page(path.parent, **PAGE)
    checked(app.button(key="note-r7-fever-1-0").click().run())
    assert "A note needs words" in app.error[0].value
    assert not (path / "inbox.jsonl").exists()
    app.text_area[0].set_value("why so long?")
    checked(app.button(key="note-r7-fever-1-0").click().run())
    assert [(a.answer, a.note) for a in read_inbox(path / "inbox.jsonl")[0]] == [("note", "why so long?")]
    assert "Note: why so long?" in said(app)
    assert [b for b in app.button if b.key == "approve-r7-fever-1-0"]
    assert app.text_area[0].value == ""


@pytest.mark.parametrize(("phase", "age"), [("stopped", 1), ("approval", 600), ("judge", 1)])
def test_a_run_that_does_not_listen_now_is_said(held, open_page, phase, age):
    path, _ = held
    beat(path, phase, age)
    app = open_page(path.parent, **PAGE)
    assert "The run is not waiting right now" in said(app)
    assert [b for b in app.button if b.key == "approve-r7-fever-1-0"]


def test_an_answer_that_cannot_be_written_is_said(held, open_page):
    path, _ = held
    (path / "inbox.jsonl").mkdir()
    app = open_page(path.parent, **PAGE)
    checked(app.button(key="approve-r7-fever-1-0").click().run())
    assert "the answer cannot be written" in app.error[0].value.replace("\\", "")


def test_what_is_on_record_does_not_wait_and_shows_who_decided(held, open_page):
    path, waiting = held
    journal = Journal(path / "journal.jsonl")
    by = {"r7-fever-1-0": "person", "r7-letter-3-1": "default"}
    for d in waiting.decisions:
        if d.edit.id in by:
            said_no = Approval(granted=False, by=by[d.edit.id], notes=("no",))
            journal.append(STEPS, d.model_copy(update={"outcome": "rejected", "approval": said_no}))
    journal.close()
    append_answer(RunDir(path).inbox, Answer(edit_id="r7-fever-1-0", digest="x", answer="note", note="a later thought"))
    app = open_page(path.parent, **PAGE)
    assert not app.subheader
    words = {i: text_of(next(c for c in cards(app) if f'id="{i}"' in c)) for i in by}
    assert "rejected by a person" in words["r7-fever-1-0"]
    assert "Note: a later thought" in words["r7-fever-1-0"]
    assert "rejected by default, without an answer" in words["r7-letter-3-1"]


def test_the_first_edits_of_a_run_can_wait(held, open_page, tmp_path):
    path, _ = held
    fresh = tmp_path / "runs" / "fresh"
    fresh.mkdir()
    (fresh / "waiting.json").write_bytes((path / "waiting.json").read_bytes())
    beat(fresh, "approval")
    app = open_page(fresh.parent, page="Evolver", run="fresh")
    assert len(cards(app)) == 2
    assert "No edits on record yet: the round that waits is the first." in said(app)


def test_a_damaged_file_costs_a_sentence(held, open_page):
    path, _ = held
    (path / "waiting.json").write_text('{"half')
    (path / "inbox.jsonl").write_text("{nonsense\n")
    view = RunReader(path).refresh()
    assert (view.waiting, view.answers) == (None, [])
    app = open_page(path.parent, **PAGE)
    assert any("waiting\\.json" in w.value for w in app.warning)
    (path / "waiting.json").unlink()
    assert "waiting.json" not in RunReader(path).refresh().troubles
