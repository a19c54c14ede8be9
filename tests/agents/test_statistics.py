"""The critic's arithmetic: an error that is right, an interval that holds the truth, a p-value that is rarely small by chance."""

import numpy as np
import pytest

from agents.statistics import (
    HALF,
    LARGEST,
    Estimate,
    agreement,
    concordance,
    informative_posterior,
    jackknife,
    left_out,
    left_out_of,
    weighted_mean,
)
from memory.pairs import Orders
from memory.visit import PairOrder


def test_of_a_mean_the_jackknife_gives_the_usual_standard_error():
    values = np.random.default_rng(0).normal(size=40)
    found = jackknife(left_out(40) @ values / left_out(40).sum(axis=1), [0] * 40)
    assert found.value == pytest.approx(values.mean())
    assert found.error == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    assert found.freedom == pytest.approx(39)


def test_a_pair_is_left_out_with_either_of_its_rollouts():
    pairs = Orders.of([PairOrder(first=0, second=1, order=1), PairOrder(first=3, second=1, order=0)])
    single = left_out(4)
    assert (left_out_of(pairs, 4) == single[:, pairs.first] * single[:, pairs.second]).all()


def test_strata_vary_by_themselves():
    """Two strata far apart: that they are is no error of their common mean."""
    values = np.array([0.0, 1.0] * 5 + [100.0, 101.0] * 5)

    mean = left_out(20) @ values / left_out(20).sum(axis=1)
    assert jackknife(mean, [0] * 10 + [1] * 10).error < 0.5 < 5 < jackknife(mean, [0] * 20).error


def test_without_data_nothing_is_certain():
    found = jackknife(np.full(7, np.nan), [0] * 6)
    assert found.p_value() == pytest.approx(0.5)
    assert (found.interval(0.05).low, found.interval(0.05).high) == (-LARGEST, LARGEST)


def test_a_group_whose_rollouts_are_all_alike_is_not_certain():
    found = jackknife(np.ones(9), [0] * 8)
    assert found.error == HALF / 8
    assert found.interval(0.01).low < 1


def test_the_interval_of_a_pair_share_holds_the_truth():
    """The share of pairs in which both fail, at a pass rate of 0.4: of 300 intervals at 90 % about 30 miss, 48 are allowed."""
    rng = np.random.default_rng(1)
    pairs = Orders.of([PairOrder(first=i, second=j, order=0) for j in range(24) for i in range(j)])
    missed = 0
    for _ in range(300):
        fails = rng.random(24) > 0.4
        both = (fails[pairs.first] & fails[pairs.second]).astype(float)
        found = jackknife(weighted_mean(both, left_out_of(pairs, 24)), [0] * 24).interval(0.05)
        missed += not found.low <= 0.36 <= found.high
    assert missed <= 48


def test_the_noise_band_is_what_chance_exceeds_as_often_as_asked():
    found = Estimate(value=0.3, error=0.1, freedom=20)
    assert Estimate(value=found.band(0.01), error=0.1, freedom=20).p_value() == pytest.approx(0.01)
    assert found.interval(0.025).low == pytest.approx(0.3 - found.band(0.025))


def test_concordance_counts_pairs_that_score_and_q_order_alike():
    pairs = [PairOrder(first=0, second=1, order=1), PairOrder(first=1, second=2, order=1), PairOrder(first=0, second=2, order=-1)]
    found = concordance(np.array([3.0, 2.0, 2.0]), Orders.of(pairs))
    assert found.tolist() == [1.0, 0.0, -1.0]
    assert agreement(np.array([3.0, 2.0, 1.0]), Orders.of(pairs), [0] * 3).value == pytest.approx(1 / 3)


def test_no_group_is_certainly_flat_after_a_few_rollouts():
    few, many = (np.quantile(informative_posterior(np.zeros((n, 1)), np.ones(1))[1], 0.975) for n in (4, 64))
    assert few > 0.3 > many


def test_criteria_of_equal_counts_are_drawn_independently():
    """The mean of two independent shares varies by a factor of the square root of two less than one of them."""
    passes = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    one, two = (informative_posterior(passes[:, :n], np.full(n, 1 / n)) for n in (1, 2))
    assert one[0] == pytest.approx(two[0])
    assert one[1].std() / two[1].std() == pytest.approx(np.sqrt(2), rel=0.03)
