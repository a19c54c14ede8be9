"""The Compare page: both sides show what their files say, and what differs is told with its uncertainty."""

import json
import shutil

import pytest
import yaml

from tests.ui.conftest import checked
from tests.ui.synthetic import STEPS, TASKS, TRICKY
from tests.ui.test_console import charts, said
from ui import sides
from ui.compare import WRITTEN_AT_ONCE
from ui.readers import RunReader
from ui.series import WINDOW


@pytest.fixture
def other(copied):
    """A second run beside ``copied``: a higher reward, another seed, one criterion more to its held-out scores."""
    path = copied.parent / "other"
    shutil.copytree(copied, path)
    found = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    for line in found:
        line["metrics"]["reward"] += 0.1
    (path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))
    config = yaml.safe_load((path / "config.yaml").read_text())
    config["sampling"]["floor"] = 0.2
    config["judge"]["base_url"] = "https://you:swordfish@judge.example/v1"
    (path / "config.yaml").write_text(yaml.safe_dump(config))
    journal = (path / "journal.jsonl").read_text().splitlines()
    for number, line in enumerate(journal):
        entry = json.loads(line)
        if entry["kind"] == "evaluation" and entry["step"] == STEPS:
            gains = dict(zip(sorted(entry["record"]["gold"]), (0.1, 0.2, 0.3, 0.1, 0.2), strict=True))
            entry["record"]["gold"] = {i: v + gains[i] for i, v in entry["record"]["gold"].items()}
            journal[number] = json.dumps(entry)
    (path / "journal.jsonl").write_text("\n".join(journal) + "\n")
    return path


def facts(app) -> dict[str, tuple[str, str, str]]:
    table = next(d.value for d in app.dataframe if list(d.value.columns) == ["", "A", "B", "B − A"])
    return {row[0]: tuple(row[1:]) for row in table.itertuples(index=False)}


def mean(values) -> float:
    return sum(values) / len(values)


def test_two_runs_stand_side_by_side(synthetic, copied, other, open_page):
    app = open_page(copied.parent, page="Compare", run="copy", **{"with": "other"})
    found, words = facts(app), said(app)
    reward = mean(synthetic.rewards[-WINDOW:])
    assert found["reward"] == (f"{reward:.3f}", f"{reward + 0.1:.3f}", "+0.100")
    assert found["held-out gold"] == ("0.740", "0.920", "+0.180")
    assert found["edits accepted"] == ("6", "6", "0")
    assert "**A: copy, step 24**" in words.replace("\\", "")
    assert "**B: other, step 24**" in words.replace("\\", "")
    assert "B − A = **+0.18** (95% interval +0.08 to +0.28 over 5 shared tasks, significant)" in words
    differ = next(d.value for d in app.dataframe if list(d.value.columns) == ["setting", "A", "B"])
    assert differ.values.tolist() == [
        ["judge.base_url", "https://judge.example/v1", "https://judge.example/v1"],
        ["sampling.floor", "0.05", "0.2"],
    ]
    assert "swordfish" not in differ.to_json()
    assert len(charts(app)) == 3
    counts = next(d.value for d in app.dataframe if "interface" in d.value.columns)
    assert (counts["A"] == counts["B"]).all()
    accepted = [sum(d.outcome == "accepted" for d in synthetic.decisions if d.edit.interface == i) for i in "pgc"]
    assert [int(text.split(" / ")[0]) for text in counts["A"]] == accepted


