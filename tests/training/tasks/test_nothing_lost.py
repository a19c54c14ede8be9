"""No point, sign, criterion or part of a prompt is lost or turned round without a word: it is kept, noted or refused."""

import json

import pytest

from memory.errors import TaskError
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

ASKED = {"prompt": "Which dose?"}


def load(tmp_path, record, **settings):
    path = tmp_path / "rows.jsonl"
    path.write_text((record if isinstance(record, str) else json.dumps(record)) + "\n", encoding="utf-8")
    return load_tasks([TaskSource(path=str(path), **settings)], "tasks.train")


def rubric(value):
    return {**ASKED, "rubric": value}


@pytest.mark.parametrize(
    ("record", "points"),
    [
        (rubric([{"criterion": "Is rude", "Points": -2}]), [-2]),
        (rubric([{"criterion": "Is rude", "points": None, "weight": -2}]), [-2]),
        (rubric({"criteria": ["a", "b"], "weights": [3, -2]}), [3, -2]),
        (rubric({"criterion": ["a", "b"], "points": "[3, -2]"}), [3, -2]),
        ({**ASKED, "positive_rubrics": ["a"], "negative_rubrics": [{"description": "b", "weight": "2"}]}, [1, -2]),
        (rubric({"positive": ["a"], "negative": '["b"]'}), [1, -1]),
        (rubric("1. Names X (5 points)\n2. Is rude (-3 points)"), [5, -3]),
        (rubric(["(-3) Is rude", "[+2] Is kind"]), [-3, 2]),
        (rubric({"Is rude": "-3", "Is kind": "2"}), [-3, 2]),
        (rubric("[{'criterion': 'a', 'points': 3}, {'criterion': 'b', 'points': -2}]"), [3, -2]),
        (rubric(json.dumps(json.dumps([{"criterion": "a", "points": 3}]))), [3]),
        (rubric([{"text": "a", "points": 1, "rule": "word_count", "args": {"max": 3}}]), [1]),
    ],
)
def test_points_and_signs_are_kept(tmp_path, record, points):
    (task,) = load(tmp_path, record).tasks
    assert [c.points for c in task.rubric] == points


@pytest.mark.parametrize(
    ("record", "texts"),
    [
        (rubric([{"criterion": "Dose", "description": "States 5 mg", "weight": 3}]), ["Dose: States 5 mg"]),
        (rubric({"composition": ["Ends well"], "content": ["Names X"]}), None),
        (
            rubric("- 3.5 g per day is named\n- **Essential** is stressed"),
            ["3.5 g per day is named", "**Essential** is stressed"],
        ),
        (rubric("（一）提到剂量\n（二）语气礼貌"), ["提到剂量", "语气礼貌"]),
        (rubric("- [ ] Names X\n- [x] Names Y"), ["Names X", "Names Y"]),
    ],
)
def test_texts_are_kept_whole(tmp_path, record, texts):
    if texts is None:
        with pytest.raises(TaskError):
            load(tmp_path, record)
        return
    (task,) = load(tmp_path, record).tasks
    assert [c.text for c in task.rubric] == texts


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (rubric([{"criterion": "a", "max_points": 3}]), "a number in 'max_points'"),
        (rubric([{"criterion": "Is rude", "points": 5, "type": "negative"}]), "its points are not negative"),
        (rubric([{"question": "Is it profane?", "answer": "No"}]), "reword it to what is wanted"),
        (
            rubric([{"description": "How accurate", "weight": 5, "sub_criteria": [{"criterion": "a"}]}]),
            "criteria inside a criterion",
        ),
        (rubric("The answer must not:\n1. blame the user\n2. guess"), "heads a list of what is unwanted"),
        (rubric('[{"criterion": "a"'), "looks like JSON"),
        ({**ASKED, "positive_rubrics": ["a"], "rubric": ["b"], "negative_rubrics": "b"}, "must be two lists"),
        ({**rubric(["a", "b"]), "images": ["x.png"]}, "'images' stands beside the prompt"),
        ({**rubric(["a", "b"]), "tools": [{"name": "search"}]}, "'tools' stands beside the prompt"),
        ('{"prompt": "x", "rubric": ["a"], "rubric": ["b"]}', "'rubric' occurs twice"),
        ({"prompt": "x", "reward_model": {"ground_truth": '["Paris", "PARIS, France"]'}}, "without a rubric"),
        ({"prompt": "x", "reward_model": {"ground_truth": '{"x": 5, "y": 3}'}}, "without a rubric"),
        (rubric([{"criterion": "a", "points": int("9" * 400)}]), "finite"),
    ],
)
def test_what_would_be_lost_is_refused(tmp_path, record, told):
    with pytest.raises(TaskError) as error:
        load(tmp_path, record)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("record", "settings"),
    [
        ({**rubric(["a", "b"]), "context": "A long letter."}, {}),
        (rubric(["a", "b"]), {"fields": {"reference": "gold"}}),
    ],
)
def test_what_is_not_read_is_noted(tmp_path, record, settings):
    assert load(tmp_path, record, **settings).counts()["W_UNREAD"] == 1


def test_usual_names_are_found_whatever_the_format(tmp_path):
    record = {
        **ASKED,
        "rubrics": ["a", "b"],
        "reference_answer": "5 mg",
        "task_id": 7,
        "category": "medical",
        "system_message": "Be brief.",
    }
    (task,) = load(tmp_path, record).tasks
    assert (task.id, task.reference, task.domain) == ("rows-7", "5 mg", "medical")
    assert task.messages[0].role == "system"


def test_a_character_with_a_request_of_its_own_keeps_it(tmp_path):
    record = {"char_name": "Mira", "system_prompt": "You are Mira.", "prompt": "What is in your basket?", "rubric": ["a", "b"]}
    (task,) = load(tmp_path, record).tasks
    assert [m.content for m in task.messages] == ["You are Mira.", "What is in your basket?"]


def test_rows_of_one_task_are_one_task_whatever_else_differs(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(
        "id, prompt, criterion, score, axis\n1, Why?, a, 3, x\n2, Why?, b, -2, y\n3, How?, c, 1, x\n", encoding="utf-8"
    )
    first, second = load_tasks([TaskSource(path=str(path))], "tasks.train").tasks
    assert ([c.points for c in first.rubric], [c.points for c in second.rubric]) == ([3, -2], [1])
    path.write_text("prompt,criterion\nWhy?,a\nHow?,b\nWhy?,c\n", encoding="utf-8")
    with pytest.raises(TaskError, match="sort the rows by task"):
        load_tasks([TaskSource(path=str(path))], "tasks.train")


@pytest.mark.parametrize(
    "text", ['{"train": [{"prompt": "x"}], "test": [{"prompt": "y"}]}', "- prompt: x\n  rubric: [a]\n  rubric: [b]\n"]
)
def test_a_document_of_which_a_part_would_be_lost_is_refused(tmp_path, text):
    path = tmp_path / ("t.json" if text.startswith("{") else "t.yaml")
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TaskError, match=r"several lists|occurs twice"):
        load_tasks([TaskSource(path=str(path))], "tasks.train")
