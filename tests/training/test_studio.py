"""LangGraph Studio opens the evolver's graph over a copy of a run."""

import importlib
import json
from pathlib import Path

import pytest
from transformers.integrations.deepspeed import unset_hf_deepspeed_config

from agents.case import start
from agents.context import RoundContext
from memory.embedding import HashingEmbedding
from memory.errors import RunDirError
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import visit
from training.config import parse_config
from training.lab import TRAIN_FILE
from training.studio import VARIABLE
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def run(tmp_path):
    """A run directory as a killed run leaves it: config, tasks, one visit, no policy yet."""
    directory = RunDir(tmp_path / "run")
    directory.root.mkdir()
    directory.config.write_text(json.dumps(parse_config({}).model_dump(mode="json")), encoding="utf-8")
    tasks = load_tasks([TaskSource(path=str(TRAIN_FILE))], "tasks.train", "stop").tasks[:1]
    directory.tasks.write_text("".join(t.model_dump_json() + "\n" for t in tasks), encoding="utf-8")
    memory = Memory(directory, {t.id: t for t in tasks}, HashingEmbedding())
    seen, rollouts = visit(tasks[0], ["Nothing."] * 4)
    memory.rollouts.write("step-000000", rollouts)
    memory.record(0, seen)
    memory.close()
    return directory, tasks[0].id


def graph_function():
    file, name = json.loads((ROOT / "langgraph.json").read_text())["graphs"]["harness_evolver"].split(":")
    return getattr(importlib.import_module(file.removeprefix("./").removesuffix(".py").replace("/", ".")), name)


def test_a_round_runs_in_the_graph_and_leaves_the_run_as_it_was(run, monkeypatch):
    # A ZeRO-3 run earlier in this process would have the policy loaded in parts, as no process that opens Studio does.
    unset_hf_deepspeed_config()
    directory, task_id = run
    before = {p: p.read_bytes() for p in directory.root.rglob("*") if p.is_file() and "index" not in str(p)}
    monkeypatch.setenv(VARIABLE, str(directory.root))
    context = RoundContext(round=1, step=1, steps=10, guidance_ceiling=2, levels=(0.5, 1.0, 2.0))
    state = graph_function()().invoke(start(context, [task_id]))
    assert state["cases"][task_id]["decisions"]
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.parametrize("value", [None, "nowhere"])
def test_without_a_run_there_is_a_sentence(monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(RunDirError, match="HARNESSRL_RUN"):
        graph_function()()
