"""The second judge looks at new credit only, is repeatable, and its failures count for nothing."""

import re

import pytest

from agents.chat import ChatFailure
from memory.embedding import HashingEmbedding
from memory.harness import Harness
from memory.memory import Memory
from memory.rundir import RunDir
from memory.task import Criterion, Message, Task, Verdict
from memory.visit import Rollout
from tests.builders import criterion
from training.config import parse_config
from training.loop.groups import Seat
from training.loop.second import SecondOpinion
from training.loop.visits import make_visits
from training.reward.judge import Judge
from training.session import open_second

NAMES = Criterion(id="names", text="Names the drug", points=5)
LONG = criterion("long", "word")
TASK = Task(id="t", domain="d", messages=(Message(role="user", content="Which drug?"),), rubric=(NAMES, LONG))


class Refuser:
    """Says not met where the response holds ``trick``; fails on ``broken``."""

    def __init__(self):
        self.asked = []

    def complete(self, system, user, schema):
        self.asked.append(user)
        if "broken" in user:
            raise ChatFailure("timeout", "slow")
        (i,) = re.findall(r"their ids are (C\d+):", user)
        verdict = "not_met" if "trick" in user else "met"
        return schema.model_validate({"judgements": [{"id": i, "reason": "r", "verdict": verdict}]})


@pytest.fixture
def memory(tmp_path):
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, {"t": TASK}, HashingEmbedding())
    yield memory
    memory.close()
    lock.release()


def group(step, texts, met):
    seat = Seat(TASK, Harness().of(TASK), None)
    rollouts = [
        Rollout(
            id=f"step-{step:06d}/{k}",
            task_id="t",
            text=text,
            tokens=3,
            score=0.5,
            verdicts=(Verdict.of("names", says), Verdict.of("long", True)),
        )
        for k, (text, says) in enumerate(zip(texts, met, strict=True))
    ]
    return seat, rollouts


def ask(memory, second, texts, before, now):
    first = group(0, texts, before)
    memory.record(0, *make_visits([first], [()], 0, 0))
    later = group(5, texts, now)
    return second.ask(5, [later], make_visits([later], [()], 5, 0), memory)


TEXTS = [f"trick {k}" for k in range(6)] + [f"fair {k}" for k in range(6)]


def test_new_credit_that_another_judge_refuses_is_counted(memory):
    chat = Refuser()
    reading = ask(memory, SecondOpinion(Judge(chat), 16, seed=0), TEXTS, [False] * 12, [True] * 12)
    assert reading == (0.5, "6 of 12 new credits")
    assert all("Names the drug" in user for user in chat.asked)


@pytest.mark.parametrize(
    ("before", "now"), [([True] * 12, [True] * 12), ([True] * 12, [False] * 12), ([False] * 12, [True, True] + [False] * 10)]
)
def test_what_was_credited_before_or_hardly_is_not_asked_about(memory, before, now):
    chat = Refuser()
    assert ask(memory, SecondOpinion(Judge(chat), 16, seed=0), TEXTS, before, now).value is None
    assert chat.asked == []


def test_a_task_that_was_not_seen_before_has_no_new_credit(memory):
    chat = Refuser()
    later = group(5, TEXTS, [True] * 12)
    assert SecondOpinion(Judge(chat), 16, seed=0).ask(5, [later], make_visits([later], [()], 5, 0), memory).value is None
    assert chat.asked == []


def test_no_more_than_the_number_are_asked_and_the_same_ones_again(memory):
    asked = []
    for _ in range(2):
        chat = Refuser()
        ask(memory, SecondOpinion(Judge(chat), 8, seed=0), TEXTS, [False] * 12, [True] * 12)
        asked.append(sorted(re.findall(r"(?:trick|fair) \d", " ".join(chat.asked))))
    assert asked[0] == asked[1]
    assert len(asked[0]) == 8


def test_failures_are_no_refusals(memory):
    texts = [f"broken {k}" for k in range(8)] + [f"fair {k}" for k in range(4)]
    reading = ask(memory, SecondOpinion(Judge(Refuser()), 16, seed=0), texts, [False] * 12, [True] * 12)
    assert reading == (None, "0 of 4 new credits")


def test_without_a_model_there_is_no_second_judge(monkeypatch):
    assert open_second(parse_config({}), None, None) is None
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    second = open_second(parse_config({"second": {"model": "other", "per_step": 9}}), None, None)
    assert (second.number, second.judge.protocol) == (9, "per_criterion")
    second.chat.close()
