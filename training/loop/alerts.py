"""Alerts: what goes wrong while a run looks healthy, in words with numbers and advice. Each is said once until it has passed."""

import shutil
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from pathlib import Path

from memory.journal import AlertRecord
from memory.visit import Visit
from training.reward.signals import SIGNALS, Reading

CLIPPED_SHARE, CLIPPED_STEPS = 0.5, 3
"""huggingface/trl#5697: runs whose answers were nearly all cut learned nothing for hours."""
UNSCORED_SHARE = 0.05
FLAT_STEPS = 3
SIGN_STEPS = 3
"""Steps in a row in which a sign must show: by chance alone a small step shows one in forty (``training.reward.signals``)."""
COURSE_STEPS = 40
"""Steps over which S and Q are compared: long enough for a slope, short enough that an early rise does not hide a late fall."""
LEAST_DISK = 2 * 1024**3
"""Bytes; a checkpoint that fails for want of space loses the run."""


class Alerts:
    """Looks at each step and returns what is new to say."""

    def __init__(self, run_root: Path, max_completion_tokens: int):
        self.run_root = run_root
        self.max_completion_tokens = max_completion_tokens
        self.clipped: deque[float] = deque(maxlen=CLIPPED_STEPS)
        self.flat: deque[float] = deque(maxlen=FLAT_STEPS)
        self.course: deque[tuple[float | None, float | None]] = deque(maxlen=COURSE_STEPS)
        self.shown: Counter[str] = Counter()
        self.active: set[str] = set()

    def look(
        self, visits: Sequence[Visit], metrics: Mapping[str, float], readings: Mapping[str, Reading] | None = None
    ) -> list[AlertRecord]:
        rollouts = sum(len(v.scores) for v in visits)
        self.clipped.append(sum(v.clipped for v in visits) / rollouts)
        self.flat.append(sum(is_flat(v) for v in visits) / len(visits))
        found = {}
        if len(self.clipped) == CLIPPED_STEPS and min(self.clipped) > CLIPPED_SHARE:
            cap = self.max_completion_tokens
            found["clipped"] = (
                f"{self.clipped[-1]:.0%} of responses were cut at {cap} tokens for {CLIPPED_STEPS} steps; "
                f"raise policy.max_completion_tokens, for example to {2 * cap}"
            )
        unscored = metrics.get("rollouts/unscored", 0.0)
        if unscored > UNSCORED_SHARE:
            found["unscored"] = (
                f"{unscored:.0%} of rollouts are unscored and train nothing; look at the judge's endpoint and limits"
            )
        if len(self.flat) == FLAT_STEPS and min(self.flat) == 1.0:
            found["flat"] = (
                f"no group had any spread for {FLAT_STEPS} steps, so nothing was learned; the tasks are all too easy or too hard for this "
                "policy, or the rubrics do not tell its answers apart"
            )
        found |= self._signs(visits, readings or {})
        free = shutil.disk_usage(self.run_root).free
        if free < LEAST_DISK:
            found["disk"] = f"{free / 1024**3:.1f} GiB left where the run is written; free some, or lower checkpoint.keep"
        new = [AlertRecord(name=name, text=text) for name, text in found.items() if name not in self.active]
        self.active = set(found)
        return new

    def _signs(self, visits: Sequence[Visit], readings: Mapping[str, Reading]) -> dict[str, str]:
        """Signs of reward hacking that show, by alert name."""
        self.course.append((_mean([s for v in visits for s in v.scored]), alignment(visits)))
        scores, quality = zip(*self.course, strict=True)
        told = {}
        for signal in SIGNALS:
            reading = signal.measure(scores, quality) if signal.scope == "course" else readings.get(signal.name, Reading(None))
            self.shown[signal.name] = self.shown[signal.name] + 1 if signal.shows(reading) else 0
            if self.shown[signal.name] >= (1 if signal.scope == "course" else SIGN_STEPS):
                told[f"signal_{signal.name}"] = f"{signal.meaning} ({signal.name} {reading.value:.2f}: {reading.detail})"
        return told


def alignment(visits: Sequence[Visit]) -> float | None:
    """The share of the pairs a criterion separates on which Q agrees: a step's Q, which has no scale of its own over time."""
    pairs = [(v.shares.agree, v.shares.spurious) for v in visits if any(p.order is not None for p in v.quality)]
    informative = sum(agree + spurious for agree, spurious in pairs)
    return sum(agree for agree, _ in pairs) / informative if informative > 0 else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def is_flat(visit: Visit) -> bool:
    """No two scored rollouts of the group differ."""
    scored = visit.scored
    return len(scored) < 2 or max(scored) - min(scored) < 1e-9
