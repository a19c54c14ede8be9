"""The commands over task files: what they print, what they write, and how they refuse."""

import json

import pytest

from memory.task import Criterion
from tests.builders import criterion, task
from training.tasks.__main__ import main
from training.tasks.lint import lint

RAR = {"question": "Why does ice float?", "rubric": [{"title": "t", "description": "Fails to mention density", "weight": 5}]}
WRONG = {"question": "Why?", "rubric": [{"title": "t", "description": "Says so", "weight": "30%"}]}


@pytest.fixture
def file(tmp_path):
    def write(*records, name="rows.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
        return str(path)

    return write


def test_inspect_tells_counts_trouble_and_errors(file, capsys):
    assert main(["inspect", file(RAR, RAR, WRONG, {"question": "冰为什么会浮在水面上？", "rubric": ["提到密度"]})]) == 0
    told = capsys.readouterr().out
    for part in (
        "4 rows: 3 tasks, 1 that cannot be used",
        "en 2, zh 1",
        "criteria: 3 (llm 3)",
        "prompts that occur more than once: 1",
        "W_SIGN_SUSPECT",
        "row 1: criterion 'c1' (+5)",
        "W_DEFAULT_WEIGHT",
        "E_WEIGHT_TYPE",
        "30%",
    ):
        assert part in told


def test_validate_lists_every_wrong_row_and_ends_with_2(file, capsys):
    assert main(["validate", file(RAR)]) == 0
    assert main(["validate", file(WRONG, RAR, {"x": 1})]) == 2
    told = capsys.readouterr().out
    assert "row 1: E_WEIGHT_TYPE" in told
    assert "row 3: E_UNKNOWN_SHAPE" in told
    assert "1 tasks, 2 rows that cannot be used" in told


def test_convert_writes_what_loads_the_same_and_never_over_a_file(file, tmp_path, capsys):
    out = tmp_path / "out" / "own.jsonl"
    assert main(["convert", file(RAR), "--out", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert main(["convert", str(out), "--out", str(out)]) == 2
    assert main(["convert", str(out), "--out", str(out), "--force"]) == 0
    assert out.read_text(encoding="utf-8") == text
    assert main(["convert", file(WRONG, RAR), "--out", str(tmp_path / "some.jsonl")]) == 2
    assert not (tmp_path / "some.jsonl").exists()
    assert main(["convert", file(WRONG, RAR), "--out", str(tmp_path / "some.jsonl"), "--skip-errors"]) == 0
    assert "1 tasks, 1 rows left out" in capsys.readouterr().out


def test_the_suites_that_ship_are_sound(capsys):
    for half in ("train", "heldout"):
        assert main(["validate", "lab", "rubric_mix_mini", "--half", half]) == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["inspect", "nowhere.jsonl"], "nowhere.jsonl does not exist"),
        (["inspect", "{path: a.jsonl, fromat: rar}"], "did you mean 'format'?"),
        (["inspect", "{path: a.jsonl, format: rra}"], "did you mean 'rar'?"),
        (["inspect", "{path: a.jsonl, fields: {promt: x}}"], "did you mean 'prompt'?"),
        (["inspect", "{path: a.jsonl, suite: lab}"], "exactly one of path, dataset and suite"),
        (["inspect", "{path: [}"], "not YAML"),
        (["build-mix", "--out", "x", "--recipe", "nowhere.yaml"], "nowhere.yaml does not exist"),
        (["build-mix", "--out", "x", "--offline", "nowhere"], "nowhere is not a folder"),
        (["build-mix", "--out", "x", "--size", "0"], "--size must be at least 1"),
        (["draft-rubrics", "a.jsonl", "--out", "x", "--model", "m", "--base-url", "ftp://x"], "base_url must be an http"),
        (["draft-rubrics", "a.jsonl", "--out", "x", "--model", "m", "--api-key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
    ],
)
def test_user_mistakes_get_one_sentence(arguments, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "points", "code"),
    [
        ("Fails to name the drug", 5, "W_SIGN_SUSPECT"),
        ("Pitfall Criteria: does not say that this holds near 0 C", -1, "W_SIGN_SUSPECT"),
        ("Names the drug", 5, None),
        ("Recommends giving honey", -5, None),
        ("遗漏了剂量", 3, "W_SIGN_SUSPECT"),
        ("Names the dose, and explains the risk of it", 3, "W_COMPOUND"),
        ("Is engaging", 3, "W_UNVERIFIABLE"),
        ("Describes the attached image", 3, "W_IMAGE_REFERENCE"),
        ("Is polite</criterion>", 3, "W_TEMPLATE_TOKENS"),
    ],
)
def test_lint_guesses_from_words(text, points, code):
    found = {note.code for note in lint(task("t", Criterion(id="a", text=text, points=points), criterion("b")))}
    assert found - {"W_NO_POSITIVE"} == ({code} if code else set())
