"""S is in [0, 1] for every legal rubric, leaves failures out, and ranks like the raw sum of points."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.task import Verdict
from tests.builders import criterion
from training.reward.score import raw_score, score

POINTS = st.floats(-100, 100).filter(lambda p: abs(p) > 1e-3)
LEGAL = st.floats(allow_nan=False, allow_infinity=False).filter(lambda p: p != 0)


def rubric(points):
    return [criterion(f"c{i}", points=p) for i, p in enumerate(points)]


def verdicts(met):
    return [Verdict.unscored(f"c{i}", "timeout") if m is None else Verdict.of(f"c{i}", m) for i, m in enumerate(met)]


@given(st.lists(st.tuples(LEGAL, st.sampled_from([True, False, None])), min_size=1, max_size=12))
def test_every_legal_rubric_gives_a_number_in_range_or_unscored(pairs):
    points, met = zip(*pairs, strict=True)
    found = score(rubric(points), verdicts(met), 0.5)
    assert found is None or 0 <= found <= 1
    raw = raw_score(rubric(points), verdicts(met), 0.5)
    assert raw is None or (raw <= 1 + 1e-9 and not math.isnan(raw))
    assert found is not None or raw is None


def test_the_raw_score_is_that_of_healthbench_and_may_be_negative():
    three = rubric([10, 5, -9])
    assert raw_score(three, verdicts([True, False, True]), 1.0) == pytest.approx(1 / 15)
    assert raw_score(three, verdicts([False, False, True]), 1.0) == pytest.approx(-9 / 15)
    assert raw_score(three, verdicts([False, None, True]), 1.0) is None
    assert raw_score(rubric([-1]), verdicts([False]), 1.0) is None


@given(st.lists(st.tuples(POINTS, st.booleans(), st.booleans()), min_size=1, max_size=8))
def test_it_ranks_like_the_raw_sum_of_met_points(triples):
    points, one, two = zip(*triples, strict=True)
    raw = [sum(p for p, m in zip(points, met, strict=True) if m) for met in (one, two)]
    got = [score(rubric(points), verdicts(met), 1.0) for met in (one, two)]
    total = sum(abs(p) for p in points)
    assert got[0] - got[1] == pytest.approx((raw[0] - raw[1]) / total, abs=1e-9)


def test_a_failed_verdict_is_left_out_and_too_many_make_the_rollout_unscored():
    three = rubric([1, 1, 2])
    assert score(three, verdicts([True, None, False]), 0.7) == pytest.approx(1 / 3)
    assert score(three, verdicts([True, True, None]), 0.7) is None
    assert score(three, verdicts([None, None, None]), 0.1) is None


def test_grades_count_in_between():
    graded = Verdict.graded("c0", 0.75)
    assert score(rubric([2]), [graded], 1.0) == 0.75
    assert score(rubric([-2]), [graded], 1.0) == 0.25


def test_verdicts_that_do_not_match_the_rubric_are_a_fault_not_a_score():
    with pytest.raises(ValueError, match="1 verdicts do not match 2 criteria"):
        score(rubric([1, 1]), verdicts([True]), 1.0)
