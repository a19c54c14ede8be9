"""Faults that users of graph-based agents report: here they cannot happen, or a test would see them."""

import sqlite3
import warnings

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from memory.rundir import RunDir
from tests.agents.test_evolver import CONTEXT, Stubborn, evolver, memory

__all__ = ["memory"]  # a fixture


@pytest.mark.parametrize("revisions", [0, 3, 6])
def test_the_bound_on_steps_is_passed_and_fits_the_longest_round(memory, monkeypatch, revisions):
    """LangGraph's own default is 10,007 steps: a round that ran away would spend them."""
    built = evolver(memory, Stubborn(), revisions=revisions)
    seen = []
    original = built.graph.invoke

    def invoke(start, config, **more):
        seen.append(config["recursion_limit"])
        return original(start, config, **more)

    monkeypatch.setattr(built.graph, "invoke", invoke)
    built.run(CONTEXT, ["blind"], "t")
    assert seen == [10 + 5 * (revisions + 1)]


def test_there_is_one_flat_graph(memory):
    assert list(evolver(memory).graph.get_subgraphs()) == []


def test_checkpoints_are_of_plain_types_without_a_warning_and_are_dropped_with_the_round(memory, tmp_path, monkeypatch):
    monkeypatch.setenv("LANGGRAPH_STRICT_MSGPACK", "true")
    connection = sqlite3.connect(tmp_path / "rounds.sqlite", check_same_thread=False)
    built = evolver(memory, checkpointer=SqliteSaver(connection))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        built.run(CONTEXT, ["blind", "easy", "noisy"], "one")
        assert built.graph.get_state({"configurable": {"thread_id": "one"}}).values["cases"]
    assert connection.execute("select count(*) from checkpoints").fetchone()[0] > 0
    built.forget("one")
    for table in ("checkpoints", "writes"):
        assert connection.execute(f"select count(*) from {table}").fetchone()[0] == 0


def test_every_run_has_a_file_of_rounds_of_its_own(tmp_path):
    assert RunDir(tmp_path / "a").rounds != RunDir(tmp_path / "b").rounds


def test_what_was_refused_in_one_round_is_remembered_in_the_next(memory):
    first = evolver(memory, Stubborn(same=True), revisions=0).run(CONTEXT, ["blind"], "t")
    memory.record(10, *first.decisions)
    later = CONTEXT.model_copy(update={"round": 2, "step": 12})
    again = evolver(memory, Stubborn(same=True), revisions=0, window=4).run(later, ["blind"], "u")
    (decision,) = again.cases[0].decisions
    assert decision.measurement is None
    assert "near-duplicate" in decision.sentence
