"""Task files load as they are or say in one sentence which row is wrong and how."""

import json

import pytest

from memory.errors import TaskError
from tests.builders import task
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource


def loaded(*places, field="tasks.train"):
    return load_tasks([TaskSource.model_validate(place) for place in places], field).tasks


def write(tmp_path, *lines, name="tasks.jsonl"):
    path = tmp_path / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return str(path)


ROW = json.loads(task("one").model_dump_json())


def changed(**fields):
    return {**ROW, **fields}


def test_rows_load_in_order_over_sources_and_blank_lines_and_a_bom_are_no_matter(tmp_path):
    first = write(tmp_path, "\ufeff" + json.dumps(ROW), "", name="a.jsonl")
    second = write(tmp_path, changed(id="two"), name="b.jsonl")
    assert [t.id for t in loaded(first, second)] == ["one", "two"]


def test_the_lab_has_two_halves():
    train, heldout = loaded("lab"), loaded("lab", field="tasks.heldout")
    assert not {t.id for t in train} & {t.id for t in heldout}


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("{not json", "line 1 is not JSON"),
        ("[1]", "must be an object"),
        (changed(domian="x"), "unknown field 'domian'; did you mean 'domain'"),
        (changed(rubric=[]), "rubric"),
        (changed(rubric=[{**ROW["rubric"][0], "points": 0}]), "points must be a non-zero finite number"),
        (changed(rubric=[{**ROW["rubric"][0], "points": "NaN"}]), "points"),
        (changed(rubric=[ROW["rubric"][0]] * 2), "criterion ids must be unique"),
        (changed(rubric=[{**ROW["rubric"][0], "rule": None}]), "go together"),
        (changed(rubric=[{**ROW["rubric"][0], "rule": {"name": "mentions_al", "args": {"phrases": ["x"]}}}]), "mentions_al"),
        ({k: v for k, v in ROW.items() if k != "messages"}, "messages"),
    ],
)
def test_a_wrong_row_names_file_row_field_and_what_is_expected(tmp_path, row, expected):
    path = write(tmp_path, row)
    with pytest.raises(TaskError) as error:
        loaded(path)
    for part in ("tasks.train", "tasks.jsonl row 1", expected):
        assert part in str(error.value)
    assert "\n" not in str(error.value)


def test_missing_empty_and_doubled(tmp_path):
    with pytest.raises(TaskError, match="does not exist"):
        loaded(str(tmp_path / "none.jsonl"))
    with pytest.raises(TaskError, match="no tasks"):
        loaded(write(tmp_path))
    assert loaded(field="tasks.heldout") == []
    with pytest.raises(TaskError, match="'one' occurs twice"):
        loaded(write(tmp_path, ROW, ROW))
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TaskError, match="UTF-8"):
        loaded(str(binary))
