"""How strong the evidence must be: the error rate of a round is kept, whatever is measured together."""

import numpy as np
import pytest

from agents.acceptance import ACCEPTANCES, EachAlone, MeanOnly, OpinionOnly, RoundControlled, spent
from agents.config import CriticConfig


@pytest.mark.parametrize("looks", [(8,), (16, 32), (16, 32, 48)])
def test_the_looks_spend_all_and_ever_more(looks):
    parts = spent(looks)
    assert sum(parts) == pytest.approx(1)
    assert parts == sorted(parts)


def test_a_round_is_controlled_by_the_step_up_procedure():
    """Benjamini and Hochberg's own example (1995, table 1): at 5 % the four smallest of fifteen are rejected."""
    p = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0]
    needed = RoundControlled().needed(p, 0.05)
    assert sum(value <= needed for value in p) == 4


def test_what_was_decided_stays_in_the_family():
    alone, among = RoundControlled().needed([0.02], 0.05), RoundControlled().needed([0.02, 1.0, 1.0, 1.0], 0.05)
    assert alone == 0.05
    assert among == 0.05 / 4


def test_others_that_hold_make_it_easier():
    assert RoundControlled().needed([0.001, 0.001, 0.02, 1.0], 0.05) > RoundControlled().needed([1.0, 1.0, 0.02, 1.0], 0.05)


def test_the_strategies_that_are_compared_with():
    p = [0.001, 0.04, 0.9]
    assert EachAlone().needed(p, 0.05) == 0.05
    assert MeanOnly().needed(p, 0.05) > 1
    assert not OpinionOnly().measures
    assert set(ACCEPTANCES) == {"round", "each", "mean", "opinion"}
    assert CriticConfig().acceptance == "round"


def test_of_the_accepted_at_most_alpha_are_false():
    """500 rounds of 10 candidates without worth and 5 with: the mean false share is under 5 %, and without control it is not."""
    rng = np.random.default_rng(0)
    shares = {"round": [], "each": []}
    for _ in range(500):
        p = np.concatenate([rng.random(10), rng.random(5) * 0.004])
        for name, found in shares.items():
            accepted = p <= ACCEPTANCES[name]().needed(list(p), 0.05)
            found.append(accepted[:10].sum() / max(1, accepted.sum()))
    assert np.mean(shares["round"]) <= 0.05 < np.mean(shares["each"])
