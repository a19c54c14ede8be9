"""Journal, rollouts, index and recall: nothing is lost, and a memory opened again is the same memory."""

import json
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Event

import pytest

from memory.decision import Hindsight
from memory.embedding import HashingEmbedding
from memory.errors import JournalError, RunDirError
from memory.journal import HarnessRecord, Journal, RunRecord, read_journal, rewind
from memory.memory import Memory
from memory.rollouts import RolloutStore
from memory.rundir import RunDir
from tests.builders import criterion, decision, field_edit, rollouts, task, visit
from tests.memory.test_rollouts import forced_to_disk

TASKS = {
    t.id: t
    for t in (task("t"), task("u", criterion("alpha"), criterion("gamma")), task("far", criterion("zeppelin"), domain="art"))
}


@pytest.fixture
def run(tmp_path):
    directory = RunDir(tmp_path / "run")
    lock = directory.claim()
    yield directory
    lock.release()


def opened(run: RunDir, rebuild: bool = False) -> Memory:
    return Memory(run, TASKS, HashingEmbedding(), rebuild)


def fill(memory: Memory) -> None:
    memory.record(0, RunRecord(seed=1))
    for step in range(3):
        memory.record(
            step, visit(TASKS["t"], ["alpha", "nothing"], [1, 0], step)[0], visit(TASKS["u"], ["alpha", "x"], step=step)[0]
        )
    memory.record(3, decision(field_edit("u", edit_id="near")), decision(field_edit("far", edit_id="far")))
    entry = memory.harness.of(TASKS["t"]).model_copy(update={"level": 0.5})
    memory.record(3, HarnessRecord(version=1, edit_ids=("near",), entries={"t": entry}))


def state(memory: Memory):
    return memory.visits, memory.decisions, memory.harness, memory.hindsight, memory.history


def test_a_memory_opened_again_is_the_same_memory(run):
    memory = opened(run)
    fill(memory)
    before, recalled = state(memory), memory.recall("t", ("last", "window", "cross_task"), 2, 4)
    memory.close()
    again = opened(run)
    assert state(again) == before
    assert again.recall("t", ("last", "window", "cross_task"), 2, 4) == recalled
    again.close()


def test_recall_scopes(run):
    memory = opened(run)
    fill(memory)
    assert [v.step for v in memory.recall("t", ("last",), 4, 4).visits] == [2]
    window = memory.recall("t", ("window",), 2, 4)
    assert [v.step for v in window.visits] == [1, 2]
    assert window.neighbours == ()
    near = memory.recall("t", ("cross_task",), 2, 4).neighbours
    assert [n.decision.edit.id for n in near] == ["near", "far"], "nearest by meaning first"
    assert near[0].similarity > near[1].similarity
    assert all(n.decision.edit.task_id != "t" for n in near)
    memory.close()


def test_hindsight_lifts_what_worked(run):
    memory = opened(run)
    memory.record(0, visit(TASKS["t"], ["alpha", "x"])[0])
    memory.record(1, decision(field_edit("u", edit_id="one")), decision(field_edit("u", edit_id="two")))
    before = [n.decision.edit.id for n in memory.recall("t", ("cross_task",), 1, 2).neighbours]
    worse, better = before
    memory.record(2, Hindsight(edit_id=better, visit_id="v", pair_class="blind", claimed=0.3, observed=0.5))
    assert [n.decision.edit.id for n in memory.recall("t", ("cross_task",), 1, 2).neighbours] == [better, worse]
    memory.close()


def test_an_unclean_end_rebuilds_the_index(run):
    memory = opened(run)
    fill(memory)
    memory.nearest_tasks(["t"], 1)
    count = memory.index.count()
    memory.index.add([])  # the process dies here: no close, the marker stays
    memory.index._client.close()
    assert memory.index.marker.exists()
    (run.index / "chroma.sqlite3").write_bytes(b"broken by the crash")
    again = opened(run)
    assert again.index.count() == count
    assert again.recall("t", ("cross_task",), 1, 4).neighbours
    again.close()
    assert not again.index.marker.exists()


