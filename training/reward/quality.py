"""Q: a quality order of responses that knows no rubric, to hold the rubric score against.

``compare`` says of each pair which response is better, or None where no order could be had. Its calls are counted, since an
order by a language model costs money: choose few pairs, and choose them well (``choose_pairs``).
"""

import hashlib
import itertools
import json
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict, Field

from agents.chat import ChatFailure, ChatModel
from memory.task import Task
from training.reward.cache import VerdictCache, key_of
from training.reward.gate import visible
from training.reward.judge import together
from training.reward.prompts import Quotation, prompt, render
from training.reward.replies import REASON_LENGTH


class QualityPair(NamedTuple):
    """Two responses to one task."""

    task: Task
    first: str
    second: str

    @property
    def same(self) -> bool:
        return self.first.strip() == self.second.strip()


class QualityOrder(Protocol):
    calls: int
    """Comparisons made so far. Pairs of equal texts tie and cost nothing."""

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        """1 where the first response is better, -1 where the second is, 0 for a tie, None for unscored."""
        ...


class NoOrder:
    """No quality order: every pair is unscored, so spurious rewards cannot be detected."""

    def __init__(self) -> None:
        self.calls = 0

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        return [None] * len(pairs)


class GoldOrder:
    """A noisy pairwise judge made from gold scores, for the laboratory.

    Scores closer than ``tie_margin`` tie; otherwise the right order is flipped at ``flip_rate``. Whether a pair is flipped is a
    hash of seed, task and the two texts in canonical order: asked again, after a resume or the other way round, the judge says
    the same.

    Args:
        score: gold score of a response, from task id and text.
    """

    def __init__(
        self, score: Callable[[str, str], float], flip_rate: float = 0.15, tie_margin: float = 0.05, seed: int = 0
    ) -> None:
        if not (0 <= flip_rate <= 1 and tie_margin >= 0):
            raise ValueError(f"flip_rate must be in [0, 1] and tie_margin at least 0, got {flip_rate} and {tie_margin}")
        self.calls = 0
        self._score = lru_cache(maxsize=4096)(score)
        self._flip_rate = flip_rate
        self._tie_margin = tie_margin
        self._seed = seed

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        return [self._order(pair) for pair in pairs]

    def _order(self, pair: QualityPair) -> int | None:
        if pair.same:
            return 0
        self.calls += 1
        difference = self._score(pair.task.id, pair.first) - self._score(pair.task.id, pair.second)
        if math.isnan(difference):
            return None
        # Scores are sums of shares: 0.55 - 0.5 must tie at a margin of 0.05 although it comes out a little above it.
        if abs(difference) <= self._tie_margin + 1e-9:
            return 0
        order = 1 if difference > 0 else -1
        return -order if self._flips(pair) else order

    def _flips(self, pair: QualityPair) -> bool:
        content = json.dumps([self._seed, pair.task.id, *sorted((pair.first, pair.second))])
        number = int.from_bytes(hashlib.blake2b(content.encode(), digest_size=8).digest(), "big")
        return number < self._flip_rate * 2**64


Better = Literal["A", "B", "tie"]


class Preference(BaseModel):
    """Which of two responses is better. The reason stands before the preference, so that it can lead to it."""

    model_config = ConfigDict(extra="forbid")
    reason: str = Field(json_schema_extra={"maxLength": REASON_LENGTH})
    better: Better


