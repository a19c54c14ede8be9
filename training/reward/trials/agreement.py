"""A judge beside people: accuracy, Cohen's kappa, and both kinds of error by kind of criterion.

Where several people judged the same, they do not always agree, and no judge can be asked to agree with them better than they do
with each other. So beside the judge against the majority stands the judge against single persons, to compare with persons
against each other. Everything is over the criteria that the judge scored and, for the majority, that people are not evenly split on.
"""

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memory.decision import Interval
from memory.task import Verdict
from training.reward.judge import Judge, JudgeItem
from training.reward.quality import PairwiseOrder
from training.reward.trials.annotated import HumanVerdicts, OrderedPair
from training.reward.trials.trial import Share, Tick, judge_each, share, table, unscored_lines

RESAMPLES = 2000
LEVEL = 0.95


# ---- statistics ----

# A table has a row per response: how often both say met, the first only, the second only, neither.
BOTH, FIRST, SECOND, NEITHER = range(4)


def tabulate(pairs: Iterable[tuple[Hashable, bool, bool]]) -> np.ndarray:
    """The table of (response, what the first says, what the second says)."""
    rows: dict[Hashable, list[int]] = {}
    for response, first, second in pairs:
        rows.setdefault(response, [0, 0, 0, 0])[
            BOTH if first and second else FIRST if first else SECOND if second else NEITHER
        ] += 1
    return np.array(list(rows.values()), dtype=float).reshape(-1, 4)


def kappa(counts: np.ndarray) -> np.ndarray:
    """Cohen's (1960) kappa of counts over the last axis; NaN where it is not defined, as when both always say the same."""
    total = counts.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        observed = (counts[..., BOTH] + counts[..., NEITHER]) / total
        first = (counts[..., BOTH] + counts[..., FIRST]) / total
        second = (counts[..., BOTH] + counts[..., SECOND]) / total
        chance = first * second + (1 - first) * (1 - second)
        return np.where(chance < 1 - 1e-12, (observed - chance) / (1 - chance), np.nan)


def resampled(responses: int, seed: int = 0) -> np.ndarray:
    """How often each response is drawn in each bootstrap resample. Whole responses are drawn: what is said of one hangs together."""
    return np.random.default_rng(seed).multinomial(responses, np.full(responses, 1 / responses), size=RESAMPLES)


