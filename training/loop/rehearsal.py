"""The rehearsal: fresh rollouts of the frozen policy, graded and ordered, for the critic.

Implements ``agents.rehearsal.Rehearsal``. It is open only while training stands still; generation draws from random streams of
its own, so weights, optimiser and training streams are as they were when it closes.
"""

import math
from collections.abc import Sequence
from itertools import islice

from agents.rehearsal import GradeRequest, OrderRequest, RolloutRequest
from memory.pairs import Orders
from memory.rollouts import RolloutStore
from memory.task import Task
from memory.visit import Rollout, Sign
from training.config import RunConfig
from training.loop.guidance import guidance_text, mount
from training.loop.patience import PatientJudge
from training.loop.policy import Generate, Speaker, derived_seed
from training.loop.progress import Progress
from training.loop.signs import OF_GROUP, samples, signs_in
from training.reward.judge import JudgeItem
from training.reward.quality import QualityOrder, QualityPair
from training.reward.score import score

OF_REHEARSAL = (*OF_GROUP, "length")
"""Signs of hacking that an edit is held against."""


class FrozenPolicyRehearsal:
    """Rolls out, grades and orders whole looks at once, and counts what it spent."""

    def __init__(
        self,
        config: RunConfig,
        tasks: dict[str, Task],
        speaker: Speaker,
        judge: PatientJudge,
        quality: QualityOrder,
        store: RolloutStore,
        progress: Progress,
    ):
        self.config = config
        self.tasks = tasks
        self.speaker = speaker
        self.judge = judge
        self.quality = quality
        self.store = store
        self.quality_source: str = config.quality.source
        self.progress = progress
        self.rollouts = self.judged = self.quality_calls = 0
        self._generate: Generate | None = None
        self._ceiling = 0

    def open(self, generate: Generate, ceiling: int) -> None:
        """Hand over the frozen policy, and the guidance ceiling of the coming steps, for one round."""
        self._generate, self._ceiling = generate, ceiling
        self.rollouts = self.judged = self.quality_calls = 0

    def close(self) -> None:
        self._generate = None

    def roll_out(self, tag: str, requests: Sequence[RolloutRequest]) -> list[tuple[Rollout, ...]]:
        if self._generate is None:
            raise RuntimeError("a rehearsal needs an open round: the policy is only frozen there")
        prompts, owners = [], []
        for k, request in enumerate(requests):
            guidance = guidance_text(request.entry.guidance, self._ceiling) if request.guided else None
            ids = self.speaker.prompt_ids(mount(request.entry.messages, guidance))
            prompts += [ids] * request.count
            owners += [(k, guidance)] * request.count
        if not prompts:
            return []
        with self.progress.phase("rehearse"):
            completions = self._generate(prompts, derived_seed(self.config.seed, "rehearsal", tag))
            found: list[list[Rollout]] = [[] for _ in requests]
            for number, ((k, guidance), ids) in enumerate(zip(owners, completions, strict=True)):
                task = self.tasks[requests[k].task_id]
                found[k].append(self.speaker.rollout(f"{tag}/{number}", task, ids, guidance))
        self.store.write(tag, [r for rollouts in found for r in rollouts])
        self.rollouts += len(prompts)
        return [tuple(rollouts) for rollouts in found]

    def grade(self, requests: Sequence[GradeRequest]) -> list[tuple[Rollout, ...]]:
        items = [
            JudgeItem(messages=self.tasks[q.task_id].messages, response=r.text, rubric=q.rubric)
            for q in requests
            for r in q.rollouts
        ]
        with self.progress.phase("judge"):
            verdicts = iter(self.judge.judge(items))
        self.judged += len(items)
        least = self.config.reward.min_scored_share
        return [tuple(graded(r, q.rubric, next(verdicts), least) for r in q.rollouts) for q in requests]

    def signs(self, requests: Sequence[GradeRequest]) -> list[dict[str, Sign]]:
        # Taking up a hint is what it is for, so guidance is not among the texts that a response may be an echo of.
        groups = [
            (q, [r if r.guidance is None else r.model_copy(update={"guidance": None}) for r in q.rollouts]) for q in requests
        ]
        return [signs_in(samples(q.task_id, self.tasks[q.task_id].messages, q.rubric, rs), OF_REHEARSAL) for q, rs in groups]

    def order(self, requests: Sequence[OrderRequest]) -> list[Orders]:
        asked: list[QualityPair] = []
        for q in requests:
            task, texts = self.tasks[q.task_id], [r.text for r in q.rollouts]
            asked += [QualityPair(task, texts[i], texts[j]) for i, j in q.pairs]
        before = self.quality.calls
        with self.progress.phase("judge"):
            answers = iter(self.quality.compare(asked) if self.quality_source != "off" else [math.nan] * len(asked))
        self.quality_calls += self.quality.calls - before
        return [Orders.told(q.pairs, list(islice(answers, len(q.pairs)))) for q in requests]


def graded(rollout: Rollout, rubric, verdicts, min_scored_share: float) -> Rollout:
    """The rollout with its verdicts and score."""
    return rollout.model_copy(update={"verdicts": tuple(verdicts), "score": score(rubric, verdicts, min_scored_share)})
