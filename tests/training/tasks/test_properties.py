"""What holds for every rubric: convert and load give it back, points are finite, order and ids stay."""

import json
import math
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import TaskError
from memory.task import Task, Verdict
from training.reward.score import raw_score, score
from training.tasks.load import load_tasks
from training.tasks.record import to_line
from training.tasks.source import TaskSource

TEXT = st.text(min_size=1, max_size=40)
POINTS = st.one_of(
    st.integers(-10, 10), st.floats(), st.sampled_from(["3", "-2", "Essential", "", None, "30%", True, "1e400", "nan"])
)
CRITERION = st.one_of(
    st.fixed_dictionaries({"criterion": TEXT, "points": POINTS}),
    st.fixed_dictionaries({"title": TEXT, "description": TEXT, "weight": POINTS}),
    st.fixed_dictionaries({"name": TEXT, "criteria_description": TEXT, "1-2": TEXT, "3-4": TEXT}),
    st.fixed_dictionaries({"text": TEXT, "rule": st.just({"name": "word_count", "args": {"max": 3}})}),
    TEXT,
)
RUBRIC = st.one_of(
    st.lists(CRITERION, max_size=5), st.dictionaries(TEXT, st.one_of(TEXT, POINTS, CRITERION), max_size=3), TEXT, st.none()
)
PROMPT = st.one_of(
    TEXT,
    st.lists(
        st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "human", "assistant", "tool"]), "content": TEXT}),
        max_size=3,
    ),
    st.integers(),
)
RECORD = st.fixed_dictionaries({"prompt": PROMPT}, optional={"rubric": RUBRIC, "rubrics": RUBRIC, "id": TEXT, "domain": TEXT})
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def loaded(lines):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.jsonl"
        path.write_text("".join(lines), encoding="utf-8", errors="surrogatepass")
        source = TaskSource(path=str(path), weights={"Essential": 5})
        try:
            return load_tasks([source], "tasks.heldout", "skip")
        except TaskError as error:
            problem = str(error)
    assert "\n" not in problem
    return None


def lines_of(records):
    return [json.dumps(record) + "\n" for record in records]


@QUIET
@given(st.lists(RECORD, min_size=1, max_size=3))
def test_any_record_is_a_task_or_one_sentence(records):
    found = loaded(lines_of(records))
    if found is not None:
        assert len(found.tasks) + found.skipped == len(records)
        assert len({task.id for task in found.tasks}) == len(found.tasks)


@QUIET
@given(st.lists(RECORD, min_size=1, max_size=3))
def test_converting_and_loading_again_changes_nothing(records):
    found = loaded(lines_of(records))
    if found is None:
        return
    again = loaded([to_line(task) for task in found.tasks])
    assert again is not None
    assert again.tasks == found.tasks
    assert [to_line(task) for task in again.tasks] == [to_line(task) for task in found.tasks]


@QUIET
@given(RECORD, st.data())
def test_every_task_that_loads_scores_in_range(record, data):
    found = loaded(lines_of([record]))
    for task in found.tasks if found else ():
        met = data.draw(st.lists(st.sampled_from([True, False, None]), min_size=len(task.rubric), max_size=len(task.rubric)))
        verdicts = [
            Verdict.unscored(c.id, "timeout") if m is None else Verdict.of(c.id, m) for c, m in zip(task.rubric, met, strict=True)
        ]
        value, raw = score(task.rubric, verdicts, 0.5), raw_score(task.rubric, verdicts, 0.5)
        assert value is None or 0 <= value <= 1
        assert raw is None or math.isfinite(raw) or max(abs(c.points) for c in task.rubric) > 1e100


def test_a_task_in_our_own_format_comes_back_word_for_word():
    text = "  two  spaces, ﬁ and e\u0301 \u200b"
    task = Task.model_validate(
        {
            "id": " i ",
            "domain": "d",
            "messages": [{"role": "user", "content": text}],
            "rubric": [{"id": "c", "text": text, "points": 0.1}],
        }
    )
    found = loaded([to_line(task)])
    assert found is not None
    assert found.tasks == [task]