def interval(estimate: float, sampled: np.ndarray) -> Interval:
    """Percentile bootstrap interval (Efron and Tibshirani 1993, chapter 13); resamples in which kappa is not defined are left out."""
    defined = sampled[~np.isnan(sampled)]
    if len(defined) == 0 or np.isnan(estimate):
        return Interval(estimate=0.0, low=-1.0, high=1.0, level=LEVEL)
    low, high = np.quantile(defined, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Interval(estimate=float(estimate), low=float(low), high=float(high), level=LEVEL)


def kappa_interval(counts: np.ndarray) -> Interval | None:
    """Kappa with its percentile bootstrap interval over responses; None where it is not defined."""
    if not len(counts) or np.isnan(estimate := float(kappa(counts.sum(axis=0)))):
        return None
    return interval(estimate, kappa(resampled(len(counts)) @ counts))


@dataclass(frozen=True)
class Rates:
    """One judge (first) against people (second)."""

    counts: np.ndarray

    @property
    def accuracy(self) -> Share:
        return self._share((BOTH, NEITHER), (BOTH, FIRST, SECOND, NEITHER))

    @property
    def false_positive(self) -> Share:
        """Of what people say is not met, what the judge calls met."""
        return self._share((FIRST,), (FIRST, NEITHER))

    @property
    def false_negative(self) -> Share:
        """Of what people say is met, what the judge calls not met."""
        return self._share((SECOND,), (SECOND, BOTH))

    @property
    def kappa(self) -> Interval | None:
        return kappa_interval(self.counts)

    def _share(self, hits: Sequence[int], of: Sequence[int]) -> Share:
        return share(*(self.counts[:, list(columns)].sum(axis=1).astype(int).tolist() for columns in (hits, of)))


# ---- verdicts ----


@dataclass(frozen=True)
class Agreement:
    """``verdicts`` stand one to one with ``statements``."""

    judge: str
    source: str
    statements: tuple[HumanVerdicts, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def scored(self) -> list[tuple[HumanVerdicts, bool]]:
        pairs = zip(self.statements, self.verdicts, strict=True)
        return [(s, v.status == "met") for s, v in pairs if v.status != "unscored"]

    @property
    def unscored(self) -> Counter[str]:
        return Counter(v.reason for v in self.verdicts if v.status == "unscored")

    def rates(self, kind: str | None = None) -> Rates:
        """The judge against the majority of people, over all criteria or those of one kind."""
        return Rates(
            tabulate(
                (_response(s), met, s.majority) for s, met in self.scored if s.majority is not None and kind in (None, s.kind)
            )
        )

    def persons(self) -> tuple[np.ndarray, np.ndarray]:
        """Tables, with the same responses, of the judge against single persons and of persons against each other."""
        several = [(s, met) for s, met in self.scored if len(s.people) > 1]
        judge = [(_response(s), met, person) for s, met in several for person in s.people]
        among = [
            (_response(s), a, b) for s, _ in several for i, a in enumerate(s.people) for j, b in enumerate(s.people) if i != j
        ]
        return tabulate(judge), tabulate(among)

    def text(self) -> str:
        answers = len({_response(s) for s in self.statements})
        split = sum(s.majority is None for s, _ in self.scored)
        kinds = sorted({s.kind for s in self.statements})
        lines = [
            f"Agreement of {self.judge} with people on {self.source}: {len(self.statements)} criteria on {answers} responses",
            "",
            *table(
                ["criteria", "accuracy", "Cohen's kappa", "false positives", "false negatives"],
                [_cells("all", self.rates()), *(_cells(kind, self.rates(kind)) for kind in kinds if len(kinds) > 1)],
            ),
            "",
            "Against the majority of people; 95 % intervals take the criteria of a response together.",
        ]
        if split:
            lines.append(f"Left out: {split} criteria on which people are evenly split.")
        lines += self._beside_people()
        if self.unscored:
            lines += ["", *unscored_lines(self.unscored)]
        return "\n".join(lines)

    def _beside_people(self) -> list[str]:
        judge, among = self.persons()
        if not len(judge):
            return ["", "One person judged each criterion, so how far people agree among themselves is not known."]
        lines = [
            "",
            *table(
                ["pair", "agreement", "Cohen's kappa"],
                [
                    [name, f"{counts[:, [BOTH, NEITHER]].sum() / counts.sum():.1%}", _kappa_text(kappa_interval(counts))]
                    for name, counts in (("judge and one person", judge), ("two persons", among))
                ],
            ),
            "",
        ]
        difference = self.difference()
        if difference is None:
            return [*lines, "The two cannot be compared: somebody always says the same."]
        gap = f"kappa differs by {difference.estimate:+.2f} ({difference.low:+.2f} to {difference.high:+.2f})"
        if difference.high < 0:
            return [*lines, f"The judge agrees with a person less than two persons agree with each other: {gap}."]
        if difference.low > 0:
            return [*lines, f"The judge agrees with a person more than two persons agree with each other: {gap}."]
        return [*lines, f"Whether the judge agrees with a person less than two persons do cannot be told: {gap}."]

    def difference(self) -> Interval | None:
        """Kappa of the judge with a person minus that of two persons, over the same resamples; None where one is not defined."""
        judge, among = self.persons()
        if not len(judge):
            return None
        estimate = float(kappa(judge.sum(axis=0)) - kappa(among.sum(axis=0)))
        drawn = resampled(len(judge))
        return None if np.isnan(estimate) else interval(estimate, kappa(drawn @ judge) - kappa(drawn @ among))


def agreement(judge: Judge, statements: Sequence[HumanVerdicts], name: str, source: str, tick: Tick) -> Agreement:
    """Judge every statement; those on one response are judged together, as in training.

    Args:
        name: what the report calls the judge.
        source: what it calls the set.
    """
    together: dict[Hashable, list[int]] = {}
    for place, statement in enumerate(statements):
        together.setdefault(_response(statement), []).append(place)
    items = []
    for places in together.values():
        first = statements[places[0]]
        items.append(JudgeItem(first.messages, first.response, tuple(statements[place].criterion for place in places)))
    verdicts: dict[int, Verdict] = {}
    for places, found in zip(together.values(), judge_each(judge, items, tick), strict=True):
        verdicts |= zip(places, found, strict=True)
    return Agreement(name, source, tuple(statements), tuple(verdicts[place] for place in range(len(statements))))


def responses(statements: Sequence[HumanVerdicts]) -> int:
    """How many responses there are to judge."""
    return len({_response(s) for s in statements})


def _response(statement: HumanVerdicts) -> Hashable:
    return statement.messages, statement.response


def _cells(name: str, rates: Rates) -> list[str]:
    return [name, *map(str, (rates.accuracy, _kappa_text(rates.kappa), rates.false_positive, rates.false_negative))]


def _kappa_text(found: Interval | None) -> str:
    return "-" if found is None else f"{found.estimate:z.2f} ({found.low:z.2f} to {found.high:z.2f})"


# ---- orders ----


@dataclass(frozen=True)
class OrderAgreement:
    """The pairwise quality judge against the better response of each pair. ``orders`` stand one to one with ``pairs``."""

    judge: str
    pairs: tuple[OrderedPair, ...]
    orders: tuple[int | None, ...]
    failures: Counter[str]

    def outcomes(self, kind: str | None = None) -> Counter[str]:
        """How many pairs are right, wrong, tied or unscored."""
        found: Counter[str] = Counter()
        for pair, order in zip(self.pairs, self.orders, strict=True):
            if kind in (None, pair.kind):
                found["unscored" if order is None else "tie" if order == 0 else "right" if order == pair.order else "wrong"] += 1
        return found

    def decided(self, kind: str | None = None) -> np.ndarray:
        """The table of the pairs that did not tie; *met* stands for the first response being the better."""
        both = zip(self.pairs, self.orders, strict=True)
        return tabulate((p.pair.task.id, order > 0, p.order > 0) for p, order in both if order and kind in (None, p.kind))

    def text(self) -> str:
        kinds = sorted({p.kind for p in self.pairs})
        lines = [
            f"Agreement of {self.judge} (both orders asked) with people on llmbar: {len(self.pairs)} pairs",
            "",
            *table(
                ["pairs", "right", "tie", "wrong", "right of those decided", "Cohen's kappa of those decided"],
                [self._cells("all", None), *(self._cells(kind, kind) for kind in kinds if len(kinds) > 1)],
            ),
            "",
            "A judge that guesses is right on half of what it decides. A tie is no order; many of them make Q blind, not wrong.",
        ]
        if unscored := self.outcomes()["unscored"]:
            lines += [
                "",
                f"Unscored, in no number here: {unscored} pairs. Failed comparisons:",
                *unscored_lines(self.failures, "quality.chat")[1:],
            ]
        return "\n".join(lines)

    def _cells(self, name: str, kind: str | None) -> list[str]:
        found = self.outcomes(kind)
        one = Rates(self.decided(kind))
        return [name, *(str(found[outcome]) for outcome in ("right", "tie", "wrong")), str(one.accuracy), _kappa_text(one.kappa)]


def order_agreement(quality: PairwiseOrder, pairs: Sequence[OrderedPair], name: str, at_once: int, tick: Tick) -> OrderAgreement:
    """Compare every pair, ``at_once`` together; ``tick`` is called for each that is done."""
    orders: list[int | None] = []
    failures: Counter[str] = Counter()
    for start in range(0, len(pairs), at_once):
        part = pairs[start : start + at_once]
        orders += quality.compare([p.pair for p in part])
        failures += quality.failures
        for _ in part:
            tick()
    return OrderAgreement(name, tuple(pairs), tuple(orders), failures)


def sample(rows: Sequence, limit: int | None, seed: int) -> list:
    """``limit`` of the rows drawn at random, in their order; all without a limit."""
    if limit is None or limit >= len(rows):
        return list(rows)
    return [rows[place] for place in sorted(random.Random(seed).sample(range(len(rows)), limit))]
