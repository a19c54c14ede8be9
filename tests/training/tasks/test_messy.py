"""Rubric files as people bring them come out as expected: 51 rows with shapes, slips and extremes."""

import json
import re
from pathlib import Path

import pytest

from memory.errors import TaskError
from memory.task import Task
from training.tasks.length import fit_prompts
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

MESSY = Path(__file__).parents[4] / "shared/data/messy_rubrics.jsonl"
CASES = [json.loads(line) for line in MESSY.read_text(encoding="utf-8").splitlines()] if MESSY.exists() else []

pytestmark = pytest.mark.skipif(not CASES, reason="the shared data set messy_rubrics.jsonl is not beside the project")


def expanded(case):
    """The case with the long texts and lists that its ``expand`` describes."""
    for step in case.get("expand", []):
        holder, key = case, None
        steps = [int(s) if s.isdigit() else s for s in re.findall(r"[^.\[\]]+", step["path"])]
        for key in steps[:-1]:
            holder = holder[key]
        key = steps[-1]
        if "repeat_numbered" in step:
            first = holder[key][0]
            field = "criterion" if "criterion" in first else "text"
            holder[key] = [{**first, field: re.sub(r"\d+", str(n), first[field])} for n in range(1, step["repeat_numbered"] + 1)]
        else:
            text = step.get("prefix", "") + step["unit"] * step["times"]
            holder[key] = text.strip() if step.get("strip") else text
    return case


def source_of(case, tmp_path):
    path = tmp_path / "rows.jsonl"
    line = case.get("raw_line") or json.dumps(case["record"], ensure_ascii=False)
    path.write_text(line + "\n", encoding="utf-8")
    options = case.get("options", {})
    fields = {("rubric" if k == "criteria" else k): v for k, v in options.get("field_map", {}).items()}
    return TaskSource(path=str(path), fields=fields, weights=options.get("weight_map", {}))


def told(criterion):
    """A criterion as the expectations write it."""
    told = {"text": criterion.text, "points": criterion.points, "kind": criterion.kind}
    if criterion.rule:
        told["rule"] = {"name": criterion.rule.name, "args": criterion.rule.args}
    if criterion.levels:
        told |= {"levels": criterion.levels, "scale": [criterion.legal_levels[0], criterion.legal_levels[-1]]}
    return told


def counted(messages):
    return sum(len(m.content.split()) for m in messages)


@pytest.mark.parametrize("case", [pytest.param(expanded(c), id=c["id"]) for c in CASES])
def test_a_row_comes_out_as_expected(case, tmp_path):
    expected, options = case["expected"], case.get("options", {})
    source = source_of(case, tmp_path)
    if expected["outcome"] == "error":
        with pytest.raises(TaskError) as error:
            load_tasks([source], "tasks.train")
        skipped = load_tasks([source, TaskSource(suite="lab")], "tasks.train", "skip")
        assert [r.code for r in skipped.remarks if r.code.startswith("E_")] == [expected["code"]]
        assert skipped.skipped == 1
        for part in (*expected["message_must_name"], "rows.jsonl row 1"):
            assert part in str(error.value)
        return
    loaded = load_tasks([source], "tasks.train")
    if expected["outcome"] == "drop":
        fitted, remarks = fit_prompts(loaded.tasks, counted, options["max_prompt_tokens"], options["overlong"], "tasks.train")
        assert (fitted, [r.code for r in remarks]) == ([], [expected["code"]])
        assert all(part in remarks[0].text for part in expected["message_must_name"])
        return
    (task,) = loaded.tasks
    wanted = expected["normalised"]
    assert [m.model_dump() for m in task.messages] == wanted["messages"]
    for criterion, want in zip(task.rubric, wanted["criteria"], strict=True):
        assert told(criterion) == {k: v for k, v in want.items() if k != "title"}
        assert "title" not in want or criterion.title == want["title"]
    assert task.reference == wanted["reference"]
    codes = {remark.code for remark in loaded.remarks}
    assert set(expected["warnings"]) <= codes <= {*expected["warnings"], *expected["warnings_optional"]}
    assert Task.model_validate_json(task.model_dump_json()) == task
