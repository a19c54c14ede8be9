"""The tasks of a run: a suite by default, prompts that fit the context, and a word on all that was left out."""

import json

import pytest

from memory.errors import ConfigError, TaskError
from tests.builders import task
from training.config import parse_config
from training.halves import load_halves
from training.tasks.length import fit_prompts


def write(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def rar(question, weight=1):
    return {"question": question, "rubric": [{"description": "Says so", "weight": weight}]}


def halves(**tasks):
    return load_halves(parse_config({"tasks": tasks}))


def test_the_lab_trains_on_its_own_suite_and_a_real_model_on_rubric_mix_mini():
    train, heldout, lines = halves()
    assert (len(train), len(heldout), lines) == (160, 80, [])
    tasks = parse_config({"policy": {"model": "org/model"}}).tasks
    assert [s.suite for s in (*tasks.train, *tasks.heldout)] == ["rubric_mix_mini", "rubric_mix_mini"]
    own = parse_config({"tasks": {"train": "mine.jsonl"}}).tasks
    assert ([s.path for s in own.train], own.heldout) == (["mine.jsonl"], [])


def test_a_config_reads_back_as_it_was_written():
    given = {
        "train": ["lab", "a.jsonl", {"path": "b.json", "format": "rar", "weights": {"Essential": 5}}],
        "heldout": {"dataset": "org/name", "split": "test"},
    }
    config = parse_config({"tasks": given})
    written = config.model_dump(mode="json")["tasks"]
    assert written["train"] == given["train"]
    assert written["heldout"] == [{**given["heldout"]}]
    assert parse_config(config.model_dump(mode="json")) == config


def test_rows_that_cannot_be_used_stop_or_are_told(tmp_path):
    path = write(tmp_path / "t.jsonl", rar("Why?"), rar("How?", "30%"), rar("What?", "2"))
    with pytest.raises(TaskError, match=r"t\.jsonl row 2: .*30%"):
        halves(train=path)
    train, _, lines = halves(train=path, on_error="skip")
    assert len(train) == 2
    told = "\n".join(lines)
    for part in ("tasks.train: 2 tasks, 1 rows left out", "row 2", "1 x W_NUMERIC_STRING"):
        assert part in told


def test_prompts_beyond_the_context_stop_or_are_left_out_before_training(tmp_path):
    path = write(tmp_path / "t.jsonl", rar("word " * 5000), rar("Why?"))
    with pytest.raises(TaskError, match="1 of 2 prompts are longer than"):
        halves(train=path)
    train, _, lines = halves(train=path, overlong="drop")
    assert [t.messages[0].content for t in train] == ["Why?"]
    assert "1 rows left out" in lines[0]
    with pytest.raises(ConfigError, match="every prompt is longer than 1 tokens"):
        halves(train=path, overlong="drop", max_prompt_tokens=1)


def test_a_held_out_prompt_that_is_trained_on_is_told(tmp_path):
    path = write(tmp_path / "t.jsonl", rar("Why?"))
    assert "1 of 1 prompts are also trained on" in halves(train=path, heldout=path)[2][-1]


def test_drafted_criteria_are_told(tmp_path):
    own = {"id": "a", "domain": "d", "messages": [{"role": "user", "content": "Hi"}]}
    path = write(tmp_path / "t.jsonl", {**own, "rubric": [{"id": "c", "text": "t", "points": 1, "drafted": True}]})
    assert any("1 criteria were drafted by a model" in line for line in halves(train=path)[2])


def test_a_response_cap_that_fills_the_context_is_refused():
    with pytest.raises(ConfigError, match=r"policy\.max_completion_tokens is 100000"):
        load_halves(parse_config({"policy": {"max_completion_tokens": 100_000}}))


def test_the_longest_prompt_is_named():
    lengths = iter([4, 9])
    with pytest.raises(TaskError, match=r"the longest has 9 \(task 'long'\)"):
        fit_prompts([task("short"), task("long")], lambda _: next(lengths), 3, "stop", "tasks.train")
