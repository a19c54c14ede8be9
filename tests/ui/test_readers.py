"""Reading a run: completely, incrementally, and when its files are unfinished, cut back or damaged."""

import json
import threading

import numpy as np
import pytest

import ui.index
import ui.readers
from memory.decision import Attribution
from memory.edit import apply
from memory.harness import Harness
from memory.journal import AlertRecord, Journal, RoundRecord
from tests.ui.synthetic import STEPS, TASKS
from ui.index import NUMBERS
from ui.readers import RunReader, run_folders
from ui.series import MOST_POINTS, against_window, heldout_table, shares_long, step_table, thinned
from ui.words import CLASSES, escaped


def append(path, *texts: str) -> None:
    journal = Journal(path / "journal.jsonl")
    for text in texts:
        journal.append(3, AlertRecord(name="test", text=text))
    journal.close()


def alerts(view) -> list[str]:
    return [alert.text for _, alert in view.alerts]


def test_the_view_holds_what_was_written(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    assert view.troubles == {}
    assert len(view.visits) == 4 * STEPS
    assert [r.decision for r in view.decisions] == synthetic.decisions
    assert len(view.accepted) == sum(d.outcome == "accepted" for d in synthetic.decisions) > 0
    assert view.harness_version == synthetic.harness.version == 4
    assert [e.step for e in view.evaluations] == [0, STEPS // 2, STEPS]
    assert view.heartbeat is not None
    assert (view.heartbeat.phase, view.heartbeat.steps) == ("update", STEPS)
    for task_id in TASKS:
        assert view.entry(task_id) == synthetic.harness.of(TASKS[task_id])


def test_each_visit_and_edit_meets_the_harness_of_its_time(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    first, later = view.decisions[0], view.decisions[7]
    assert first.decision.edit.task_id == later.decision.edit.task_id == "fever-1"
    untouched = Harness().of(TASKS["fever-1"])
    reworded = apply(first.decision.edit, untouched)
    assert view.entry_before(first) == untouched
    assert view.entry_before(later) == reworded != untouched
    early, *_, late = view.visits.of("fever-1")
    assert view.entry_at(early) == untouched
    assert view.entry_at(late) == reworded


def test_reading_again_reads_only_the_tail(copied):
    reader = RunReader(copied)
    known = alerts(reader.refresh())
    append(copied, "one", "two")
    with open(copied / "journal.jsonl", "r+b") as file:
        file.write(b"nothing reads this again " * 40)
    assert alerts(reader.refresh()) == [*known, "one", "two"]
    assert "journal.jsonl" not in reader.view.troubles


def test_a_visit_is_known_by_its_first_bytes_as_by_its_whole_line(copied, tmp_path):
    """The same run, its journal written with the fields in another order: slower to read, the same numbers."""
    other = tmp_path / "sorted"
    other.mkdir()
    lines = (copied / "journal.jsonl").read_text().splitlines()
    (other / "journal.jsonl").write_text("".join(json.dumps(json.loads(line), sort_keys=True) + "\n" for line in lines))
    quick, slow = RunReader(copied).refresh().visits, RunReader(other).refresh().visits
    assert len(quick) == len(slow) == 4 * STEPS
    assert quick.domain_of == slow.domain_of
    assert [quick.rows(t).tolist() for t in TASKS] == [slow.rows(t).tolist() for t in TASKS]
    for name in NUMBERS:
        assert quick.column(name).tolist() == slow.column(name).tolist()
    for number, visit in enumerate(quick.read(range(len(quick)))):
        assert slow.one(number) == visit == quick.by_id(visit.id)
        assert quick.steps[number] == visit.step
        assert [quick.column(n)[number] for n in ("level", "agree")] == [visit.level, visit.shares.agree]


def test_numbers_of_some_visits_are_read_without_those_of_the_others(copied):
    every, some = RunReader(copied).refresh().visits, RunReader(copied).refresh().visits
    newest = np.concatenate([some.rows(task_id)[-2:] for task_id in TASKS])
    for name in NUMBERS:
        assert some.column(name, newest).tolist() == every.column(name)[newest].tolist()
    assert some.unfilled == len(some) - len(newest) > 0
    for name in NUMBERS:
        assert some.column(name).tolist() == every.column(name).tolist()
    assert some.unfilled == 0


def test_numbers_are_read_beside_the_pages_by_one_thread_at_a_time(copied, monkeypatch):
    monkeypatch.setattr(ui.readers, "MANY", 0)
    monkeypatch.setattr(ui.readers, "REST", 60)
    reader, before = RunReader(copied), set(threading.enumerate())
    for _ in range(3):
        reader.refresh()
    begun = [t for t in threading.enumerate() if t not in before and isinstance(t, threading.Timer)]
    assert len(begun) == 1
    begun[0].cancel()
    begun[0].join()
    monkeypatch.setattr(ui.readers, "REST", 0)
    visits = reader.refresh().visits
    reader._beside.join(10)
    assert visits.unfilled == 0


def test_lines_far_apart_are_read_without_what_lies_between(copied, monkeypatch):
    monkeypatch.setattr(ui.index, "NEAR", 0)
    monkeypatch.setattr(ui.index, "CHUNK", 4096)
    every, some = RunReader(copied).refresh().visits, RunReader(copied).refresh().visits
    first_and_last = np.array([0, len(some) - 1])
    parts = [part.tolist() for part in some._stretches(first_and_last)]
    assert parts == [[0], [len(some) - 1]]
    assert some.column("agree", first_and_last).tolist() == every.column("agree")[first_and_last].tolist()


def test_ids_of_any_letters_are_found(tmp_path, synthetic):
    odd = synthetic.visits[0].model_copy(update={"id": 'v "1" \\ 发烧', "task_id": '发烧 "a" \\', "domain": "医"})
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(0, odd)
    journal.close()
    view = RunReader(tmp_path).refresh()
    assert view.visits.task_ids == [odd.task_id]
    assert view.visits.by_id(odd.id) == odd
    assert view.visits.domain_of == {odd.task_id: "医"}
    assert view.visits.of(odd.task_id) == [odd]


def test_a_damaged_visit_is_left_out_and_costs_nothing_else(copied):
    path = copied / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    number, line = next((n, text) for n, text in enumerate(lines) if '"kind": "visit"' in text)
    lines[number] = line.replace('"scores": [', '"scores": [oops ', 1)
    path.write_text("".join(lines))
    visits = RunReader(copied).refresh().visits
    assert visits.one(0) is None
    assert len(visits.read(range(len(visits)))) == 4 * STEPS - 1
    assert len(visits.column("agree")) == 4 * STEPS


def test_metrics_are_read_from_where_reading_stopped(copied, monkeypatch):
    reader = RunReader(copied)
    assert len(reader.refresh().metrics) == STEPS
    with open(copied / "metrics.jsonl", "a") as file:
        file.write(json.dumps({"step": STEPS + 1, "metrics": {"reward": 0.9}}) + "\n")
    offsets: list[int] = []
    read_lines = ui.readers.read_lines

    def spy(path, offset):
        offsets.append(offset)
        return read_lines(path, offset)

    monkeypatch.setattr(ui.readers, "read_lines", spy)
    size = (copied / "metrics.jsonl").stat().st_size
    assert reader.refresh().metrics[-1]["metrics"] == {"reward": 0.9}
    assert 0 < offsets[0] < size
    assert len(reader.view.metrics) == STEPS + 1


def test_a_partial_last_line_waits_for_its_end(copied):
    reader = RunReader(copied)
    known = alerts(reader.refresh())
    append(copied, "slow")
    path = copied / "journal.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert alerts(reader.refresh()) == known
    assert reader.view.troubles == {}
    path.write_bytes(whole)
    assert alerts(reader.refresh()) == [*known, "slow"]


def test_a_run_that_was_cut_back_and_went_on_is_read_anew(copied):
    path = copied / "journal.jsonl"
    size = path.stat().st_size
    append(copied, "lost with the kill")
    reader = RunReader(copied)
    assert "lost with the kill" in alerts(reader.refresh())
    with open(path, "r+b") as file:
        file.truncate(size)
    append(copied, "written after the resume, and longer than what was lost", "another")
    found = alerts(reader.refresh())
    assert "lost with the kill" not in found
    assert found[-1] == "another"
    assert len(reader.view.visits) == 4 * STEPS


@pytest.mark.parametrize("line", ["{not json}", "[1, 2]", '{"kind": "dream", "seq": 9}', '{"kind": "visit", "seq": 9}', "null"])
def test_a_damaged_journal_line_is_said_and_what_stands_before_it_is_kept(copied, line):
    with open(copied / "journal.jsonl", "a") as file:
        file.write(line + "\n")
    view = RunReader(copied).refresh()
    assert "journal.jsonl" in view.troubles
    assert str(copied) not in view.troubles["journal.jsonl"]
    assert len(view.visits) == 4 * STEPS


def test_another_schema_is_refused_with_a_sentence(tmp_path):
    (tmp_path / "journal.jsonl").write_text(
        json.dumps({"seq": 0, "step": 0, "kind": "run", "time": 0.0, "record": {"schema_version": 99, "seed": 0}}) + "\n"
    )
    assert "schema 99" in RunReader(tmp_path).refresh().troubles["journal.jsonl"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"phase": "update"}', '{"phase": "x", "step": null, "steps": 3, "time": 1}'])
def test_a_damaged_heartbeat_is_said_until_it_is_whole_again(copied, text):
    path = copied / "heartbeat.json"
    good = path.read_text()
    reader = RunReader(copied)
    path.write_text(text)
    assert reader.refresh().heartbeat is None
    assert "heartbeat.json" in reader.refresh().troubles
    path.write_text(good)
    assert reader.refresh().heartbeat is not None
    assert reader.view.troubles == {}


@pytest.mark.parametrize("text", ["- a list", "a: [", "", "\x00"])
def test_a_damaged_config_stays_said(copied, text):
    (copied / "config.yaml").write_text(text)
    reader = RunReader(copied)
    assert "config.yaml" in reader.refresh().troubles
    assert "config.yaml" in reader.refresh().troubles


def test_c_0_of_a_changed_task_file_is_not_believed(copied, synthetic):
    assert RunReader(copied).refresh().task("tides-2") == TASKS["tides-2"]
    changed = TASKS["tides-2"].model_copy(update={"rubric": TASKS["tides-2"].rubric[:2]})
    (copied / "tasks.jsonl").write_text(changed.model_dump_json() + "\n")
    view = RunReader(copied).refresh()
    assert view.task("tides-2") is None
    assert view.entry("shirt-5") == synthetic.harness.entries["shirt-5"]  # from the journal
    assert view.entry_before(view.decisions[0]) is None


def test_rollouts_are_found_missing_ones_left_out_and_no_other_file_is_opened(copied):
    view = RunReader(copied).refresh()
    visit = view.visits.of("fever-1")[0]
    assert [r.id for r in view.rollouts(visit.rollout_ids)] == list(visit.rollout_ids)
    outside = view.rollouts(visit.rollout_ids)[0].model_copy(update={"id": "../../outside/0"})
    (copied.parent / "outside.jsonl").write_text(outside.model_dump_json() + "\n")
    ids = ("../../outside/0", "step-000000/999", *visit.rollout_ids[:2])
    assert len(view.rollouts(ids)) == 2
    (copied / "rollouts" / f"step-{visit.step:06d}.jsonl").write_text("{broken}\n")
    assert view.rollouts(visit.rollout_ids) == []


def test_folders_without_a_run_are_no_runs(copied):
    (copied.parent / "notes").mkdir()
    assert run_folders(copied.parent) == [copied]
    assert run_folders(copied) == [copied]
    assert run_folders(copied.parent / "nowhere") == []


def test_the_step_table_is_the_metrics_and_without_them_the_visits(copied, synthetic):
    logged = step_table(RunReader(copied).refresh())
    (copied / "metrics.jsonl").unlink()
    seen = step_table(RunReader(copied).refresh())
    assert list(logged.index) == list(seen.index) == list(range(1, STEPS + 1))
    assert logged["reward"].tolist() == pytest.approx(synthetic.rewards)
    for column in ("reward", "flat", "unscored", *CLASSES):
        assert seen[column].tolist() == pytest.approx(logged[column].tolist())


def test_class_shares_are_stacked_to_one(synthetic):
    shares = shares_long(step_table(RunReader(synthetic.run.root).refresh()))
    assert shares.groupby("step")["high"].max().tolist() == pytest.approx([1.0] * STEPS)
    assert set(shares["class"]) == set(CLASSES)


def test_long_runs_are_thinned_to_their_means(synthetic):
    table = step_table(RunReader(synthetic.run.root).refresh())
    long = table.iloc[[k % STEPS for k in range(1000)]].set_axis(range(1, 1001))
    thin = thinned(long)
    assert len(thin) <= MOST_POINTS
    assert thin.index[-1] == 1000
    assert thin["reward"].iloc[0] == pytest.approx(long["reward"].iloc[:3].mean())


def test_a_window_is_compared_with_the_one_before(synthetic):
    rewards = step_table(RunReader(synthetic.run.root).refresh())["reward"]
    now, before, width = against_window(rewards)
    assert width == 10
    assert now == pytest.approx(sum(synthetic.rewards[-10:]) / 10)
    assert before == pytest.approx(sum(synthetic.rewards[-20:-10]) / 10)
    assert against_window(rewards[:1]) == (rewards.iloc[0], None, 1)


def test_heldout_means_are_per_ruler(synthetic):
    table = heldout_table(RunReader(synthetic.run.root).refresh())
    gold = table[table["ruler"] == "gold"]
    assert gold["mean"].tolist() == pytest.approx([0.34, 0.54, 0.74])
    assert (table["tasks"] == 5).all()


def test_the_latest_records_of_a_round_are_found(copied):
    journal = Journal(copied / "journal.jsonl")
    attribution = Attribution(task_id="fever-1", pair_class="blind", interface="g", reason="bad \ud83d text", author="rules")
    journal.append(4, RoundRecord(round=1, task_ids=("fever-1",), attributions=(attribution,)))
    journal.close()
    view = RunReader(copied).refresh()
    assert view.attribution(view.decisions[0].decision) == attribution


def test_escaped_text_is_no_markup():
    assert escaped("**a** :red[b] `c`\n# <d>") == r"\*\*a\*\* \:red\[b\] \`c\` \# \<d\>"
    assert escaped("bad \ud83d") == "bad ?"
