"""The Sampling page: levels, coverage and guidance equal what the journal says, counted the long way."""

import pytest
import yaml

from memory.harness import TaskHarness
from memory.journal import HarnessRecord, Journal, read_journal
from memory.rundir import RunDir
from tests.ui.synthetic import EVERY, GROUP, STEPS, TASKS
from tests.ui.test_console import charts, said
from training.config import GuidanceSettings
from training.loop.guidance import ceiling_at
from ui import draws
from ui.readers import RunReader


def settings(run, **sections) -> None:
    config = yaml.safe_load((run / "config.yaml").read_text())
    for name, changed in sections.items():
        config[name] = {**config.get(name, {}), **changed}
    (run / "config.yaml").write_text(yaml.safe_dump(config))


def retire(run, synthetic, step: int, task_id: str) -> None:
    journal = Journal(run / "journal.jsonl")
    entry = synthetic.harness.of(TASKS[task_id]).model_copy(update={"level": 0.0})
    journal.append(step, HarnessRecord(version=99, edit_ids=(), entries={task_id: entry}))
    journal.close()


def test_every_task_stands_at_one_level_at_any_time(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    table = draws.level_table(view)
    assert set(table.groupby("step")["tasks"].sum()) == {len(TASKS)}
    now = table[table["step"] == table["step"].max()].set_index("level")["tasks"].to_dict()
    for level, count in now.items():
        assert count == sum(synthetic.harness.of(t).level == level for t in TASKS.values()), level
    before = table[table["step"] < 4 * EVERY].set_index("level")["tasks"]
    assert before[1.0] == len(TASKS)
    assert sorted(now) == [0.0, 0.5, 1.0, 2.0]


def test_coverage_counts_the_tasks_of_the_last_pass(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    width = draws.pass_width(view)
    assert width == 2
    table = draws.coverage_table(view, width)
    assert table.index.tolist() == list(range(STEPS))
    for step, row in table.iterrows():
        drawn = {v.task_id for v in synthetic.visits if step - width < v.step <= step}
        ever = {v.task_id for v in synthetic.visits if v.step <= step}
        assert (row["window"], row["ever"]) == (len(drawn) / len(TASKS), len(ever) / len(TASKS))


def test_a_retired_task_is_eligible_only_where_the_floor_brings_it_back(copied, synthetic):
    last = STEPS - 1
    drawn = {v.task_id for v in synthetic.visits if v.step == last}
    retired = sorted(drawn)[0]
    retire(copied, synthetic, last, retired)
    for floor, expected in ((0.05, len(drawn) / len(TASKS)), (0.0, (len(drawn) - 1) / (len(TASKS) - 1))):
        settings(copied, sampling={"floor": floor})
        view = RunReader(copied).refresh()
        assert draws.coverage_table(view, 1)["window"].iloc[-1] == expected
        due = draws.draw_table(view, 1).set_index("level")["share of draws due"]
        weights = sum(synthetic.harness.of(t).level for i, t in TASKS.items() if i != retired)
        assert due[0.0] == pytest.approx(100 * floor / (weights + floor))
    assert draws.level_table(view).query("level == 0")["tasks"].iloc[-1] == 1


def test_draws_by_level_stand_against_what_the_weights_ask_for(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    table = draws.draw_table(view, 4).set_index("level")
    weights = {i: max(synthetic.harness.of(t).level, 0.05) for i, t in TASKS.items()}
    newest = [v for v in synthetic.visits if v.step >= STEPS - 4]
    for level, row in table.iterrows():
        due = sum(w for i, w in weights.items() if synthetic.harness.of(TASKS[i]).level == level) / sum(weights.values())
        assert row["share of draws due"] == pytest.approx(100 * due)
        assert row["share of draws"] == pytest.approx(100 * sum(v.level == level for v in newest) / len(newest))
    assert table["share of draws due"].sum() == pytest.approx(100)


def most_fields(run: RunDir, step: int) -> int:
    entries: dict[str, TaskHarness] = {}
    for entry in read_journal(run.journal):
        if entry.kind == "harness" and entry.step <= step:
            entries |= entry.record.entries
    return max((len(e.guidance) for e in entries.values()), default=0)


def test_guidance_stands_against_the_ceiling_that_training_used(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    table = draws.guidance_table(view)
    assert view.visits.unfilled == len(view.visits), "a long run has too many visits to read numbers of all for this"
    used = GuidanceSettings(max_fields=2, until=0.8)
    for step, row in table.iterrows():
        visits = [v for v in synthetic.visits if v.step == step]
        assert row["ceiling"] == ceiling_at(step, STEPS, used)
        assert row["fields"] == most_fields(synthetic.run, step)
        assert row["rollouts"] == sum(g for v in visits for g in v.guided) / (GROUP * len(visits))
    assert table["rollouts"].max() > 0
    assert table["fields"].max() > 0
    assert max(sum(v.guided) for v in synthetic.visits) <= GROUP / 2


def test_the_page_shows_levels_coverage_and_guidance(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Sampling")
    words = said(app)
    assert len(charts(app)) == 4
    assert "One pass over 6 tasks takes 2 steps" in words
    assert "Retired tasks stay eligible at the least weight 0.05." in words
    assert f"the ceiling at step {STEPS - 1} is 0" in words
    assert "Tasks with guidance now: 1, with at most 1 field" in words
    assert "Of them 1 have more than may be shown now." in words


def test_no_moved_level_and_no_guidance_are_said(copied, open_page):
    kept = [
        line for line in (copied / "journal.jsonl").read_text().splitlines() if '"kind": "visit"' in line or '"seq": 0,' in line
    ]
    (copied / "journal.jsonl").write_text("\n".join(kept) + "\n")
    words = said(open_page(copied, page="Sampling"))
    assert f"All 6 tasks are at level 1: no edit has moved one. No edits yet: the first round comes at step {EVERY}." in words
    assert "No task has guidance now" in words
    settings(copied, guidance={"max_fields": 0})
    assert "Guidance is switched off in this run" in said(open_page(copied, page="Sampling"))


def test_tasks_that_were_never_drawn_are_named(copied, open_page):
    with open(copied / "tasks.jsonl", "a") as file:
        file.write(TASKS["rash-6"].model_copy(update={"id": "left-out-7"}).model_dump_json() + "\n")
    assert r"Never drawn so far: left\-out\-7." in said(open_page(copied, page="Sampling"))


def test_without_the_tasks_file_only_seen_tasks_are_counted(copied, open_page):
    (copied / "tasks.jsonl").unlink()
    assert "only tasks that were drawn at least once are counted" in said(open_page(copied, page="Sampling"))
