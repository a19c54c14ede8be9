"""The index is derived, never the truth: it is rebuilt where it cannot be trusted, and whatever breaks it stops nothing."""

import shutil
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from memory.embedding import HashingEmbedding
from memory.index import RETRY_AFTER, ChromaSettings, Document, MemoryIndex
from memory.journal import read_journal
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import criterion, decision, field_edit, task, visit

TEXTS = {
    "a": "medical blind warns of grapefruit juice",
    "b": "writing saturated uses plain words",
    "c": "science names the poles",
}
DOCUMENTS = [Document(kind="decision", id=i, text=text) for i, text in TEXTS.items()]
TASKS = {i: task(i, criterion("alpha")) for i in ("t", "other")}


def opened(folder, embedding=None, documents=DOCUMENTS, **settings) -> MemoryIndex:
    index = MemoryIndex(folder / "index", embedding or HashingEmbedding(), **settings)
    index.open(lambda: documents)
    return index


def nearest(index: MemoryIndex, text: str) -> list[str]:
    return [m.id for m in index.search("decision", [text], 1)[0]]


def test_several_questions_are_answered_in_their_order(tmp_path):
    index = opened(tmp_path)
    found = index.search("decision", [TEXTS["c"], TEXTS["a"]], 2)
    assert [matches[0].id for matches in found] == ["c", "a"]
    assert all(matches[0].similarity == pytest.approx(1.0, abs=1e-5) for matches in found)
    assert index.search("task", ["anything"], 3) == [[]]
    index.close()


def test_progress_is_told_up_to_the_end(tmp_path):
    told = []
    opened(tmp_path, progress=lambda done, total: told.append((done, total))).close()
    assert told[-1] == (3, 3)


class Renamed(HashingEmbedding):
    name = "another"


class Wider(HashingEmbedding):
    def embed(self, texts):
        return np.hstack([super().embed(texts), np.zeros((len(texts), 8), dtype=np.float32)])


@pytest.mark.parametrize("other", [Renamed(), Wider()])
def test_another_embedding_is_noticed_and_the_index_rebuilt(tmp_path, other):
    opened(tmp_path).close()
    built = []
    index = opened(tmp_path, other, progress=lambda done, total: built.append(done))
    assert built == [3]
    assert nearest(index, TEXTS["b"]) == ["b"]
    index.close()


class Failing(HashingEmbedding):
    def __init__(self):
        self.fails = True

    def embed(self, texts):
        if self.fails:
            raise ConnectionError("no embedding today")
        return super().embed(texts)


def test_a_failing_embedding_is_said_once_and_tried_again(tmp_path):
    said, embedding = [], Failing()
    index = opened(tmp_path, embedding, say=said.append)
    assert nearest(index, "anything") == []
    index.add(DOCUMENTS)
    assert len(said) == 1
    assert "no embedding today" in said[0]
    embedding.fails = False
    index.add([DOCUMENTS[0]] * RETRY_AFTER)
    assert nearest(index, TEXTS["b"]) == ["b"]
    index.close()
    assert not index.marker.exists()


def test_a_broken_index_stays_marked_and_is_rebuilt_at_the_next_start(tmp_path):
    index = opened(tmp_path, Failing(), say=lambda text: None)
    index.close()
    assert index.marker.exists()
    again = opened(tmp_path)
    assert nearest(again, TEXTS["a"]) == ["a"]
    again.close()


def remember(run: RunDir, **settings) -> Memory:
    memory = Memory(run, TASKS, HashingEmbedding(), **settings)
    return memory


def recorded(memory: Memory, step: int, number: int) -> None:
    memory.record(
        step, visit(TASKS["t"], ["alpha", "nothing"], step=step)[0], visit(TASKS["other"], ["alpha", "no"], step=step)[0]
    )
    memory.record(step, decision(field_edit("other", edit_id=f"e{number}"), step=step))


@pytest.fixture
def run(tmp_path):
    directory = RunDir(tmp_path / "run")
    lock = directory.claim()
    yield directory
    lock.release()


def test_files_destroyed_while_the_run_was_off_cost_nothing_but_a_rebuild(run):
    memory = remember(run)
    recorded(memory, 0, 1)
    memory.close()
    (run.index / "chroma.sqlite3").write_bytes(b"not a database" * 500)
    said = []
    again = remember(run, say=said.append)
    recorded(again, 1, 2)
    again.close()
    last = remember(run, say=said.append)
    assert [n.decision.edit.id for n in last.recall("t", ("cross_task",), 4, 4).neighbours] in (["e1", "e2"], ["e2", "e1"])
    assert sum(e.kind == "decision" for e in read_journal(run.journal)) == 2
    last.close()


def test_files_destroyed_in_mid_run_stop_no_record(run):
    said = []
    memory = remember(run, say=said.append)
    recorded(memory, 0, 1)
    shutil.rmtree(run.index)
    run.index.write_text("a file in its place")
    for step in range(1, 4):
        recorded(memory, step, step + 1)
        memory.recall("t", ("cross_task",), 4, 4)
    memory.close()
    assert len(said) <= 1
    assert sum(e.kind == "decision" for e in read_journal(run.journal)) == 4


@contextmanager
def chroma_server(folder: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--path",
        str(folder),
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
    ]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield server, ChromaSettings(host="127.0.0.1", port=port)
    finally:
        server.kill()
        server.wait()


def test_a_server_is_used_the_same_way_and_its_end_stops_nothing(tmp_path):
    said = []
    with chroma_server(tmp_path / "server") as (server, chroma):
        runs = [RunDir(tmp_path / name) for name in ("one", "two")]
        locks = [r.claim() for r in runs]
        first, second = (remember(r, chroma=chroma, say=said.append) for r in runs)
        recorded(first, 0, 1)
        assert second.index.count() == 0, "two runs on one server do not see each other"
        first.close()
        again = remember(runs[0], chroma=chroma, say=said.append)
        assert [n.decision.edit.id for n in again.recall("t", ("cross_task",), 4, 4).neighbours] == ["e1"]
        assert not (runs[0].index / "chroma.sqlite3").exists()
        assert said == []
        server.kill()
        server.wait()
        recorded(again, 1, 2)
        assert again.recall("t", ("cross_task",), 4, 4).neighbours == ()
        assert len(said) == 1
        assert "training goes on" in said[0]
        again.close()
        second.close()
    for lock in locks:
        lock.release()


def test_a_server_that_is_not_there_is_said_and_nothing_stops(run):
    said = []
    memory = remember(run, chroma=ChromaSettings(host="127.0.0.1", port=1), say=said.append)
    recorded(memory, 0, 1)
    assert len(said) == 1
    memory.close()
