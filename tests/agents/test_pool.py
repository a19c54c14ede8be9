"""The pool asks Q once for a pair, whoever needs it, and tells all who do the same."""

from agents.pool import RolloutPool
from agents.rehearsal import OrderRequest
from memory.pairs import Orders
from memory.visit import Rollout

SAID = {("a", "b"): 1.0, ("a", "c"): -1.0, ("b", "c"): None, ("b", "d"): 0.0}


class Ordering:
    """Q from a table; notes which pairs it was asked for."""

    def __init__(self):
        self.asked: list[tuple[str, str]] = []

    def order(self, requests):
        pairs = [[(q.rollouts[i].id, q.rollouts[j].id) for i, j in q.pairs] for q in requests]
        self.asked += [pair for of in pairs for pair in of]
        return [Orders.told(q.pairs, [SAID[pair] for pair in of]) for q, of in zip(requests, pairs, strict=True)]


def group(ids: str) -> list[Rollout]:
    return [Rollout(id=i, task_id="t", text=i, tokens=1) for i in ids]


def told(orders: Orders) -> list[tuple[int, int, float]]:
    return list(zip(orders.first.tolist(), orders.second.tolist(), orders.order.tolist(), strict=True))


def test_pairs_that_requests_share_are_asked_once_and_answered_alike():
    q = Ordering()
    pool = RolloutPool(q)
    first = OrderRequest("t", group("abc"), ((0, 1), (0, 2)))
    again = OrderRequest("t", group("abc"), ((0, 1), (0, 2)))
    other = OrderRequest("t", group("dba"), ((2, 1), (1, 0)))
    answers = [told(o) for o in pool.order([first, other, again])]
    assert answers == [[(0, 1, 1.0), (0, 2, -1.0)], [(2, 1, 1.0), (1, 0, 0.0)], [(0, 1, 1.0), (0, 2, -1.0)]]
    assert q.asked == [("a", "b"), ("a", "c"), ("b", "d")]
    assert told(pool.order([other])[0]) == answers[1]
    assert len(q.asked) == 3


def test_a_pair_that_q_could_not_score_is_left_out_and_not_asked_again():
    q = Ordering()
    pool = RolloutPool(q)
    request = OrderRequest("t", group("abc"), ((0, 1), (1, 2)))
    assert told(pool.order([request])[0]) == told(pool.order([request])[0]) == [(0, 1, 1.0)]
    assert q.asked == [("a", "b"), ("b", "c")]