def test_two_steps_of_a_run_and_the_edits_between_them(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Compare", compare="two steps", first="9", second="20")
    found = facts(app)
    first, second = mean(synthetic.rewards[:9]), mean(synthetic.rewards[11:20])
    assert found["reward"] == (f"{first:.3f}", f"{second:.3f}", f"{second - first:+.3f}".replace("-", "−"))
    assert found["held-out gold"] == ("0.340", "0.540", "+0.200")
    rows = next(d.value for d in app.dataframe if "decision" in d.value.columns)
    assert sorted(rows["id"]) == sorted(d.edit.id for d in synthetic.decisions if 9 <= d.step < 20)
    assert app.query_params["first"] == "9"
    assert app.query_params["compare"] == "two steps"


def test_the_url_tells_what_is_compared_also_where_nothing_was_chosen(copied, other, open_page):
    app = open_page(copied.parent, page="Compare", run="copy")
    assert (app.query_params["compare"], app.query_params["with"]) == ("two runs", "other")
    app = open_page(copied, page="Compare")
    assert [app.query_params[k] for k in ("compare", "first", "second")] == ["two steps", "10", "24"]


def test_windows_do_not_reach_into_each_other(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    first, second = sides.pair((view, 20), (view, 23))
    assert first.window().index.tolist() == [18, 19, 20]
    assert second.window().index.tolist() == [21, 22, 23]
    assert sides.pair((view, 2), (view, 24))[1].window().index.tolist() == [23, 24]


def test_the_same_prompt_shows_the_visits_of_both_steps_best_first(synthetic, open_page):
    task_id = "innkeeper-4"
    app = open_page(synthetic.run.root, page="Compare", compare="two steps", first="10", second="24", prompt=task_id)
    visits = [[v for v in synthetic.visits if v.task_id == task_id and v.step < step][-1] for step in (10, 24)]
    words = said(app)
    for letter, visit in zip("AB", visits, strict=True):
        assert f"**{letter}** · visit of step {visit.step} · mean score {mean(visit.scored):.3f}" in words
    assert "The criteria are not the same on both sides" in words
    best = [c.value for c in app.caption if c.value.startswith(("score", "unscored"))]
    assert len(best) == 2 * WRITTEN_AT_ONCE
    assert best[0].startswith(f"score {max(visits[0].scored):.3f}".replace(".", r"\."))
    app = checked(app.toggle(key="all-responses").set_value(True).run())
    written = [c.value for c in app.code]
    assert len(written) == 1 + sum(len(v.scores) for v in visits)


def test_model_text_is_shown_as_text(synthetic, open_page):
    visit = next(v for v in synthetic.visits if v.step == 5 and v.rollout_ids[0].endswith("/0"))
    query = {"compare": "two steps", "first": "6", "second": "24", "prompt": visit.task_id, "all-responses": "true"}
    app = open_page(synthetic.run.root, page="Compare", **query)
    assert TRICKY in [c.value for c in app.code]
    assert TRICKY not in said(app)


def test_one_run_alone_is_compared_by_its_steps(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Compare")
    assert app.query_params["page"] == "Compare"
    assert "Edits between step 10 and step 24" in said(app)
    app = open_page(synthetic.run.root, page="Compare", compare="two runs")
    assert "There is no other run in this folder to compare with" in said(app)


def test_equal_and_impossible_steps_are_said_or_passed_over(synthetic, open_page):
    assert "the same step" in said(open_page(synthetic.run.root, page="Compare", compare="two steps", first="9", second="9"))
    assert facts(open_page(synthetic.run.root, page="Compare", compare="two steps", first="99999", second="x"))


def test_a_run_without_steps_cannot_be_compared(copied, other, open_page):
    for name in ("metrics.jsonl", "journal.jsonl"):
        (other / name).write_text("")
    (other / "tasks.jsonl").unlink()
    app = open_page(copied.parent, page="Compare", run="copy", **{"with": "other"})
    assert "other has no finished step yet" in said(app)
    assert r"other: tasks\.jsonl is not there" in said(app)


def test_runs_without_shared_tasks_say_so(copied, other, open_page):
    for name in ("journal.jsonl", "tasks.jsonl"):
        text = (other / name).read_text()
        for number, task_id in enumerate(TASKS):
            text = text.replace(task_id, f"another-{number}")
        (other / name).write_text(text)
    (other / "journal.jsonl").write_text((other / "journal.jsonl").read_text().replace('"h', '"x'))
    words = said(open_page(copied.parent, page="Compare", run="copy", **{"with": "other"}))
    assert "No task was visited on both sides." in words
    assert "No held-out tasks that both evaluated" in words
