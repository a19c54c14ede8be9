"""The copy of a run that the console needs, and the demo run that ships as one."""

import re

import pytest

from ui.console import DEMO
from ui.evolver import OUTCOMES
from ui.excerpt import main, referred
from ui.readers import MISSING, RunReader
from ui.words import INTERFACES

LARGEST = 1_100_000
"""Bytes of the demo run."""


def view(path):
    return RunReader(path).refresh()


def test_an_excerpt_shows_what_the_run_shows(copied, tmp_path):
    (copied / "policy").mkdir()
    (copied / "policy" / "weights").write_text("large")
    (copied / "rollouts" / "round-0001-0-probes.jsonl").write_text('{"id": "round-0001-0-probes/0"}\n')
    out = tmp_path / "excerpt"
    assert main([str(copied), "--out", str(out)]) == 0
    old, new = view(copied), view(out)
    assert new.troubles == {}
    assert {p.name for p in out.iterdir()} == {*MISSING, "defaults.yaml", "usage.json", "rollouts"}
    assert (old.decisions, old.visits.steps.tolist()) == (new.decisions, new.visits.steps.tolist())
    ids = [i for ids in referred(old).values() for i in ids]
    assert new.rollouts(ids) == old.rollouts(ids)
    assert len(new.rollouts(ids)) == len(ids) > 0
    assert not (out / "rollouts" / "round-0001-0-probes.jsonl").exists()


@pytest.mark.parametrize(("run", "out"), [("nowhere", "new"), ("copy", "copy"), ("copy", "copy/journal.jsonl/new")])
def test_mistakes_get_one_sentence(copied, capsys, run, out):
    assert main([str(copied.parent / run), "--out", str(copied.parent / out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_demo_run_is_finished_whole_and_shows_every_kind_of_edit():
    run = view(DEMO)
    assert run.troubles == {}
    assert run.heartbeat is not None
    assert run.heartbeat.phase == "finished"
    assert {d.decision.outcome for d in run.decisions} == set(OUTCOMES)
    assert {d.decision.edit.interface for d in run.accepted} == set(INTERFACES)
    assert run.hindsight
    assert run.alerts
    ids = [i for ids in referred(run).values() for i in ids]
    assert len(run.rollouts(ids)) == len(ids)
    assert any(r.guidance is not None for r in run.rollouts(ids))


def test_the_demo_run_is_small_and_speaks_of_no_machine():
    files = [p for p in DEMO.rglob("*") if p.is_file()]
    assert sum(p.stat().st_size for p in files) < LARGEST
    for path in files:
        assert not re.search(r'[\s"](/\w+/|[A-Z]:\\)', path.read_text(encoding="utf-8")), path.name
