"""Q: antisymmetric, repeatable, ignorant of the rubric, and None where no order could be had."""

import itertools
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat import ChatFailure
from memory.task import Criterion, Message, Task
from training.reward.quality import GoldOrder, NoOrder, PairwiseOrder, Preference, QualityPair, ReferenceOrder, choose_pairs

TASK = Task(
    id="t-1",
    domain="science",
    messages=(Message(role="user", content="Why is the sky blue?"),),
    rubric=(Criterion(id="secret-criterion", text="Names the secret thing.", points=3.5),),
    reference="the secret reference",
)


def pair(first: str, second: str, task: Task = TASK) -> QualityPair:
    return QualityPair(task=task, first=first, second=second)


def length(_: str, text: str) -> float:
    return len(text) / 100


def number(_: str, text: str) -> float:
    return float(text)


# ---- gold ----


def test_without_noise_the_better_text_wins():
    order = GoldOrder(length, flip_rate=0.0, tie_margin=0.0)
    assert order.compare([pair("aaaa", "a"), pair("a", "aaaa"), pair("aa", "bb")]) == [1, -1, 0]
    assert order.calls == 3


def test_near_equals_tie_and_the_margin_itself_is_near():
    order = GoldOrder(number, flip_rate=0.0, tie_margin=0.05)
    assert order.compare([pair("0.55", "0.5"), pair("0.5", "0.55"), pair("0.56", "0.5"), pair("0.5", "0.52")]) == [0, 0, 1, 0]


def test_identical_texts_tie_and_cost_nothing():
    order = GoldOrder(number, flip_rate=1.0)
    assert order.compare([pair("0.3", "0.3"), pair("0.3 ", "\n0.3")]) == [0, 0]
    assert order.calls == 0


def test_ties_are_never_flipped():
    assert set(GoldOrder(number, flip_rate=1.0).compare([pair(f"0.5{k}", "0.5") for k in range(5)])) == {0}


def test_orders_are_flipped_at_the_rate():
    pairs = [pair(str(1 + k), str(0.001 * k)) for k in range(6000)]
    orders = GoldOrder(number, flip_rate=0.15).compare(pairs)
    assert set(orders) == {1, -1}
    assert abs(orders.count(-1) / len(orders) - 0.15) < 0.02


@given(st.text(max_size=30), st.text(max_size=30), st.integers())
def test_the_order_is_antisymmetric_and_needs_no_memory(first, second, seed):
    there = GoldOrder(length, flip_rate=0.5, tie_margin=0.0, seed=seed).compare([pair("x", "yy"), pair(first, second)])[1]
    back = GoldOrder(length, flip_rate=0.5, tie_margin=0.0, seed=seed).compare([pair(second, first)])[0]
    assert there is not None
    assert back is not None
    assert there == -back


def test_flips_depend_on_seed_and_task():
    pairs = [pair(str(k), str(k + 1)) for k in range(200)]
    others = [pair(p.first, p.second, TASK.model_copy(update={"id": "t-2"})) for p in pairs]
    base = GoldOrder(number, flip_rate=0.5, seed=1).compare(pairs)
    assert base == GoldOrder(number, flip_rate=0.5, seed=1).compare(pairs)
    assert base != GoldOrder(number, flip_rate=0.5, seed=2).compare(pairs)
    assert base != GoldOrder(number, flip_rate=0.5, seed=1).compare(others)


def test_a_score_that_is_no_number_gives_no_order():
    assert GoldOrder(lambda _, text: math.nan).compare([pair("a", "b")]) == [None]


@pytest.mark.parametrize("settings", [{"flip_rate": 1.2}, {"flip_rate": -0.1}, {"tie_margin": -1}])
def test_impossible_rates_are_refused(settings):
    with pytest.raises(ValueError, match="flip_rate"):
        GoldOrder(number, **settings)


# ---- pairwise ----


class PreferringChat:
    """Prefers by ``choose(A, B)``, which gives "A", "B" or "tie"."""

    def __init__(self, choose):
        self.choose = choose
        self.prompts: list[str] = []

    def complete(self, system, user, schema):
        assert schema is Preference
        self.prompts.append(system + user)
        (marker,) = re.findall(r"The marker is (\w+)\.", user)
        (first,), (second,) = (re.findall(rf"<<<{marker} {x}\n(.*?)\n{marker}>>>", user, re.DOTALL) for x in "AB")
        return Preference(reason="because", better=self.choose(first, second))


def longer(first, second):
    return "tie" if len(first) == len(second) else "A" if len(first) > len(second) else "B"


def test_the_preferred_response_wins_in_either_place():
    order = PairwiseOrder(PreferringChat(longer))
    assert order.compare([pair("long text", "short"), pair("short", "long text"), pair("abc", "xyz")]) == [1, -1, 0]
    assert order.calls == 4, "a pair the other way round is the same two questions"


@pytest.mark.parametrize("side", ["A", "B"])
def test_a_judge_that_always_favours_one_side_gives_ties(side):
    assert PairwiseOrder(PreferringChat(lambda a, b: side)).compare([pair("x", "y"), pair("y", "x")]) == [0, 0]


