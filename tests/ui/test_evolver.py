"""The page Evolver without edits says why, and when the first ones come."""

from pathlib import Path

import pytest

from memory.journal import RoundRecord
from ui.evolver import no_edits
from ui.index import Visits
from ui.readers import RunView

ROUND = RoundRecord(round=1, task_ids=("task-1",), failures={"the model does not answer": 2})


def view(evolver: dict, rounds: dict | None = None, metrics: list | None = None) -> RunView:
    path = Path("nowhere")
    config = {"evolver": evolver, "train": {"steps": 32}}
    return RunView(path, Visits(path / "journal.jsonl"), config=config, rounds=rounds or {}, metrics=metrics or [])


@pytest.mark.parametrize(
    ("run", "words"),
    [
        (view({"every": 5}), "No edits yet: the first round comes at step 5."),
        (view({"every": 40}), "not before the last step, so this run will have none"),
        (view({"every": 5, "enabled": False}), "switched off in this run"),
        (view({"every": 5, "cold_start": True}), "before the first step, on the calibration tasks"),
        (view({"every": 5, "cold_start": True}, metrics=[{"step": 1}]), "No edits yet: the first round comes at step 5."),
        (
            view({"every": 5}, rounds={1: ROUND}),
            "1 round looked at tasks and proposed nothing. Failures: 2 × the model does not answer",
        ),
        (view({}), "config.yaml does not tell"),
    ],
)
def test_without_edits_the_page_says_why_and_when(run, words):
    assert words in no_edits(run)
