"""S, the rubric score of a rollout that training uses, and the raw score that HealthBench reports.

    S   = sum of |points| of criteria that pass / sum of |points| of criteria that are scored
    raw = sum of points of criteria that are met / sum of positive points

For a ``levels`` criterion its grade counts in place of 0 or 1. S is in [0, 1] for every legal rubric, without clipping; the form
with |points| is that of arXiv 2605.12474. The raw score is HealthBench's score of one example (arXiv 2505.08775): at most 1, below
0 where what is unwanted outweighs what is wanted, undefined without positive points; clipping it, as HealthBench does with the
mean, would make all bad answers equal and leave them without a gradient. Over a fully scored rubric S is an affine map of it, so
within a group both give the same standardised advantages.
"""

from collections.abc import Sequence

from memory.task import Criterion, Verdict


def score(rubric: Sequence[Criterion], verdicts: Sequence[Verdict], min_scored_share: float) -> float | None:
    """S, or None (unscored) when criteria with less than ``min_scored_share`` of the |points| have a verdict.

    Raises:
        ValueError: verdicts do not stand one to one with the rubric.
    """
    passed = weight = total = 0.0
    for points, grade in _graded(rubric, verdicts):
        total += abs(points)
        if grade is not None:
            weight += abs(points)
            passed += abs(points) * (grade if points > 0 else 1 - grade)
    if weight == 0 or weight < min_scored_share * total * (1 - 1e-9):
        return None
    return min(passed / weight, 1.0)  # the two sums may differ in the last bit


def raw_score(rubric: Sequence[Criterion], verdicts: Sequence[Verdict], min_scored_share: float) -> float | None:
    """HealthBench's score of one example, over the criteria that are scored; None where S is, or without positive points.

    Raises:
        ValueError: verdicts do not stand one to one with the rubric.
    """
    scored = [(points, grade) for points, grade in _graded(rubric, verdicts) if grade is not None]
    wanted = sum(points for points, _ in scored if points > 0)
    if wanted == 0 or score(rubric, verdicts, min_scored_share) is None:
        return None
    return sum(points * grade for points, grade in scored) / wanted


def _graded(rubric: Sequence[Criterion], verdicts: Sequence[Verdict]) -> list[tuple[float, float | None]]:
    """Points and grade of each criterion. Points are over the largest |points|: their ratios are all that counts, and sums of very
    large ones would overflow."""
    if [v.criterion_id for v in verdicts] != [c.id for c in rubric]:
        raise ValueError(f"{len(verdicts)} verdicts do not match {len(rubric)} criteria, in order")
    points = [c.points for c in rubric]
    largest = max(map(abs, points))
    return [(p / largest, v.grade) for p, v in zip(points, verdicts, strict=True)]
