"""Search by meaning: everything on record is found, once, by its own words, whatever has been read in which pieces."""

from collections import Counter
from contextlib import closing

import numpy as np
import pytest

import ui.meaning
from memory.embedding import HashingEmbedding
from memory.journal import Journal
from tests.ui.synthetic import STEPS, TASKS
from ui.meaning import FAR, NO_PAIRS, Asked, Meaning, Situation, line, own_embedding, when
from ui.readers import Remembered, RunReader
from ui.words import CLASSES


def built(run, **settings) -> Meaning:
    meaning = Meaning(**settings)
    meaning.take(run)
    for _ in meaning.embed(run):
        pass
    return meaning


def situations(meaning: Meaning) -> list[Situation]:
    return [r for r in meaning.records if isinstance(r, Situation)]


def summary(meaning: Meaning) -> dict:
    return {(s.task_id, s.versions, s.pair_class): (s.visits, s.first_step, s.last_step, s.last) for s in situations(meaning)}


@pytest.fixture(scope="module")
def run(synthetic):
    return RunReader(synthetic.run.root).refresh()


def test_every_visit_belongs_to_the_one_situation_it_shows(synthetic, run):
    expected: Counter = Counter()
    for visit in synthetic.visits:
        versions = sum(v.version <= visit.harness_version for v in run.history.get(visit.task_id, ()))
        largest = max(CLASSES, key=lambda name: getattr(visit.shares, name)) if visit.shares.pairs else NO_PAIRS
        expected[visit.task_id, versions, largest] += 1
    meaning = built(run)
    assert {key: found[0] for key, found in summary(meaning).items()} == expected
    for s in situations(meaning):
        last = run.visits.one(s.last)
        assert (last.task_id, last.step) == (s.task_id, s.last_step)
        assert s.first_step <= s.last_step < STEPS
    assert [r.decision for r in meaning.records if isinstance(r, Remembered)] == synthetic.decisions


def test_a_run_read_in_pieces_is_found_as_one_read_at_once(copied, tmp_path):
    lines = (copied / "journal.jsonl").read_text().splitlines(keepends=True)
    other = tmp_path / "pieces"
    other.mkdir()
    (other / "tasks.jsonl").write_bytes((copied / "tasks.jsonl").read_bytes())
    reader, meaning = RunReader(other), Meaning()
    for start in range(0, len(lines), 17):
        with open(other / "journal.jsonl", "a") as file:
            file.writelines(lines[start : start + 17])
        meaning.take(reader.refresh())
        for _ in meaning.embed(reader.view):
            pass
    whole = built(RunReader(copied).refresh())
    assert summary(meaning) == summary(whole)
    assert len(meaning.records) == len(whole.records)


def test_what_was_embedded_is_not_embedded_again(run, monkeypatch):
    texts: list[str] = []

    class Counting(HashingEmbedding):
        def embed(self, asked):
            texts.extend(asked)
            return super().embed(asked)

    monkeypatch.setattr(ui.meaning, "BATCH", 10)
    meaning = Meaning(Counting())
    meaning.take(run)
    assert meaning.find(Asked(), 1000), "the newest are found before anything is embedded"
    assert texts == []
    with closing(meaning.embed(run)) as steps:
        assert next(steps)[0] == 10
    assert len(texts) == 10, "a page that is left in mid-work keeps what is done"
    told = list(meaning.embed(run))
    assert told[-1][0] == told[-1][1]
    assert len(texts) == len(meaning.records) == len(built(run).records)
    meaning.take(run)
    assert list(meaning.embed(run)) == []
    assert meaning.find(Asked("fever"), 3)
    assert len(texts) == len(meaning.records) + 1


@pytest.mark.parametrize("number", range(12))
def test_an_edit_is_nearest_to_its_own_words(run, number):
    meaning = built(run)
    edits = [r for r in meaning.records if isinstance(r, Remembered)]
    words = meaning.text(run, edits[number])
    assert meaning.find(Asked(words), 1)[0].record is edits[number]


@pytest.mark.parametrize(("words", "task_id"), [("tides moon", "tides-2"), ("thanks letter", "letter-3"), ("fevers", "fever-1")])
def test_words_and_their_forms_lead_to_the_task(run, words, task_id):
    hits = built(run).find(Asked(words), 5)
    found = {h.record.task_id if isinstance(h.record, Situation) else h.record.decision.edit.task_id for h in hits}
    assert found == {task_id}
    near = [h.similarity for h in hits]
    assert near == sorted(near, reverse=True)
    assert all(s is not None and s >= FAR for s in near)


