"""Pair classes partition the pairs, and unscored parts stay out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.pairs import Orders, class_tensor, group_shares, pass_matrix, points_weights, shares_of, weighted
from memory.task import Verdict
from memory.visit import PairOrder, Rollout
from tests.builders import criterion, orders, rollouts, task, visit


@pytest.mark.parametrize(
    ("texts", "quality", "expected"),
    [
        (["nothing", "nothing"], [1, 0], "blind"),
        (["alpha beta", "alpha beta"], [1, 0], "saturated"),
        (["alpha beta", "nothing"], [0, 1], "spurious"),
        (["alpha beta", "nothing"], [0, 0], "spurious"),
        (["alpha beta", "nothing"], [1, 0], "agree"),
    ],
)
def test_each_class_is_recognised(texts, quality, expected):
    shares, _ = group_shares(rollouts(task(), texts), task().rubric, orders(quality))
    assert getattr(shares, expected) == 1.0
    assert shares.blind + shares.saturated + shares.spurious + shares.agree == pytest.approx(1.0)


def test_shares_are_weighted_by_points():
    t = task("t", criterion("alpha", points=3), criterion("beta", points=1))
    shares, _ = group_shares(rollouts(t, ["beta", "nothing"]), t.rubric, orders([1, 0]))
    assert (shares.blind, shares.agree) == (0.75, 0.25)


def test_a_negative_criterion_passes_when_it_is_not_met():
    t = task("t", criterion("alpha", points=-1))
    shares, (health,) = group_shares(rollouts(t, ["alpha", "nothing"]), t.rubric, orders([0, 1]))
    assert health.pass_rate == 0.5
    assert shares.agree == 1.0


def test_unscored_rollouts_and_verdicts_take_no_part():
    t = task()
    good, bad = rollouts(t, ["alpha beta", "nothing"])
    failed = bad.model_copy(update={"score": None})
    shares, health = group_shares([good, failed], t.rubric, orders([1, 0]))
    assert shares.pairs == 0
    assert health[0].pass_rate == 1.0
    assert health[0].unscored == 1
    half = bad.model_copy(update={"verdicts": (Verdict.unscored("alpha", "timeout"), bad.verdicts[1])})
    shares, _ = group_shares([good, half], t.rubric, orders([1, 0]))
    assert shares.pairs == 0.5
    assert shares.agree == 1.0


def test_without_q_what_separates_counts_as_agree():
    pairs = [PairOrder(first=0, second=1, order=None)]
    shares, _ = group_shares(rollouts(task(), ["alpha", "nothing"]), task().rubric, pairs)
    assert (shares.blind, shares.spurious, shares.agree) == (0.5, 0.0, 0.5)


@given(st.lists(st.sets(st.sampled_from(["alpha", "beta", "gamma"])), min_size=2, max_size=8), st.data())
def test_shares_always_sum_to_one_and_do_not_depend_on_the_order_within_a_pair(said, data):
    t = task("t", criterion("alpha", points=2), criterion("beta", points=-1), criterion("gamma", points=0.5))
    made = rollouts(t, [" ".join(sorted(s)) or "nothing" for s in said])
    quality = data.draw(st.lists(st.integers(0, 3), min_size=len(made), max_size=len(made)))
    q = orders(quality)
    swapped = [PairOrder(first=p.second, second=p.first, order=-(p.order or 0)) for p in q]  # type: ignore[arg-type]
    shares, _ = group_shares(made, t.rubric, q)
    assert shares.blind + shares.saturated + shares.spurious + shares.agree == pytest.approx(1.0)
    assert group_shares(made, t.rubric, swapped)[0] == shares


def test_resampled_shares_equal_the_shares_of_the_resample():
    t = task()
    made = rollouts(t, ["alpha", "beta", "nothing", "alpha beta"])
    q = orders([3, 1, 0, 2])
    classes = class_tensor(pass_matrix(made, t.rubric), Orders.of(q))
    drawn = [0, 0, 2, 3]
    counts = np.bincount(drawn, minlength=4)
    pair_weights = np.array([[counts[p.first] * counts[p.second] for p in q]])
    got = shares_of(weighted(classes, points_weights(t.rubric)), pair_weights)[0]
    again = [made[i] for i in drawn]
    quality = [[3, 1, 0, 2][i] for i in drawn]
    different = [p for p in orders(quality) if drawn[p.first] != drawn[p.second]]
    expected, _ = group_shares(again, t.rubric, different)
    assert got == pytest.approx([expected.blind, expected.saturated, expected.spurious, expected.agree])


def test_a_visit_holds_the_shares_of_its_group():
    v, made = visit(task(), ["alpha", "nothing"], [1, 0])
    assert v.shares.agree == 0.5
    assert v.rollout_ids == tuple(r.id for r in made)
    assert isinstance(made[0], Rollout)
