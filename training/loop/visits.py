"""From a step's graded rollouts to visits."""

from collections.abc import Sequence
from typing import Any

from memory.pairs import group_shares
from memory.visit import PairOrder, Rollout, Visit
from training.config import RunConfig
from training.loop.groups import Seat
from training.loop.policy import derived_seed
from training.loop.signs import signs_of
from training.reward.quality import QualityOrder, QualityPair, choose_pairs


def order_groups(
    quality: QualityOrder, groups: Sequence[tuple[Seat, Sequence[Rollout]]], step: int, config: RunConfig
) -> list[tuple[PairOrder, ...]]:
    """Q of every group of a step, all comparisons asked together."""
    chosen = [
        choose_pairs([r.score for r in rollouts], config.quality.pairs_per_group, derived_seed(config.seed, "pairs", step, k))
        if config.quality.source != "off"
        else every_pair(len(rollouts))
        for k, (_, rollouts) in enumerate(groups)
    ]
    asked = [
        QualityPair(task=seat.task, first=rollouts[i].text, second=rollouts[j].text)
        for (seat, rollouts), pairs in zip(groups, chosen, strict=True)
        for i, j in pairs
    ]
    answers = iter(quality.compare(asked))
    return [as_orders(pairs, [next(answers) for _ in pairs], config.quality.source) for pairs in chosen]


def every_pair(n: int) -> list[tuple[int, int]]:
    return [(i, j) for j in range(n) for i in range(j)]


def as_orders(pairs: Sequence[tuple[int, int]], answers: Sequence[Any], source: str) -> tuple[PairOrder, ...]:
    """Pairs with their order. Pairs that Q could not score are left out; with Q off all stay, without an order."""
    if source == "off":
        return tuple(PairOrder(first=i, second=j, order=None) for i, j in pairs)
    return tuple(PairOrder(first=i, second=j, order=a) for (i, j), a in zip(pairs, answers, strict=True) if a is not None)


def make_visits(
    groups: Sequence[tuple[Seat, Sequence[Rollout]]],
    orders: Sequence[Sequence[PairOrder]],
    step: int,
    harness_version: int,
    name: str = "",
) -> list[Visit]:
    """The visits of a step; ``name`` sets those apart that are not of its training."""
    visits = []
    for k, ((seat, rollouts), quality) in enumerate(zip(groups, orders, strict=True)):
        shares, criteria = group_shares(rollouts, seat.entry.rubric, quality)
        guided = tuple(r.guidance is not None for r in rollouts)
        visits.append(
            Visit(
                id=f"v{step}-{name}{k}-{seat.task.id}",
                step=step,
                task_id=seat.task.id,
                domain=seat.task.domain,
                harness_version=harness_version,
                level=seat.entry.level,
                rollout_ids=tuple(r.id for r in rollouts),
                guided=guided,
                guidance_ids=tuple(f.id for f in seat.entry.guidance) if any(guided) else (),
                scores=tuple(r.score for r in rollouts),
                lengths=tuple(r.tokens for r in rollouts),
                clipped=sum(r.clipped for r in rollouts),
                shares=shares,
                criteria=criteria,
                quality=tuple(quality),
                signs=signs_of((seat, rollouts)),
            )
        )
    return visits
