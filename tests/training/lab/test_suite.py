"""The shipped suite: shape, split, and starts that hold under the shipped policy."""

import json
from collections import Counter
from functools import cache

import pytest

from memory.task import Criterion, Task
from tests.training.lab.conftest import Speak
from training.lab import HELDOUT_FILE, TRAIN_FILE
from training.lab.suite import load_gold, suite
from training.reward.rules import check, validate

ROLLOUTS = 8


@cache
def load(heldout: bool) -> tuple[Task, ...]:
    lines = (HELDOUT_FILE if heldout else TRAIN_FILE).read_text(encoding="utf-8").splitlines()
    return tuple(Task.model_validate_json(line) for line in lines)


def passes(criterion: Criterion, response: str) -> bool:
    assert criterion.rule is not None
    return check(criterion.rule, response) == (criterion.points > 0)


def test_the_shipped_files_are_what_the_command_writes() -> None:
    train, heldout, _ = suite()
    assert tuple(train) == load(False)
    assert tuple(heldout) == load(True)


def test_counts_rubrics_and_rules() -> None:
    assert len(load(False)) >= 120
    assert len(load(True)) >= 60
    every = load(False) + load(True)
    assert len({task.id for task in every}) == len(every)
    assert {task.domain for task in load(False)} == {task.domain for task in load(True)}
    for task in every:
        assert 3 <= len(task.rubric) <= 6
        for criterion in task.rubric:
            assert criterion.rule is not None
            validate(criterion.rule)


def test_heldout_topics_never_occur_in_training() -> None:
    topics = [{task.id.rsplit("-", 1)[0] for task in load(heldout)} for heldout in (False, True)]
    assert not topics[0] & topics[1]


def test_tasks_tell_nothing_of_gold() -> None:
    text = TRAIN_FILE.read_text(encoding="utf-8") + HELDOUT_FILE.read_text(encoding="utf-8")
    for line in text.splitlines():
        assert set(json.loads(line)) == {"id", "domain", "messages", "rubric"}
    for start in ("blind", "saturated", "spurious", "healthy"):
        assert start not in text


def test_gold_covers_every_task_in_the_stated_mix() -> None:
    gold = load_gold()
    for tasks in (load(False), load(True)):
        assert all(gold.covers(task.id) for task in tasks)
        starts = Counter[str](gold.start(task.id) for task in tasks)
        for start, share in (("blind", 0.3), ("saturated", 0.25), ("spurious", 0.25), ("healthy", 0.2)):
            assert starts[start] == pytest.approx(share * len(tasks), rel=0.25)


def test_starts_hold_under_the_shipped_policy(speak: Speak) -> None:
    gold = load_gold()
    tasks = load(False)[:64]
    responses = speak([task.messages for task in tasks for _ in range(ROLLOUTS)])
    both_fail: dict[str, list[float]] = {"blind": [], "saturated": [], "spurious": [], "healthy": []}
    both_pass = {start: [] for start in both_fail}  # type: ignore[var-annotated]
    for i, task in enumerate(tasks):
        group = responses[i * ROLLOUTS : (i + 1) * ROLLOUTS]
        total = sum(abs(c.points) for c in task.rubric)
        rates = [(abs(c.points) / total, sum(passes(c, r) for r in group)) for c in task.rubric]
        pairs = ROLLOUTS * (ROLLOUTS - 1)
        start = gold.start(task.id)
        both_fail[start].append(sum(w * (ROLLOUTS - n) * (ROLLOUTS - n - 1) / pairs for w, n in rates))
        both_pass[start].append(sum(w * n * (n - 1) / pairs for w, n in rates))
    fail = {start: sum(shares) / len(shares) for start, shares in both_fail.items()}
    won = {start: sum(shares) / len(shares) for start, shares in both_pass.items()}
    assert fail["blind"] > 0.8
    assert won["saturated"] > 0.8
    assert 1 - fail["spurious"] - won["spurious"] > 0.25
    assert 1 - fail["healthy"] - won["healthy"] > 0.28