def test_a_preference_in_one_order_only_is_a_tie():
    def choose(first, second):
        return "A" if first == "x" else "tie"

    assert PairwiseOrder(PreferringChat(choose)).compare([pair("x", "y")]) == [0]


@pytest.mark.parametrize("failing", ["x", "y"])
def test_a_failure_in_either_order_gives_none_and_is_counted(failing):
    def choose(first, second):
        if first == failing:
            raise ChatFailure("timeout", "late")
        return longer(first, second)

    order = PairwiseOrder(PreferringChat(choose))
    assert order.compare([pair("x", "y"), pair("long text", "short")]) == [None, 1]
    assert order.calls == 4


def test_identical_responses_are_not_asked_about():
    chat = PreferringChat(longer)
    order = PairwiseOrder(chat)
    assert order.compare([pair("same", "same"), pair("same", "same\n"), pair("longer", "long")]) == [0, 0, 1]
    assert order.calls == len(chat.prompts) == 2


def test_nothing_of_the_rubric_is_shown():
    chat = PreferringChat(longer)
    PairwiseOrder(chat).compare([pair("one $second {0}", "two")])
    for seen in chat.prompts:
        assert "Why is the sky blue?" in seen
        assert "one $second {0}" in seen
        assert "secret" not in seen
        assert "3.5" not in seen


# ---- reference ----


def with_reference(text):
    return TASK.model_copy(update={"id": f"t-{text}", "reference": text})


def test_the_reference_ranks_responses_and_costs_two_calls_for_each():
    chat = PreferringChat(longer)
    order = ReferenceOrder(PairwiseOrder(chat))
    task = with_reference("four")
    texts = ["a", "b", "longer", "longest"]
    pairs = [pair(x, y, task) for x, y in itertools.combinations(texts, 2)]
    assert order.compare(pairs) == [0, -1, -1, -1, -1, 0]
    assert order.calls == 2 * len(texts)
    assert order.compare([pair("longer", "a", task)]) == [1]
    assert order.calls == 2 * len(texts)


def test_tasks_without_a_reference_are_compared_in_pairs_and_failures_give_none():
    bare = TASK.model_copy(update={"reference": None})
    order = ReferenceOrder(PairwiseOrder(PreferringChat(longer)))
    assert order.compare([pair("aaaaaaaaa", "a", with_reference("four")), pair("a", "aa", bare), pair("x", "x")]) == [1, -1, 0]

    def failing(first, second):
        if "broken" in (first, second):
            raise ChatFailure("timeout", "slow")
        return longer(first, second)

    order = ReferenceOrder(PairwiseOrder(PreferringChat(failing)))
    assert order.compare([pair("broken", "aaaaaaaa", with_reference("four")), pair("a", "aaaaaaaa", with_reference("four"))]) == [
        None,
        -1,
    ]
    assert order.failures == {"timeout": 2}


def test_off_knows_nothing_and_costs_nothing():
    order = NoOrder()
    assert order.compare([pair("a", "b"), pair("a", "a")]) == [None, None]
    assert order.calls == 0


# ---- choosing pairs ----


def test_all_pairs_are_taken_when_they_fit():
    assert choose_pairs([0.1, 0.2, 0.3], limit=3, seed=0) == [(0, 1), (0, 2), (1, 2)]


@given(
    st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=12),
    st.integers(min_value=0, max_value=80),
    st.integers(min_value=0, max_value=2**63),
)
def test_pairs_are_distinct_ordered_scored_and_as_many_as_allowed(scores, limit, seed):
    pairs = choose_pairs(scores, limit, seed)
    scored = [i for i, s in enumerate(scores) if s is not None]
    assert len(set(pairs)) == len(pairs) == min(limit, math.comb(len(scored), 2))
    assert all(i < j and i in scored and j in scored for i, j in pairs)
    assert pairs == choose_pairs(scores, limit, seed)


@given(st.permutations(range(9)), st.integers(min_value=3, max_value=30), st.integers())
def test_highest_middle_and_lowest_are_always_compared(ranks, limit, seed):
    pairs = choose_pairs([rank / 10 for rank in ranks], limit, seed)
    anchors = sorted(ranks.index(rank) for rank in (0, 4, 8))
    assert set(itertools.combinations(anchors, 2)) <= set(pairs)


def test_a_limit_of_one_compares_the_extremes():
    assert choose_pairs([0.5, 0.9, 0.1, 0.6], limit=1, seed=3) == [(1, 2)]


def test_the_rest_is_random_by_seed():
    scores = [k / 20 for k in range(20)]
    chosen = {tuple(choose_pairs(scores, 10, seed)) for seed in range(20)}
    assert len(chosen) == 20


def test_equal_scores_leave_the_choice_to_chance():
    seen = {p for seed in range(200) for p in choose_pairs([0.5] * 6, 3, seed)}
    assert seen == set(itertools.combinations(range(6), 2))