class PairwiseOrder:
    """A language model that sees the conversation and two responses, never the rubric.

    Both orders are asked, since judges favour a side: where the two answers disagree, the pair ties. What was answered once is taken
    from the cache; ``model`` names the model and its settings there.

    Attributes:
        failures: why comparisons of the last ``compare`` came to nothing.
    """

    def __init__(self, chat: ChatModel, concurrency: int = 8, cache: VerdictCache | None = None, model: str = "") -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency must be at least 1, got {concurrency}")
        self.calls = 0
        self.chat = chat
        self.failures: Counter[str] = Counter()
        self._concurrency = concurrency
        self._cache = cache or VerdictCache()
        self._model = model

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        pairs = [QualityPair(pair.task, visible(pair.first), visible(pair.second)) for pair in pairs]
        wanted = [[self._shown(pair, turned) for turned in (False, True)] for pair in pairs]
        answers: dict[str, Better | None] = {}
        asked: dict[str, _Shown] = {}
        for shown in (s for pair, both in zip(pairs, wanted, strict=True) if not pair.same for s in both):
            if (known := self._cache.get(shown.key)) is not None:
                answers[shown.key] = known
            else:
                asked[shown.key] = shown
        self.calls += len(asked)
        self.failures.clear()
        answers |= zip(asked, together(self._ask, list(asked.values()), self._concurrency), strict=True)
        return [
            0 if pair.same else _agreed([_order(answers[first.key]), _order(answers[turned.key], turned=True)])
            for pair, (first, turned) in zip(pairs, wanted, strict=True)
        ]

    def _shown(self, pair: QualityPair, turned: bool) -> "_Shown":
        first, second = (pair.second, pair.first) if turned else (pair.first, pair.second)
        messages = [m.model_dump() for m in pair.task.messages]
        return _Shown(key_of("order", self._model, _asking(), messages, first, second), pair.task, first, second)

    def _ask(self, shown: "_Shown") -> Better | None:
        quotation = Quotation()
        user = render(
            "quality_user",
            marker=quotation.marker,
            conversation=quotation.conversation(shown.task.messages),
            first=quotation.fence("A", shown.first),
            second=quotation.fence("B", shown.second),
        )
        try:
            better = self.chat.complete(prompt("quality"), user, Preference).better
        except ChatFailure as failure:
            self.failures[failure.reason] += 1
            return None
        self._cache.put({shown.key: better})
        return better


class ReferenceOrder:
    """Orders responses by how each compares with the task's reference answer: better, as good, worse.

    Two calls per response in place of two per pair, and only three ranks: responses of one rank tie. Tasks without a reference are
    ordered by ``pairwise``.
    """

    def __init__(self, pairwise: PairwiseOrder) -> None:
        self.chat = pairwise.chat
        self._pairwise = pairwise

    @property
    def calls(self) -> int:
        return self._pairwise.calls

    @property
    def failures(self) -> Counter[str]:
        return self._pairwise.failures

    def compare(self, pairs: Sequence[QualityPair]) -> list[int | None]:
        against = {
            (pair.task.id, text): QualityPair(pair.task, text, pair.task.reference)
            for pair in pairs
            if pair.task.reference is not None and not pair.same
            for text in (pair.first, pair.second)
        }
        free = [pair for pair in pairs if pair.task.reference is None]
        answers = self._pairwise.compare([*against.values(), *free])
        ranks = dict(zip(against, answers, strict=False))
        rest = iter(answers[len(against) :])
        return [self._order(pair, ranks) if pair.task.reference is not None else next(rest) for pair in pairs]

    @staticmethod
    def _order(pair: QualityPair, ranks: dict[tuple[str, str], int | None]) -> int | None:
        if pair.same:
            return 0
        first, second = ranks[pair.task.id, pair.first], ranks[pair.task.id, pair.second]
        return None if first is None or second is None else (first > second) - (first < second)


@dataclass(frozen=True)
class _Shown:
    """One comparison, in the order in which the two responses are shown."""

    key: str
    task: Task
    first: str
    second: str


@cache
def _asking() -> str:
    """A digest of all fixed texts of a comparison."""
    return key_of(prompt("quality"), prompt("quality_user"), Preference.model_json_schema())


def _order(better: Better | None, turned: bool = False) -> int | None:
    if better is None:
        return None
    order = {"A": 1, "B": -1, "tie": 0}[better]
    return -order if turned else order


def _agreed(answers: Sequence[int | None]) -> int | None:
    if None in answers:
        return None
    return answers[0] if len(set(answers)) == 1 else 0


def choose_pairs(scores: Sequence[float | None], limit: int, seed: int) -> list[tuple[int, int]]:
    """The pairs of a group worth comparing, by position, smaller first; only rollouts with a score take part.

    All pairs when they fit into ``limit``. Otherwise the three among the highest, the middle and the lowest score, where the
    rubric has something to say, and random others, so that shares over the pairs stay near those over the group.
    """
    scored = [i for i, score in enumerate(scores) if score is not None]
    every = list(itertools.combinations(scored, 2))
    if len(every) <= limit:
        return every
    generator = random.Random(seed)
    # Shuffled before a stable sort: among equal scores chance decides, not the place in the group.
    ranked = sorted(generator.sample(scored, len(scored)), key=lambda i: scores[i] or 0.0)
    low, middle, high = ranked[0], ranked[len(ranked) // 2], ranked[-1]
    anchors = [(min(pair), max(pair)) for pair in ((high, low), (high, middle), (middle, low))]
    rest = [pair for pair in every if pair not in anchors]
    return sorted([*anchors, *generator.sample(rest, len(rest))][: max(0, limit)])
