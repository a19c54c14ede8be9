"""The pre-flight trusts a judge that knows the known answers, and says in words why not where it does not."""

import pytest

from tests.training.reward.trials.judges import KnownChat, tick
from training.reward.gate import is_empty
from training.reward.judge import Judge
from training.reward.trials.known_answers import KINDS, TASKS, WORTHLESS, questions
from training.reward.trials.preflight import preflight

TRUTH = {
    (task.answer(kind), (c.text if c.levels is None else "levels")): (met, c.levels is not None)
    for task, kind in questions()
    for c, met in zip(task.rubric, task.expected(kind), strict=True)
}


def right(response: str, criterion: str):
    """The right verdict, or the highest or lowest level."""
    levelled = "level 1:" in criterion
    met, _ = TRUTH[response, "levels" if levelled else criterion]
    return (4 if met else 1) if levelled else met


def yes(response: str, criterion: str):
    return 4 if "level 1:" in criterion else True


def no(response: str, criterion: str):
    return 1 if "level 1:" in criterion else False


def found(answer, max_unscored: float = 0.2, **settings):
    return preflight(Judge(KnownChat(answer), gate=False, **settings), "fake", max_unscored, tick)


@pytest.mark.parametrize("protocol", ["batched", "per_criterion"])
def test_a_judge_that_is_right_is_trusted(protocol):
    report = found(right, protocol=protocol)
    assert report.trusted, report.text()
    assert "can be trusted with rubrics like these" in report.text()
    assert "Wrong verdicts" not in report.text()


def test_a_gullible_judge_is_not_trusted_for_what_it_credits():
    report = found(yes)
    assert not report.trusted
    text = report.text()
    assert "cannot be trusted" in text
    assert "of answers that are worth nothing" in text
    assert "does not score the good answer above the bad one" in text
    assert "is not met, judged met: because" in text


def test_a_grim_judge_is_not_trusted_for_what_it_refuses():
    text = found(no).text()
    assert "of good answers; at least 90%" in text
    assert "worth nothing" not in text


def test_a_judge_that_takes_the_rubric_for_an_answer_is_not_trusted():
    echoes = {task.answer("rubric echo") for task in TASKS}
    report = found(lambda r, c: yes(r, c) if r in echoes else right(r, c))
    assert [len(report.objections), "worth nothing" in report.objections[0]] == [1, True]


def test_one_slip_among_worthless_answers_is_forgiven():
    slip = (TASKS[0].refusal, TASKS[0].rubric[0].text)
    assert found(lambda r, c: True if (r, c) == slip else right(r, c)).trusted


def test_empty_answers_are_never_sent():
    chat = KnownChat(lambda r, c: pytest.fail("sent") if is_empty(r) else right(r, c))
    assert preflight(Judge(chat, gate=False), "fake", 0.2, tick).trusted


def test_failures_are_unscored_and_too_many_of_them_no_trust():
    some = found(lambda r, c: "length" if r == TASKS[0].good else right(r, c))
    assert some.trusted
    assert "- length: 4; the reply was cut" in some.text()
    report = found(lambda r, c: "connection")
    assert not report.trusted
    assert "it gave no verdict on 70 of 70 criteria" in report.text()
    assert [right for kind in KINDS if kind != "empty" for right in report.right((kind,))] == []


def test_known_answers_hold_what_they_promise():
    """Nobody can dispute an answer that echoes a fault or meets a criterion by chance."""
    for task in TASKS:
        assert task.expected("good") == [c.points > 0 for c in task.rubric]
        assert task.expected("bad") == [c.points < 0 for c in task.rubric]
        assert all(not any(task.expected(kind)) for kind in WORTHLESS)
        assert len({task.answer(kind) for kind in KINDS}) == len(KINDS)
        assert is_empty(task.answer("empty"))
        for criterion in task.rubric:
            assert criterion.text not in task.prompt + task.refusal
