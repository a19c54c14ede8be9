"""Rubric-Mix: nothing is trained on that must not be, nothing is lost without account, and a build is the same twice."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from memory.errors import ConfigError, TaskError
from memory.task import Task
from training.config import CONFIGS
from training.tasks.__main__ import main
from training.tasks.load import load_tasks
from training.tasks.mix.build import build
from training.tasks.mix.recipe import Recipe, load_recipe
from training.tasks.mix.similar import Alike, Held
from training.tasks.mix.split import balanced, group_of, position
from training.tasks.source import TaskSource

DATA = Path(__file__).parents[4] / "shared/data"
WORDS = "river stone cloud lamp field horse winter paper garden silver engine bottle".split()


def row(number, question=None, **fields):
    """A question unlike the others: sixteen words drawn by its number."""
    told = question or " ".join(WORDS[int(d, 16) % 12] + d for d in hashlib.md5(str(number).encode()).hexdigest()[:16])
    return {
        "id": str(number),
        "question": told,
        "rubric": [{"description": "Says so", "weight": 3}, {"description": "Is short", "weight": 1}],
        **fields,
    }


@pytest.fixture
def offline(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()

    def write(name, rows):
        (folder / name).write_text("".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows), encoding="utf-8")

    write("science.jsonl", [row(k) for k in range(60)])
    write("exam.jsonl", [row(k) for k in range(5)])
    write.folder = folder
    return write


def recipe(**changes):
    parts = changes.pop("sources", None) or [
        {"name": "science", "offline": "science.jsonl", "domain": "science", "licence": "MIT"},
        {"name": "exam", "offline": "exam.jsonl", "licence": "MIT", "use": "benchmark", "has_rubrics": False},
    ]
    return Recipe.model_validate({"shares": {"science": 1.0}, "size": 1000, "sources": parts, **changes})


def tasks_of(out, name):
    return [Task.model_validate_json(line) for line in (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def test_benchmark_prompts_are_kept_out_of_training_and_told(offline, tmp_path):
    build(recipe(), tmp_path / "out", offline.folder)
    kept = {t.id for name in ("train", "calibration") for t in tasks_of(tmp_path / "out", name)}
    assert not kept & {f"science-{k}" for k in range(5)}
    dropped = [json.loads(line) for line in (tmp_path / "out/dropped.jsonl").read_text(encoding="utf-8").splitlines()]
    resembling = {d["id"] for d in dropped if d["reason"].startswith("resembles benchmark exam")}
    heldout = {t.id for t in tasks_of(tmp_path / "out", "heldout")}
    assert resembling == {f"science-{k}" for k in range(5)} - heldout


def test_every_task_is_in_one_file_or_dropped_with_a_reason(offline, tmp_path):
    offline("science.jsonl", [row(k) for k in range(60)] + [row("twin", row(7)["question"] + " please")])
    out = tmp_path / "out"
    manifest = build(recipe(), out, offline.folder)
    placed = [t.id for name in ("train", "calibration", "heldout") for t in tasks_of(out, name)]
    dropped = [json.loads(line)["id"] for line in (out / "dropped.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(placed + dropped) == sorted([f"science-{k}" for k in range(60)] + ["science-twin"])
    assert len({"science-7", "science-twin"} & set(placed)) == 1
    assert manifest == yaml.safe_load((out / "manifest.yaml").read_text(encoding="utf-8"))
    accounts = [json.loads(line) for line in (out / "manifest.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = {
        name: (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        for name in ("train", "calibration", "heldout")
    }
    assert [a["sha256"] for a in accounts] == [hashlib.sha256(x.encode()).hexdigest() for name in lines for x in lines[name]]
    assert {a["licence"] for a in accounts} == {"MIT"}


def test_a_build_is_the_same_twice_and_a_larger_one_moves_nobody(offline, tmp_path):
    build(recipe(size=10), tmp_path / "a", offline.folder)
    build(recipe(size=10), tmp_path / "b", offline.folder)
    build(recipe(), tmp_path / "c", offline.folder)
    for name in ("train", "calibration", "heldout"):
        assert (tmp_path / "a" / f"{name}.jsonl").read_bytes() == (tmp_path / "b" / f"{name}.jsonl").read_bytes()
    small = {t.id for t in tasks_of(tmp_path / "a", "train")}
    assert len(small) + len(tasks_of(tmp_path / "a", "calibration")) == 10
    assert small <= {t.id for t in tasks_of(tmp_path / "c", "train")}
    assert tasks_of(tmp_path / "a", "heldout") == tasks_of(tmp_path / "c", "heldout")


def test_a_stopped_build_reads_each_source_once(offline, tmp_path, monkeypatch):
    import training.tasks.mix.gather as gather

    out, read = tmp_path / "out", gather._read
    calls = []

    def counting(part, source, gathered):
        calls.append(part.name)
        if part.name == "exam" and len(calls) == 2:
            raise KeyboardInterrupt
        read(part, source, gathered)

    monkeypatch.setattr(gather, "_read", counting)
    with pytest.raises(KeyboardInterrupt):
        build(recipe(), out, offline.folder)
    build(recipe(), out, offline.folder)
    assert calls == ["science", "exam", "exam"]
    offline("science.jsonl", [row(k) for k in range(80)])
    build(recipe(), out, offline.folder)
    assert calls[3:] == ["science"]


@pytest.mark.parametrize("terms", [{"evaluation_only": True}, {"non_commercial": True}, {"canary": True}])
def test_sources_that_must_not_be_trained_on_are_refused(terms):
    part = {"name": "s", "offline": "science.jsonl", "domain": "science", "licence": "MIT", **terms}
    with pytest.raises(ValueError, match="cannot be trained on"):
        recipe(sources=[part])
    assert recipe(sources=[{**part, "use": "heldout"}]).sources[0].refusal


def test_a_canary_that_the_recipe_does_not_know_of_is_found(offline, tmp_path):
    offline("science.jsonl", [row(k, canary="x") if k == 3 else row(k) for k in range(9)])
    with pytest.raises(TaskError, match="carries a canary"):
        build(recipe(), tmp_path / "out", offline.folder)


def test_groups_stay_on_one_side(offline, tmp_path):
    offline("science.jsonl", [row(k, question_source=f"book {k % 6}") for k in range(60)])
    part = {"name": "science", "offline": "science.jsonl", "domain": "science", "licence": "MIT", "group": "question_source"}
    build(recipe(sources=[part], heldout_share=0.4), tmp_path / "out", offline.folder)
    sides = {name: {group_of(t, "question_source") for t in tasks_of(tmp_path / "out", name)} for name in ("train", "heldout")}
    assert sides["train"]
    assert sides["heldout"]
    assert not sides["train"] & sides["heldout"]


def test_likeness_is_found_in_english_and_chinese():
    alike = Alike(0.6)
    alike.add("a", tuple("can i take this drug with milk before i go to bed".split()))
    alike.add("b", tuple("请写一段关于旧书店的短文"))
    assert alike.find(tuple("can i take this drug with milk before i go to sleep".split())) == "a"
    assert alike.find(tuple("请写一段关于旧书店的散文")) == "b"
    assert alike.find(tuple("how do i bake bread without yeast in a small oven".split())) is None
    held = Held(0.9, 5)
    held.add("h", "one two three four five six".split())
    assert held.find(tuple("zero two three four five six and much that is new here".split())) == "h"


def test_no_kind_crowds_out_the_others():
    tasks = [
        Task.model_validate_json(
            json.dumps(
                {
                    "id": f"{name}{k}",
                    "domain": "d",
                    "messages": [{"role": "user", "content": text}],
                    "rubric": [{"id": "c", "text": "t", "points": 1}],
                    "origin": {"source": name},
                }
            )
        )
        for name, number, text in (("big", 90, "What is the weather like today in town?"), ("small", 10, "今天天气怎么样？"))
        for k in range(number)
    ]
    chosen = balanced(tasks, 20, 0)
    assert sum(t.id.startswith("small") for t in chosen) == 10
    assert 0 <= position(0, "x") < 1


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"shares": {"science": 0.5}}, "sum to 1"),
        ({"sizes": 3}, "did you mean 'size'?"),
        ({"sources": [{"name": "s", "licence": "MIT"}]}, "needs a dataset, a suite or an offline file"),
        ({"sources": [{"name": "s", "offline": "x", "licence": "MIT", "domain": "sience"}]}, "did you mean 'science'?"),
        ({"sources": [{"name": "s", "offline": "x", "licence": "MIT", "exclude": "("}]}, "not a regular expression"),
    ],
)
def test_a_wrong_recipe_says_what_is_wrong(tmp_path, change, told):
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump({"shares": {"science": 1.0}, "sources": [], **change}), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        load_recipe(path)
    assert told in str(error.value)


@pytest.mark.skipif(not DATA.exists(), reason="the shared data sets are not beside the project")
def test_the_shipped_recipe_builds_a_suite_from_local_files(tmp_path, capsys):
    out = tmp_path / "suite"
    assert main(["build-mix", "--out", str(out), "--offline", str(DATA)]) == 0
    told = capsys.readouterr().out
    shares = load_recipe(CONFIGS / "mix" / "rubric_mix.yaml").shares
    train, heldout = ({t.domain for t in tasks_of(out, name)} for name in ("train", "heldout"))
    assert train == heldout == set(shares)
    sources = {t.origin.source for name in ("train", "calibration") for t in tasks_of(out, name)}
    assert not sources & {"writingbench", "ifbench", "healthbench"}
    assert "prompts have no rubric yet" in told
    assert load_tasks([TaskSource(path=str(out / "train.jsonl"))], "tasks.train").counts() == {}
