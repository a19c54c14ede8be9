"""Every known format loads from a record as its users have it, under the name it is recognised by."""

import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import yaml

from memory.errors import TaskError
from memory.task import Message
from training.tasks.formats import FORMATS, recognise
from training.tasks.load import load_tasks
from training.tasks.record import to_ask
from training.tasks.rows import read_rows
from training.tasks.source import TaskSource

DATA = Path(__file__).parents[4] / "shared/data"

HEALTHBENCH = {
    "prompt_id": "p1",
    "prompt": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Fever?"},
    ],
    "rubrics": [
        {"criterion": "Asks for the temperature", "points": 7, "tags": ["axis:context"]},
        {"criterion": "Recommends antibiotics", "points": -6, "tags": ["axis:accuracy"]},
    ],
    "example_tags": ["theme:hedging"],
    "ideal_completions_data": {"ideal_completion": "How high is it?"},
    "canary": "benchmark:do-not-train",
}
RECORDS = {
    "harnessrl": {
        "id": "a",
        "domain": "science",
        "messages": [{"role": "user", "content": "Why?"}],
        "rubric": [{"id": "c1", "text": "Says why", "points": 1}],
    },
    "ifeval": {
        "key": 7,
        "prompt": "No commas.",
        "instruction_id_list": ["punctuation:no_comma"],
        "kwargs": [{"num_words": None}],
    },
    "kqa": {"Question": "Can I stop?", "Must_have": ["Not at once"], "Nice_to_have": ["Ask"], "Free_form_answer": "No."},
    "scholarqa": {
        "case_id": "s",
        "initial_prompt": "Which datasets?",
        "metric_config": {
            "config": {"question": "q", "other_properties": [{"name": "n", "criterion": "Names one", "weight": 0.2}]}
        },
    },
    "biggen": {
        "id": "b",
        "capability": "planning",
        "input": "Plan.",
        "score_rubric": {"criteria": "Feasible?", "score1_description": "no", "score2_description": "yes"},
        "reference_answer": "Start.",
    },
    "writingbench": {
        "index": 1,
        "query": "Write.",
        "checklist": [{"name": "Fit", "criteria_description": "Fits", "1-2": "no", "3-4": "yes"}],
    },
    "drtulu": {
        "query": "Compare.",
        "positive_rubrics": [{"title": "t", "description": "Cites", "weight": 2}],
        "negative_rubrics": [{"title": "u", "description": "Invents"}],
    },
    "verl": {
        "data_source": "science",
        "prompt": [{"role": "user", "content": "Name uses."}],
        "reward_model": {"style": "rubric", "rubrics": [{"criterion": "Names three", "points": 3}]},
        "extra_info": {"index": 3, "reference_answer": "Wires."},
    },
    "healthbench": HEALTHBENCH,
    "rar": {
        "question": "Why?",
        "rubric": [{"title": "t", "description": "Essential Criteria: says", "weight": 5}],
        "reference_answer": "So.",
    },
    "rubrichub": {
        "id": "r",
        "question": "Note.",
        "rubrics": [
            {
                "criterion": "At most 9 words",
                "points": 2,
                "tags": {"verifier": "rule", "function": "word_count", "parameters": '{"max": 9}'},
            }
        ],
    },
    "openrubrics": {"instruction": "Decline.", "rubric": "1. Is polite [Hard Rule]\n2. Gives no excuse\n   at all [Principle]"},
    "verifiers": {
        "question": "Why?",
        "answer": "So.",
        "info": json.dumps({"rubric": [{"requirement": "Says why", "weight": 2}]}),
    },
    "generic": {"question": "Why?", "rubric_list": None, "criteria": [{"requirement": "Says why", "weight": 2}], "answer": "So."},
}
EXPECTED = {
    "harnessrl": [("Says why", 1, "llm")],
    "ifeval": [("punctuation:no_comma", 1, "rule")],
    "kqa": [("Not at once", 2, "llm"), ("Ask", 1, "llm")],
    "scholarqa": [("Names one", 0.2, "llm")],
    "biggen": [("Feasible?", 1, "levels")],
    "writingbench": [("Fit: Fits", 1, "levels")],
    "drtulu": [("Cites", 2, "llm"), ("Invents", -1, "llm")],
    "verl": [("Names three", 3, "llm")],
    "healthbench": [("Asks for the temperature", 7, "llm"), ("Recommends antibiotics", -6, "llm")],
    "rar": [("Essential Criteria: says", 5, "llm")],
    "rubrichub": [("At most 9 words", 2, "rule")],
    "openrubrics": [("Is polite", 1, "llm"), ("Gives no excuse at all", 1, "llm")],
    "verifiers": [("Says why", 2, "llm")],
    "generic": [("Says why", 2, "llm")],
}
REFERENCES = {
    "kqa": "No.",
    "biggen": "Start.",
    "verl": "Wires.",
    "healthbench": "How high is it?",
    "rar": "So.",
    "verifiers": "So.",
    "generic": "So.",
}


