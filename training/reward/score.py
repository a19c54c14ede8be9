"""S: the rubric score of a rollout.

    S = sum of |points| of criteria that pass / sum of |points| of criteria that are scored

for a ``levels`` criterion its grade counts in place of 0 or 1. S is in [0, 1] for every legal rubric, without clipping, and is an
affine map of the raw sum of points of met criteria (HealthBench, arXiv 2505.08775), so within a group it gives the same
advantages; the form with |points| is that of arXiv 2605.12474.
"""

from collections.abc import Sequence

from memory.task import Criterion, Verdict


def score(rubric: Sequence[Criterion], verdicts: Sequence[Verdict], min_scored_share: float) -> float | None:
    """S, or None (unscored) when criteria with less than ``min_scored_share`` of the |points| have a verdict.

    Raises:
        ValueError: verdicts do not stand one to one with the rubric.
    """
    if [v.criterion_id for v in verdicts] != [c.id for c in rubric]:
        raise ValueError(f"{len(verdicts)} verdicts do not match {len(rubric)} criteria, in order")
    scored = [(abs(c.points), c.points, v.grade) for c, v in zip(rubric, verdicts, strict=True) if v.grade is not None]
    weight = sum(w for w, _, _ in scored)
    total = sum(abs(c.points) for c in rubric)
    if weight == 0 or weight < min_scored_share * total * (1 - 1e-9):
        return None
    return sum(w * (grade if points > 0 else 1 - grade) for w, points, grade in scored) / weight