def test_the_index_is_written_when_it_is_asked_and_only_with_what_is_new(run, monkeypatch):
    memory = opened(run)
    written, came = [], Event()
    add = memory.index.add
    monkeypatch.setattr(memory.index, "add", lambda documents: (add(documents), written.append(len(documents)), came.set()))
    memory.record(0, visit(TASKS["t"], ["alpha", "x"])[0])
    memory.record(0, decision(field_edit("u", edit_id="one")))
    assert written == []
    assert [n.decision.edit.id for n in memory.recall("t", ("cross_task",), 1, 4).neighbours] == ["one"]
    assert written == [2]
    memory.record(1, visit(TASKS["t"], ["alpha", "x"], step=1)[0])
    memory.recall("t", ("cross_task",), 1, 4)
    assert written == [2]
    monkeypatch.setattr("memory.memory.INDEX_EVERY", 1)
    came.clear()
    memory.record(1, decision(field_edit("u", edit_id="two")))
    assert came.wait(10)
    assert written == [2, 1]
    memory.close()


def test_what_is_indexed_ahead_keeps_nobody_waiting_but_who_asks(run, monkeypatch):
    memory = opened(run)
    fill(memory)
    begun, go = Event(), Event()
    add = memory.index.add
    monkeypatch.setattr(memory.index, "add", lambda documents: (begun.set(), go.wait(10), add(documents)))
    memory.index_ahead()
    assert begun.wait(10)
    memory.record(3, decision(field_edit("u", edit_id="later")))
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(memory.recall, "t", ("cross_task",), 1, 4)
        assert not wait([asked], timeout=0.1).done
        go.set()
        assert {n.decision.edit.id for n in asked.result(10).neighbours} == {"near", "far", "later"}
    memory.close()


def test_rollouts_are_on_disk_before_the_journal_that_names_them(run, monkeypatch):
    memory = opened(run)
    memory.rollouts.write("step-000000", rollouts(TASKS["t"], ["alpha"]))
    fill(memory)
    forced = forced_to_disk(monkeypatch)
    assert memory.sync() == run.journal.stat().st_size
    assert forced == [run.rollouts / "step-000000.jsonl", run.journal]
    memory.close()


def test_an_empty_memory_finds_nothing(run):
    memory = opened(run)
    assert memory.index.search("decision", ["anything"], 5) == [[]]
    memory.close()


def test_a_partial_last_line_is_not_read_and_a_broken_one_is_named(tmp_path):
    path = tmp_path / "journal.jsonl"
    journal = Journal(path)
    journal.append(0, RunRecord(seed=1))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"seq": 1, "st')
    assert len(list(read_journal(path))) == 1
    path.write_bytes(whole + b"not json\n")
    with pytest.raises(JournalError, match="line 2"):
        list(read_journal(path))


def test_another_schema_is_refused_with_a_sentence(tmp_path):
    path = tmp_path / "journal.jsonl"
    line = {"seq": 0, "step": 0, "kind": "run", "time": 0, "record": {"schema_version": 99, "seed": 0}}
    path.write_text(json.dumps(line) + "\n")
    with pytest.raises(JournalError, match="schema 99"):
        list(read_journal(path))


def test_rewinding_keeps_the_tail_aside(tmp_path):
    path, discarded = tmp_path / "journal.jsonl", tmp_path / "discarded"
    path.write_bytes(b"kept\nlost\n")
    rewind(path, 5, discarded)
    assert path.read_bytes() == b"kept\n"
    assert (discarded / "journal.jsonl").read_bytes() == b"lost\n"
    with pytest.raises(JournalError, match="shortened"):
        rewind(path, 50, discarded)


def test_rollouts_are_found_by_id_and_writing_twice_does_not_double_them(tmp_path):
    store = RolloutStore(tmp_path)
    made = rollouts(TASKS["t"], ["alpha", "βeta 中文"], "step-000003")
    store.write("step-000003", made)
    store.write("step-000003", made)
    assert store.get(["step-000003/1", "step-000003/0", "nowhere/0"]) == [made[1], made[0]]


def test_a_run_directory_has_one_owner(run):
    other = RunDir(run.root)
    with pytest.raises(RunDirError, match="in use"):
        other.claim()


def test_an_unwritable_run_directory_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirError, match="cannot write"):
        RunDir(tmp_path / "file" / "run").claim()


def test_the_embedding_is_stable_and_near_for_shared_words():
    one, two, three, empty = HashingEmbedding().embed(["warns about the dose", "warns of a dose", "violin concerto", ""])
    assert float(one @ two) > float(one @ three) + 0.2
    assert float(one @ one) == pytest.approx(1.0, abs=1e-5)
    assert not empty.any()
