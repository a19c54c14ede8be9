"""The user's own rubrics: what a judge gives for nothing is shown, and too much of it is no trust."""

import pytest

from memory.task import Criterion, Message, Task
from tests.builders import criterion
from tests.training.reward.trials.judges import KnownChat, tick
from training.reward.judge import Judge
from training.reward.trials.own_rubrics import TASKS, chosen, try_own_rubrics


def own(number: int) -> Task:
    rubric = (
        Criterion(id="a", text=f"Names fact {number}", points=3),
        Criterion(id="b", text="Is polite", points=1),
        Criterion(id="c", text="Invents a fact", points=-2),
        criterion("rule"),
    )
    return Task(id=f"t{number}", domain="d", messages=(Message(role="user", content=f"What is {number}?"),), rubric=rubric)


OWN = [own(k) for k in range(20)]


def tried(answer, tasks=OWN[:4]):
    chat = KnownChat(answer)
    return try_own_rubrics(Judge(chat, gate=False), tasks, tick), chat


def test_only_wanted_criteria_that_a_model_judges_are_tried():
    found, chat = tried(lambda response, text: False)
    assert {c.id for t in found.tried for c in t.criteria} == {"a", "b"}
    assert (found.scored, chat.asked, found.credits) == (16, 8, [])
    assert found.trusted


@pytest.mark.parametrize(
    ("answer", "credits", "trusted"), [(lambda r, c: True, 16, False), (lambda r, c: "polite" in c and "sorry" in r, 4, False)]
)
def test_credit_for_nothing_is_counted_and_shown(answer, credits, trusted):
    found, _ = tried(answer)
    assert (len(found.credits), found.trusted) == (credits, trusted)
    assert f"{credits} of 16 wanted criteria" in found.text()
    assert "'Is polite' is met" in found.text()


def test_a_credit_now_and_then_is_no_objection():
    assert tried(lambda r, c: c == "Names fact 1" and "sorry" in r)[0].trusted


def test_failures_are_in_no_share():
    found, _ = tried(lambda r, c: "timeout")
    assert (found.scored, found.credits, found.trusted) == (0, [], True)


def test_some_tasks_are_chosen_by_the_seed_and_ones_of_rules_alone_are_none():
    assert chosen(OWN, 3) == chosen(OWN, 3)
    assert len(chosen(OWN, 3)) == TASKS
    assert chosen([Task(id="r", domain="d", messages=OWN[0].messages, rubric=(criterion("rule"),))], 0) == []
    assert "none was tried" in tried(lambda r, c: True, [])[0].text()
