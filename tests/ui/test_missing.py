"""Runs that were killed while they wrote, or written by another version: every page says so in a sentence or goes on without."""

import json

import pytest

from memory.journal import SCHEMA
from tests.ui.conftest import checked
from ui.console import PAGES
from ui.readers import MISSING

PLACES = {"run": "copy", "task": "fever-1"}


def warned(app) -> str:
    return "\n".join(str(w.value).replace("\\", "") for w in app.warning)


def test_a_run_killed_in_the_middle_of_every_line_is_shown_to_its_last_whole_one(copied, open_page):
    """No page warns, since the next line may be on its way; a rollout that was cut off is counted as missing."""
    for path in (*copied.glob("*.jsonl"), *copied.glob("rollouts/*.jsonl")):
        whole = path.read_bytes()
        path.write_bytes(whole + whole.splitlines()[-1][:-9])
    for page in PAGES:
        app = open_page(copied.parent, page=page, **PLACES)
        assert "jsonl" not in warned(app)
    lost = copied / "rollouts" / "step-000000.jsonl"
    lost.write_bytes(lost.read_bytes()[: -len(lost.read_bytes().splitlines()[-1]) - 9])
    task = json.loads(lost.read_bytes().splitlines()[-2])["task_id"]
    app = open_page(copied.parent, page="Rollouts", run="copy", task=task, group="step 0")
    assert "1 of 6 rollouts of this group are not in rollouts/ or cannot be read" in warned(app)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_outlives_every_file_but_one(copied, open_page, page):
    """What is left is one file, each in turn: a run copied in part."""
    names = sorted(p.name for p in copied.iterdir() if p.is_file())
    aside = copied.parent.parent / "aside"
    aside.mkdir()
    for kept in MISSING:
        for name in names:
            if name != kept:
                (copied / name).rename(aside / name)
        app = open_page(copied.parent, page=page, **({} if kept != "journal.jsonl" else PLACES))
        if page != "Runs":
            assert all(f"{name} is not there" in warned(app) for name in MISSING if name != kept)
        for name in names:
            if name != kept:
                (aside / name).rename(copied / name)


@pytest.mark.parametrize("page", [p for p in PAGES if p != "Runs"])
@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (
            {"kind": "run", "record": {"schema_version": SCHEMA + 1, "seed": 0}},
            f"journal schema {SCHEMA + 1}, this version reads",
        ),
        ({"kind": "run", "record": {"schema_version": 0, "seed": 0}}, "journal schema 0, this version reads"),
        ({"kind": "dream", "record": {}}, "unknown kind 'dream'"),
    ],
)
def test_another_journal_version_is_refused_with_a_sentence(copied, open_page, page, line, sentence):
    path = copied / "journal.jsonl"
    first = json.dumps({"seq": 0, "step": 0, "time": 0.0, **line})
    path.write_text("\n".join([first, *path.read_text().splitlines()[1:]]) + "\n")
    said = warned(open_page(copied, page=page))
    assert sentence in said
    assert str(copied) not in said


def test_a_run_that_breaks_while_it_is_looked_at_costs_a_sentence(copied, open_page):
    app = open_page(copied.parent, page="Tasks", **PLACES)
    for name in ("journal.jsonl", "tasks.jsonl", "metrics.jsonl"):
        (copied / name).unlink()
    checked(app.run())
    assert "journal.jsonl is not there" in warned(app)
