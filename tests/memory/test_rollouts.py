"""The rollout store: rollouts are found by reference, also while many ask and while a file is written anew."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from memory import rollouts
from memory.rollouts import KEPT, RolloutStore
from memory.task import Verdict
from memory.visit import Rollout


def written(store: RolloutStore, name: str, text: str, count: int = 3) -> list[str]:
    made = [Rollout(id=f"{name}/{k}", task_id="t", text=f"{text} {k}", tokens=1) for k in range(count)]
    store.write(name, made)
    return [r.id for r in made]


def forced_to_disk(monkeypatch) -> list[Path]:
    """The files that are forced to disk from now on, in their order."""
    files: list[Path] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (files.append(Path(os.readlink(f"/proc/self/fd/{fd}"))), real(fd)))
    return files


@pytest.fixture
def store(tmp_path):
    return RolloutStore(tmp_path / "rollouts")


def test_rollouts_come_in_the_order_asked_and_unknown_ones_are_left_out(store):
    one, two = written(store, "step-000001", "a"), written(store, "step-000002", "b")
    found = store.get([two[2], "step-000009/0", one[0], "step-000001/99"])
    assert [r.id for r in found] == [two[2], one[0]]


def test_a_file_written_anew_is_read_anew(store):
    ids = written(store, "step-000001", "old")
    other = written(store, "step-000002", "other")
    store.get([*ids, *other])
    written(store, "step-000001", "new")
    assert [r.text for r in store.get([ids[0], other[0]])] == ["new 0", "other 0"]


def test_a_file_that_many_ask_for_at_once_is_read_once(store, monkeypatch):
    ids = written(store, "step-000001", "a", 200)
    reads = []
    real = rollouts.read_lines
    monkeypatch.setattr(rollouts, "read_lines", lambda path: reads.append(path.name) or real(path))
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda k: store.get(ids[k : k + 8]), range(64)))
    assert all(len(rs) == 8 for rs in found)
    assert reads == ["step-000001.jsonl"]


def test_only_so_many_files_stay_in_memory(store):
    ids = [written(store, f"step-{k:06d}", "a", 1)[0] for k in range(KEPT + 5)]
    assert len(store.get(ids)) == KEPT + 5
    assert len(store._files) == KEPT


def test_what_was_written_lasts_from_the_next_sync_on(store, monkeypatch):
    forced = forced_to_disk(monkeypatch)
    for name in ("step-000001", "step-000002", "gone", "step-000001"):
        written(store, name, "a")
    assert forced == []
    (store.folder / "gone.jsonl").unlink()
    store.sync()
    assert forced == [store.folder / "step-000001.jsonl", store.folder / "step-000002.jsonl"]
    store.sync()
    assert len(forced) == 2


def test_what_is_kept_is_what_would_be_read(store, monkeypatch):
    made = [
        Rollout(
            id=f"step-000001/{k}",
            task_id="t",
            text="鶴 – \u2028 \x00",
            tokens=k,
            guidance="g" if k else None,
            verdicts=(Verdict(criterion_id="a", status="met", reason="r"), Verdict(criterion_id="b", status="unscored")),
            score=0.1 + 0.2 * k if k else None,
        )
        for k in range(3)
    ]
    ids = [r.id for r in made]
    store.write("step-000001", made, keep=True)
    assert RolloutStore(store.folder).get(ids) == made
    monkeypatch.setattr(rollouts, "read_lines", lambda path: pytest.fail("read again"))
    assert store.get(ids) == made
    for k in range(KEPT):
        store.write(f"later-{k:06d}", made, keep=True)
    assert len(store._files) == KEPT
