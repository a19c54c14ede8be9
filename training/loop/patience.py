"""Patience with an endpoint that is down: the run pauses, says why, asks again on a schedule, and goes on by itself.

Nothing trains meanwhile. What was answered before the outage is in the verdict cache, so asking again costs only what was lost.
"""

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agents.chat import PASSING, ChatModel
from memory.errors import RunStop
from memory.task import Verdict
from training.config import RewardSettings
from training.loop.progress import Progress
from training.reward.judge import Judge, JudgeItem
from training.reward.quality import PairwiseOrder, QualityPair, ReferenceOrder
from training.reward.score import score

Answer = TypeVar("Answer")

SLICE = 5.0
"""Seconds between two signs of life in a pause."""
LONGEST_WAIT = 10
"""Waits double from one retry to the next, up to so many times ``reward.retry_every``."""


class JudgeOutage(RunStop):
    """The judge does not give what a step needs; nothing was trained on it."""


@dataclass(frozen=True)
class Lost:
    """What an answer lacks and may yet be had: the share of it, and why it is missing."""

    share: float
    reasons: Counter[str]


class Patience:
    """Attributes:
    stop: whether a person has asked the run to stop.
    """

    def __init__(self, settings: RewardSettings, progress: Progress):
        self.settings = settings
        self.progress = progress
        self.stop: Callable[[], bool] = lambda: False

    def insist(self, role: str, chat: ChatModel | None, ask: Callable[[], Answer], lost: Callable[[Answer], Lost]) -> Answer:
        """The answer of ``ask``, asked again at once while that helps, and with pauses while more than ``reward.max_unscored`` of it
        is lost, or anything is and the endpoint is taken for down.

        Raises:
            JudgeOutage: the pause has lasted ``reward.max_pause``, the endpoint rejects the run for good, or a person asked to stop.
        """
        wait, before = self.settings.retry_every, math.inf
        began: float | None = None
        while True:
            answer = ask()
            missing = lost(answer)
            count = missing.reasons.total()
            helped, before = 0 < count < before, count
            if helped:
                continue
            down = count > 0 and getattr(chat, "down", False)
            now = time.monotonic()
            if not down and missing.share <= self.settings.max_unscored:
                if began is not None:
                    self.progress.say(f"going on after a pause of {(now - began) / 60:.1f} min")
                return answer
            why = self._why(role, chat, missing)
            if began is None:
                began = now
            left = self.settings.max_pause * 3600 - (now - began)
            if self.stop() or left <= 0 or getattr(chat, "rejected", False):
                raise JudgeOutage(f"{why}; nothing was trained on it: mend the endpoint and go on with --resume")
            if now == began:
                self.progress.say(f"paused: {why}; asking again by itself, for at most {self.settings.max_pause:g} h")
            with self.progress.paused(why):
                self._rest(min(wait, left))
            wait = min(2 * wait, LONGEST_WAIT * self.settings.retry_every)

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self.stop():
            time.sleep(min(left, SLICE))
            self.progress.beat()

    def _why(self, role: str, chat: ChatModel | None, missing: Lost) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in missing.reasons.most_common())
        trouble = getattr(chat, "trouble", None)
        return f"{missing.share:.0%} of what was asked of {role} is unscored ({reasons})" + (
            f", last: {trouble}" if trouble else ""
        )


class PatientJudge:
    """A ``Judge`` that waits for its endpoint."""

    def __init__(self, judge: Judge, patience: Patience):
        self.inner = judge
        self.chat = judge.chat
        self.patience = patience

    def judge(self, items: Sequence[JudgeItem]) -> list[tuple[Verdict, ...]]:
        return self.patience.insist(
            "the judge", self.chat, lambda: self.inner.judge(items), lambda found: self._lost(items, found)
        )

    def _lost(self, items: Sequence[JudgeItem], found: Sequence[tuple[Verdict, ...]]) -> Lost:
        least, waiting = self.patience.settings.min_scored_share, 0
        reasons: Counter[str] = Counter()
        for item, verdicts in zip(items, found, strict=True):
            passing = [v.reason for v in verdicts if v.status == "unscored" and v.reason in PASSING]
            reasons.update(passing)
            waiting += bool(passing) and score(item.rubric, verdicts, least) is None
        return Lost(waiting / max(1, len(items)), reasons)


class PatientOrder:
    """A quality order by a model that waits for its endpoint."""

    def __init__(self, order: PairwiseOrder | ReferenceOrder, patience: Patience):
        self.inner = order
        self.chat = order.chat
        self.patience = patience

    @property
    def calls(self) -> int:
        return self.inner.calls

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        return self.patience.insist("the quality judge", self.chat, lambda: self.inner.compare(pairs), self._lost)

    def _lost(self, orders: Sequence[Any]) -> Lost:
        reasons = Counter({reason: n for reason, n in self.inner.failures.items() if reason in PASSING})
        return Lost(orders.count(None) / max(1, len(orders)) if reasons else 0.0, reasons)
