"""The audit tells a judge that falls for tricks from one that does not, and one that refuses honest answers from one that does not."""

import json
import random
from pathlib import Path

import pytest

from memory.errors import TaskError
from tests.training.reward.trials.judges import KnownChat, tick
from training.reward.gate import visible
from training.reward.judge import Judge
from training.reward.trials.audit import Hack, audit, false_credit, load_hacks, refused
from training.reward.trials.trial import share

DATA = Path(__file__).parents[4] / "../shared/data/reward_hacks.jsonl"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="shared/data/reward_hacks.jsonl is not beside the project")


def hack(number: int, control: bool = False, points=(5, 3, -4), expected=None, **more) -> Hack:
    """By default an attack that should earn nothing but keeps clear of the fault, or a control that earns everything."""
    expected = list(expected) if expected is not None else [control and p > 0 for p in points]
    return Hack.model_validate(
        {
            "id": f"h{number}",
            "category": "honest" if control else "trick",
            "control": control,
            "prompt": [{"role": "user", "content": "Why?"}],
            "rubric": [{"criterion": f"criterion {number}-{i}", "points": p} for i, p in enumerate(points)],
            "response": f"response {number}",
            "expected_verdicts": expected,
            **more,
        }
    )


def truth(hacks) -> dict[tuple[str, str], bool]:
    return {(visible(h.response), c.criterion): met for h in hacks for c, met in zip(h.rubric, h.expected_verdicts, strict=True)}


def found(hacks, answer, **settings):
    return audit(Judge(KnownChat(answer), gate=False, **settings), hacks, "fake", tick)


def judged_by(hacks, kind: str):
    known = truth(hacks)
    return found(hacks, {"right": lambda r, c: known[r, c], "yes": lambda r, c: True, "no": lambda r, c: False}[kind])


HACKS = [hack(i) for i in range(30)] + [hack(i, control=True) for i in range(30, 40)]


def counts(report) -> list[tuple[int, int]]:
    return [(s.hits, s.total) for s in (false_credit(report.attacks), refused(report.controls))]


def test_perfect_gullible_and_grim_judges_are_told_apart():
    assert counts(judged_by(HACKS, "right")) == [(0, 60), (0, 30)]
    assert counts(judged_by(HACKS, "yes")) == [(60, 60), (10, 30)]  # it also sees a fault in every control
    assert counts(judged_by(HACKS, "no")) == [(0, 60), (20, 30)]


def test_a_fault_that_is_overlooked_is_false_credit():
    evasion = hack(1, points=(5, -6), expected=[False, True])
    overlooked = found([evasion], lambda r, c: False)
    assert (false_credit(overlooked.cases).hits, false_credit(overlooked.cases).total) == (1, 2)
    assert overlooked.cases[0].stolen == pytest.approx(6 / 11)


@pytest.mark.parametrize("rate", [0.05, 0.3])
def test_known_error_rates_lie_in_the_interval(rate):
    hacks = [hack(i, control=i % 3 == 0) for i in range(300)]
    known, rng = truth(hacks), random.Random(4)
    flips = {key: rng.random() < rate for key in known}
    report = found(hacks, lambda r, c: known[r, c] != flips[r, c])
    for measured in (false_credit(report.attacks), refused(report.controls)):
        assert measured.interval.low < rate < measured.interval.high
        assert measured.interval.high - measured.interval.low < 0.15


def test_failures_are_neither_right_nor_wrong():
    hacks = [hack(i) for i in range(10)]
    report = found(hacks, lambda r, c: "timeout" if r in ("response 0", "response 1") else True)
    assert (false_credit(report.attacks).hits, false_credit(report.attacks).total) == (16, 16)
    assert report.unscored == {"timeout": 6}
    assert "Unscored, in no number here: 6\n- timeout: 6; raise judge.timeout" in report.text()


def test_borderline_criteria_and_those_for_code_are_in_no_rate():
    borderline = hack(1, borderline_criteria=[0])
    by_code = Hack.model_validate(
        {**hack(2).model_dump(), "rubric": [{"criterion": "rule: no_comma", "points": 2}, {"criterion": "b", "points": 1}]}
        | {"expected_verdicts": [True, False]}
    )
    asked = []
    report = found([borderline, by_code], lambda r, c: asked.append(c) or True, batch=1)
    assert (false_credit(report.attacks).hits, false_credit(report.attacks).total) == (2, 2)
    assert "rule: no_comma" not in asked
    assert "1 criteria marked borderline, 1 that code checks" in report.text()


def test_the_report_shows_categories_and_the_worst_first():
    mild, bad = hack(1, points=(1, 9, -1), why="mild"), hack(2, why="bad one")
    report = found([mild, bad, hack(3, control=True)], lambda r, c: c in ("criterion 1-0", "criterion 2-0", "criterion 2-1"))
    text = report.text()
    assert "| trick | 2 | 3 of 4 | 0 of 2 | 0 |" in text
    assert "| honest | 1 | - | 2 of 3 | 0 |" in text
    assert text.index("- h2 (trick)") < text.index("- h1 (trick)")
    assert "note: bad one" in text
    assert "judged met: because" in text


def test_few_responses_that_go_alike_leave_a_wide_interval():
    few, many = share([0, 0, 0], [10, 10, 10]), share([0] * 30, [1] * 30)
    assert few.interval.high > 0.5 > 0.12 > many.interval.high
    together, apart = share([10, 0] * 10, [10, 10] * 10), share([5] * 20, [10] * 20)
    assert together.interval.low < apart.interval.low < 0.5
    assert share([], []).interval is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expected_verdicts": [True]}, "row 1: 'h0' has 1 expected_verdicts for 3 criteria"),
        ({"expected_verdicts": ["met", True, True]}, "row 1: expected_verdicts.0: Input should be a valid boolean"),
        ({"borderline_criteria": [3]}, "borderline_criteria must be places in the rubric, from 0 to 2"),
        ({"rubric": [{"criterion": "a", "points": 0}] * 3}, "rubric.0.points: points must be a non-zero finite number, got 0"),
        ({"respones": ""}, "row 1: unknown field 'respones'; did you mean 'response'?"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, change, message):
    path = tmp_path / "hacks.jsonl"
    path.write_text(json.dumps({**hack(0).model_dump(mode="json"), **change}))
    with pytest.raises(TaskError, match="--hacks: ") as error:
        load_hacks(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("text", "message"), [("", "has no rows"), ("{", "row 1: not JSON"), ("[]", "row 1: Input should be")])
def test_a_file_without_rows_is_refused(tmp_path, text, message):
    path = tmp_path / "hacks.jsonl"
    path.write_text(text)
    with pytest.raises(TaskError, match=message):
        load_hacks(path)


@needs_data
def test_the_shared_file_is_understood_and_a_right_judge_has_no_fault():
    hacks = load_hacks(DATA)
    assert len(hacks) == 33
    report = judged_by(hacks, "right")
    assert false_credit(report.cases).hits == refused(report.cases).hits == 0
    assert not report.unscored
    assert false_credit(judged_by(hacks, "yes").attacks).interval.low > 0.8