def load(path, **settings):
    return load_tasks([TaskSource(path=str(path), **settings)], "tasks.train")


def written(tmp_path, *records, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def told(task):
    return [(c.text, c.points, c.kind) for c in task.rubric]


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_of_each_format_is_recognised_and_understood(tmp_path, name):
    assert recognise(RECORDS[name], "auto", False)[0] == name
    (task,) = load(written(tmp_path, RECORDS[name])).tasks
    assert told(task) == EXPECTED[name]
    assert task.reference == REFERENCES.get(name)
    assert load(written(tmp_path, RECORDS[name]), format=name).tasks == [task]


def test_every_format_with_rubrics_has_a_record():
    assert set(FORMATS) - set(RECORDS) == {"followbench", "rpbench", "pingpong"}


def test_what_the_records_say_beside_the_rubric_is_kept(tmp_path):
    loaded = load(written(tmp_path, HEALTHBENCH), licence="MIT")
    (task,) = loaded.tasks
    assert [m.role for m in task.messages] == ["user", "assistant", "user"]
    assert task.tags == ("theme:hedging",)
    assert task.rubric[0].tags == ("axis:context",)
    assert (task.origin.source, task.origin.row, task.origin.licence) == ("rows", 1, "MIT")
    assert loaded.counts()["W_CANARY"] == 1


def test_followbench_makes_a_task_of_each_level_with_the_criteria_so_far(tmp_path):
    levels = [
        {"example_id": 1, "category": "content", "level": k, "instruction": f"Version {k}", "target": "", "source": "s"}
        for k in range(3)
    ]
    path = tmp_path / "levels.json"
    path.write_text(json.dumps(levels), encoding="utf-8")
    first, second = load(path).tasks
    assert [m.content for m in second.messages] == ["Version 2"]
    assert [len(t.rubric) for t in (first, second)] == [1, 2]


def test_role_play_sets_give_prompts_that_end_with_the_user(tmp_path):
    scene = {"id": 1, "background": "b", "npc_profile": {"name": "Mira"}, "conversation": [{"from": "npc", "sentences": ["Hi."]}]}
    mute = {"char_name": "Orla", "system_prompt": "You are Orla."}
    asks = [
        to_ask(row, TaskSource(path="x.jsonl"), "x", [])
        for row in read_rows(TaskSource(path=str(written(tmp_path, scene, mute))), "f")
    ]
    assert [[m.role for m in ask.messages] for ask in asks] == [["system", "assistant", "user"], ["system", "user"]]
    with pytest.raises(TaskError, match="without a rubric"):
        load(written(tmp_path, scene))


def test_the_same_tasks_come_from_every_kind_of_file(tmp_path):
    record = RECORDS["verl"]
    paths = [written(tmp_path, record)]
    for name, text in (
        ("rows.json", json.dumps([record])),
        ("rows.yaml", yaml.safe_dump([record])),
        ("one.yml", yaml.safe_dump(record)),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        paths.append(tmp_path / name)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([record]), tmp_path / "rows.parquet")
    paths.append(tmp_path / "rows.parquet")
    tasks = [load(path, name="same").tasks for path in paths]
    assert all(found == tasks[0] for found in tasks)
    assert tasks[0][0].messages == (Message(role="user", content="Name uses."),)


def test_a_table_with_one_criterion_per_row_becomes_tasks(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(
        'id,prompt,criterion,points\n1,"Why, then?",Says why,3\n1,"Why, then?",Is rude,-2\n2,How?,Says how,1\n', encoding="utf-8"
    )
    first, second = load(path).tasks
    assert told(first) == [("Says why", 3, "llm"), ("Is rude", -2, "llm")]
    assert (first.messages[0].content, first.id, told(second)) == ("Why, then?", "table-1", [("Says how", 1, "llm")])


def test_alpaca_rows_keep_the_text_to_work_on(tmp_path):
    (task,) = load(written(tmp_path, {"instruction": "Summarise.", "input": "A long text.", "rubric": ["Is short"]})).tasks
    assert task.messages[0].content == "Summarise.\n\nA long text."


def test_one_right_answer_of_verl_is_no_rubric(tmp_path):
    row = {
        "data_source": "gsm8k",
        "prompt": [{"role": "user", "content": "1+1?"}],
        "reward_model": {"style": "rule", "ground_truth": "2"},
    }
    with pytest.raises(TaskError, match="without a rubric"):
        load(written(tmp_path, row))


def test_fields_are_found_under_other_names_and_through_json(tmp_path):
    record = {"q": {"text": "Why?"}, "meta": json.dumps({"marks": [{"text": "Says why", "score": "2"}]}), "topic": "x"}
    fields = {"prompt": "q.text", "rubric": "meta.marks", "domain": "topic"}
    (task,) = load(written(tmp_path, record), fields=fields).tasks
    assert (task.messages[0].content, told(task), task.domain) == ("Why?", [("Says why", 2, "llm")], "x")
    with pytest.raises(TaskError, match=r"fields\.prompt names 'q\.txt', which this record lacks"):
        load(written(tmp_path, record), fields={**fields, "prompt": "q.txt"})


def test_rules_that_are_not_known_stop_or_go_to_the_judge(tmp_path):
    record = {"key": 1, "prompt": "Go.", "instruction_id_list": ["words:start_verb"], "kwargs": [{}]}
    with pytest.raises(TaskError, match="unknown_rules: judge"):
        load(written(tmp_path, record))
    loaded = load(written(tmp_path, record), unknown_rules="judge")
    assert loaded.tasks[0].rubric[0].kind == "llm"
    assert loaded.counts()["W_UNKNOWN_RULE"] == 1


def test_keys_that_occur_twice_get_ids_of_their_own_and_it_is_said(tmp_path):
    loaded = load(written(tmp_path, HEALTHBENCH, HEALTHBENCH))
    assert [t.id for t in loaded.tasks] == ["rows-p1", "rows-p1-2"]
    assert loaded.counts()["W_DUPLICATE_ID"] == 1


def test_wrong_rows_are_left_out_and_counted_on_request(tmp_path):
    path = written(tmp_path, {"prompt": "x"}, RECORDS["rar"], [1])
    loaded = load_tasks([TaskSource(path=str(path))], "tasks.train", "skip")
    assert (len(loaded.tasks), loaded.skipped) == (1, 2)
    assert [(r.row, r.code) for r in loaded.remarks] == [(1, "E_NO_RUBRIC"), (3, "E_BAD_ROW")]
    with pytest.raises(TaskError, match=r"no tasks in .* 1 rows could not be used"):
        load_tasks([TaskSource(path=str(written(tmp_path, {"prompt": "x"})))], "tasks.heldout", "skip")


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"path": "rows.txt"}, "the suffix says what a file is"),
        ({"path": "org/name"}, "write {dataset: org/name"),
    ],
)
def test_a_source_that_cannot_be_read_says_what_to_do(tmp_path, monkeypatch, settings, expected):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("x", encoding="utf-8")
    with pytest.raises(TaskError) as error:
        load_tasks([TaskSource(**settings)], "tasks.train")
    assert expected in str(error.value)


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not beside the project")
@pytest.mark.parametrize(
    ("file", "settings", "tasks"),
    [
        ("kqa/questions_w_answers.jsonl", {}, 201),
        ("scholarqa_cs/test_configs_snippets.json", {}, 110),
        ("paperbench/rubric.json", {"prompt": "Replicate the paper."}, 1),
        ("writingbench/short_queries.jsonl", {}, 173),
        ("ifeval/input_data.jsonl", {}, 541),
        ("ifbench/IFBench_test.jsonl", {"unknown_rules": "judge"}, 300),
        ("followbench/content_constraints.json", {}, 125),
    ],
)
def test_public_files_load_whole(file, settings, tasks):
    loaded = load(DATA / file, **settings)
    assert (len(loaded.tasks), loaded.skipped) == (tasks, 0)