def test_what_has_nothing_to_do_with_the_words_is_not_found(run):
    assert built(run).find(Asked("quantum chromodynamics"), 5) == []


@pytest.mark.parametrize("words", ["", "fever"])
def test_filters_leave_what_they_say(run, words):
    meaning = built(run)

    def find(**parts):
        return [h.record for h in meaning.find(Asked(words, **parts), 1000)]

    whole = find()
    edits = [r for r in whole if isinstance(r, Remembered)]
    assert find(kinds=("edits",)) == edits
    assert find(kinds=("visits",)) == [r for r in whole if isinstance(r, Situation)]
    assert find(outcomes=("accepted",)) == [r for r in edits if r.decision.outcome == "accepted"] != []
    assert find(interfaces=("c", "g")) == [r for r in edits if r.decision.edit.interface in "cg"] != []
    assert find(kinds=("visits",), outcomes=("accepted",)) == []
    for r in find(classes=("blind",), task="fever-1"):
        assert (r.task_id, r.pair_class) == ("fever-1", "blind")
    assert find(task="fever-1")


def test_without_words_the_newest_come_first(run):
    hits = built(run).find(Asked(), 1000)
    steps = [when(h.record) for h in hits]
    assert steps == sorted(steps, reverse=True)
    assert {h.similarity for h in hits} == {None}


def test_more_records_than_there_is_room_for_are_counted(run, monkeypatch):
    everything = len(built(run).records)
    monkeypatch.setattr(ui.meaning, "MOST", 15)
    meaning = built(run)
    assert (len(meaning.records), meaning.left_out) == (15, everything - 15)
    assert len(meaning.find(Asked(), 100)) == 15


def test_records_are_said_in_plain_words(run):
    meaning = built(run)
    one, many = (next(s for s in situations(meaning) if (s.visits == 1) == single) for single in (True, False))
    assert line(run, one, lambda s: meaning.entry(run, s)).startswith(f"1 visit of {one.task_id}, step {one.last_step}: mostly")
    words = line(run, many, lambda s: meaning.entry(run, s))
    assert words.startswith(f"{many.visits} visits of {many.task_id}, steps {many.first_step} to {many.last_step}: mostly")
    assert "Asked: Tell me about" in words
    edit = next(r for r in meaning.records if isinstance(r, Remembered) and r.decision.edit.id == "r1-fever-1-1")
    assert line(run, edit, lambda s: None) == (
        "edit of fever-1 at step 4, reword criterion against spurious: Accepted: the share changed by +0.30 (97.5% interval) on 16 "
        "fresh rollouts. Hindsight +0.12 of +0.30."
    )


def test_visits_without_pairs_and_tasks_without_their_file_are_searched_too(copied, synthetic):
    (copied / "tasks.jsonl").unlink()
    silent = synthetic.visits[0]
    shares = silent.shares.model_copy(update={"blind": 0.0, "saturated": 0.0, "spurious": 0.0, "agree": 0.0, "pairs": 0})
    journal = Journal(copied / "journal.jsonl")
    journal.append(STEPS, silent.model_copy(update={"id": "mute", "step": STEPS, "shares": shares, "task_id": "mute-1"}))
    journal.close()
    run = RunReader(copied).refresh()
    meaning = built(run)
    (mute,) = (s for s in situations(meaning) if s.task_id == "mute-1")
    assert mute.pair_class == NO_PAIRS
    assert "Asked" not in line(run, mute, lambda s: meaning.entry(run, s))
    assert [h.record for h in meaning.find(Asked("mute compared"), 1)] == [mute]


def test_the_runs_own_embedding_is_known(run):
    meaning = Meaning()
    assert own_embedding(run, meaning.embedding)
    run.config["memory"] = {"embedding": "hashing-384"}
    assert own_embedding(run, meaning.embedding)
    run.config["memory"] = {"embedding": "another"}
    assert not own_embedding(run, meaning.embedding)
    run.config.pop("memory")


def test_vectors_stay_with_their_records_while_room_grows(run, monkeypatch):
    monkeypatch.setattr(ui.meaning, "BATCH", 3)
    meaning = built(run)
    expected = meaning.embedding.embed([meaning.text(run, r) for r in meaning.records])
    assert np.allclose(meaning._vectors[: len(meaning.records)], expected)
    assert set(TASKS) == {s.task_id for s in situations(meaning)}
