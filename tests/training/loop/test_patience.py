"""When a loss is asked for again, when it is waited for, and when it is accepted."""

from collections import Counter
from types import SimpleNamespace

import pytest

from training.config import RewardSettings
from training.loop.patience import JudgeOutage, Lost, Patience
from training.loop.progress import Progress


def insist(losses, chat=None, stop=False, **settings):
    """Ask an endpoint that loses ``losses`` of ten in turn, the last for ever: (questions asked, pauses made)."""
    patience = Patience(RewardSettings(retry_every=0.001, **settings), Progress(1, None, main=False))
    patience.stop = lambda: stop
    asked, pauses = [], []
    patience._rest = pauses.append

    def ask():
        asked.append(losses[min(len(asked), len(losses) - 1)])
        return asked[-1]

    def lost(count):
        return Lost(count / 10, Counter({"timeout": count}) if count else Counter())

    patience.insist("the judge", chat, ask, lost)
    return len(asked), len(pauses)


def test_a_whole_answer_is_taken_at_once():
    assert insist([0]) == (1, 0)


def test_a_small_loss_is_asked_for_again_at_once_while_that_helps_and_then_accepted():
    assert insist([2, 1, 0]) == (3, 0)
    assert insist([2, 1, 1]) == (3, 0)
    assert insist([2]) == (2, 0)


def test_a_large_loss_is_waited_for():
    assert insist([9, 9, 9, 0]) == (4, 2)
    assert insist([9, 9, 9, 3, 1, 1]) == (6, 2)


def test_any_loss_is_waited_for_while_the_endpoint_is_down():
    chat = SimpleNamespace(down=True)
    assert insist([1, 1, 1, 0], chat) == (4, 2)
    assert insist([0], chat) == (1, 0), "nothing is missing, so there is nothing to wait for"


@pytest.mark.parametrize("case", [{"max_pause": 1e-9}, {"stop": True}, {"chat": SimpleNamespace(rejected=True)}])
def test_what_is_not_waited_for_stops_the_run(case):
    with pytest.raises(JudgeOutage, match=r"90% of what was asked of the judge is unscored \(9 timeout\)"):
        insist([9], **case)
