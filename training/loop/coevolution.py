"""Co-evolution: the one object that carries a task from its draw to its visit, and the harness from round to round.

It does not know TRL: the trainer asks it for seats, hands it completions, and calls it between steps with the frozen policy.

    seats -> (the trainer rolls out) -> grade -> record        every step
    evolve                                                     every ``evolver.every`` steps, on rank 0
"""

import copy
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memory.harness import Harness
from memory.journal import EvaluationRecord
from memory.memory import Memory
from memory.pairs import mean_shares
from memory.task import Task
from memory.visit import Rollout, Visit
from training.config import RunConfig
from training.evaluate import evaluate
from training.loop.groups import Seat, seat_step
from training.loop.guidance import ceiling_at
from training.loop.hindsight import hindsights
from training.loop.ledger import Ledger
from training.loop.patience import JudgeOutage, PatientJudge
from training.loop.policy import Generate, Speaker, derived_seed
from training.loop.progress import Progress
from training.loop.rehearsal import graded
from training.loop.round import EvolverRound
from training.loop.sampling import TaskSampler, calibration_split
from training.loop.second import SecondOpinion
from training.loop.signs import Group, readings_of
from training.loop.visits import make_visits, order_groups
from training.reward.judge import JudgeItem
from training.reward.quality import QualityOrder
from training.reward.signals import Reading

COLD_START = "cold-start"
"""Names the rollouts and visits of the calibration split."""


class CoEvolution:
    """State of the co-evolution on one rank. ``memory`` and ``round`` exist on rank 0 only.

    Args:
        second: looks at what the judge has begun to credit.
        gold: gold score of (task id, response) for held-out tasks, where gold checks exist.
    """

    def __init__(
        self,
        config: RunConfig,
        tasks: Sequence[Task],
        heldout: Sequence[Task],
        speaker: Speaker,
        judge: PatientJudge,
        quality: QualityOrder,
        progress: Progress,
        ledger: Ledger,
        gold: Any = None,
        second: SecondOpinion | None = None,
    ):
        self.config = config
        self.sampler = TaskSampler(tasks, config.sampling.floor, config.seed)
        self.heldout = list(heldout)
        self.speaker = speaker
        self.judge = judge
        self.quality = quality
        self.progress = progress
        self.ledger = ledger
        self.gold = gold
        self.second = second
        self.harness = Harness()
        self.memory: Memory | None = None
        self.round: EvolverRound | None = None
        self.metrics: dict[str, float] = {}
        self.readings: dict[str, Reading] = {}
        self.visits: list[Visit] = []
        self.round_step = self.evaluated_step = -1
        self._sampler_before: dict[str, Any] | None = None

    def state(self) -> dict[str, Any]:
        """What a checkpoint keeps beside the trainer's own state: draws, and which step's round and evaluation are done."""
        return {"sampler": self.sampler.state(), "round_step": self.round_step, "evaluated_step": self.evaluated_step}

    def restore(self, state: Mapping[str, Any]) -> None:
        self.sampler.restore(state["sampler"])
        self.round_step, self.evaluated_step = state["round_step"], state["evaluated_step"]

    def keep_draw(self) -> None:
        """The step that was drawn is trained."""
        self._sampler_before = None

    def undraw(self) -> None:
        """Forget the draw of a step that is not going to be trained."""
        if self._sampler_before is not None:
            self.sampler.restore(self._sampler_before)

    def seats(self, step: int) -> list[Seat]:
        """Who sits in the groups of this step, over all ranks; equal on every rank."""
        self._sampler_before = copy.deepcopy(self.sampler.state())
        return seat_step(self.sampler, self.harness, step, self.config)

    def grade(
        self, step: int, seats: Sequence[Seat], completions: Sequence[Sequence[int]], offset: int, name: str | None = None
    ) -> list[Rollout]:
        """Judge one rank's rollouts. ``offset`` is the number of its first seat in the step; ``name`` names what is no step."""
        with self.progress.phase("judge"):
            name = name or step_name(step)
            rollouts = [
                self.speaker.rollout(f"{name}/{offset + k}", seat.task, ids, seat.guidance)
                for k, (seat, ids) in enumerate(zip(seats, completions, strict=True))
            ]
            items = [
                JudgeItem(messages=seat.task.messages, response=r.text, rubric=seat.entry.rubric)
                for seat, r in zip(seats, rollouts, strict=True)
            ]
            least = self.config.reward.min_scored_share
            return [
                graded(r, seat.entry.rubric, verdicts, least)
                for r, seat, verdicts in zip(rollouts, seats, self.judge.judge(items), strict=True)
            ]

    def check_scored(self, rollouts: Sequence[Rollout]) -> None:
        """Stop before a step that would train on a failed judge (verl-omni#366).

        Raises:
            JudgeOutage: the unscored share exceeds ``reward.max_unscored``.
        """
        unscored = [r for r in rollouts if r.score is None]
        if len(unscored) > self.config.reward.max_unscored * len(rollouts):
            reasons = sorted({v.reason for r in unscored for v in r.verdicts if v.status == "unscored"})
            raise JudgeOutage(
                f"{len(unscored)} of {len(rollouts)} rollouts are unscored ({', '.join(reasons)[:200]}), more than reward.max_unscored="
                f"{self.config.reward.max_unscored:g}; nothing was trained on this step: mend the judge and go on with --resume"
            )

    def record(self, step: int, seats: Sequence[Seat], rollouts: Sequence[Rollout]) -> None:
        """Visits, hindsight and metrics of a step, into memory. Rank 0."""
        assert self.memory is not None
        groups, self.visits = self._remember(step, seats, rollouts, step_name(step))
        with self.progress.phase("remember"):
            self.metrics = step_metrics(self.visits, rollouts, self.harness)
            self.readings = readings_of(groups, self.memory)
            if self.second is not None:
                with self.progress.phase("judge"):
                    self.readings["second"] = self.second.ask(step, groups, self.visits, self.memory)
            self.metrics |= {f"signals/{name}": r.value for name, r in self.readings.items() if r.value is not None}
            if self.round_due(step + 1):  # recall will ask then; meanwhile the step is trained
                self.memory.index_ahead()

    def _remember(
        self, step: int, seats: Sequence[Seat], rollouts: Sequence[Rollout], name: str, prefix: str = ""
    ) -> tuple[list[Group], list[Visit]]:
        """Groups and their visits, which are recorded with the hindsight they give. ``name`` is the rollouts' file, ``prefix`` sets the
        ids of visits apart that are not of training."""
        assert self.memory is not None
        n = self.config.train.group_size
        groups = [(seats[k], rollouts[k : k + n]) for k in range(0, len(seats), n)]
        with self.progress.phase("judge"):
            orders = order_groups(self.quality, groups, step, self.config)
        with self.progress.phase("remember"):
            self.memory.rollouts.write(name, rollouts, keep=True)
            visits = make_visits(groups, orders, step, self.harness.version, prefix)
            seen = hindsights(self.memory, visits, self.config.evolver.critic.flat_share)
            self.memory.record(step, *seen, *visits)
        return groups, visits

    def round_due(self, step: int) -> bool:
        """Whether a round comes at the start of this step. One whose result is on record is not held again after a resume."""
        settings = self.config.evolver
        due = settings.enabled and step % settings.every == 0 and (step > 0 or settings.cold_start > 0)
        return due and self.round_step != step

    def evolve(self, step: int, generate: Generate, fingerprint: str) -> None:
        """Call the evolver and wait: one round on the frozen policy. Rank 0."""
        assert self.memory is not None
        assert self.round is not None
        with self.progress.phase("evolve"):
            ceiling = ceiling_at(step, self.config.train.steps, self.config.guidance)
            self.round.run(step, generate, ceiling, fingerprint)
            self.harness = self.memory.harness

    def cold_start(self, generate: Generate) -> None:
        """Fill an empty memory from the calibration split: one plain group of each of its tasks, under the static harness. Rank 0."""
        count = self.config.evolver.cold_start
        if self.memory is None or not count or self.memory.visits:
            return
        seats = [
            Seat(task=task, entry=self.harness.of(task), guidance=None)
            for task in calibration_split(list(self.sampler.tasks.values()), count, self.config.seed)
            for _ in range(self.config.train.group_size)
        ]
        with self.progress.phase("rehearse"):
            prompts = [self.speaker.prompt_ids(seat.plain_prompt) for seat in seats]
            completions = generate(prompts, derived_seed(self.config.seed, COLD_START))
        rollouts = self.grade(0, seats, completions, 0, COLD_START)
        self._remember(0, seats, rollouts, COLD_START, f"{COLD_START}-")

    def revisit_edited(self, before: Harness) -> None:
        """Draw tasks whose text, guidance or criteria a round has changed soon: a large suite would come back to them, and so
        use the edit and learn whether it kept its promise, only a whole pass later. Every rank does the same."""
        if not self.config.sampling.revisit_edited:
            return
        for task_id in sorted(self.harness.entries):
            task = self.sampler.tasks[task_id]
            old, new = before.of(task), self.harness.of(task)
            if new.model_copy(update={"level": old.level}) != old:
                self.sampler.bring_forward([task_id])

    def evaluate(self, step: int, generate: Generate) -> None:
        """Held-out scores of the policy as it is, under the plain prompt and the rubric the user brought. Rank 0."""
        if self.memory is None or not self.heldout:
            return
        with self.progress.phase("evaluate"):
            found = evaluate(self.config, self.heldout, generate, self.speaker, self.judge, self.gold)
            self.memory.record(step, EvaluationRecord(step=step, score=found.score, raw=found.raw, gold=found.gold))

    def evaluation_due(self, step: int) -> bool:
        """Whether held-out tasks are evaluated after this many steps, before the end."""
        every = self.config.evaluation.every
        return self.evaluated_step != step and (step == 0 or bool(every and step % every == 0 and step < self.config.train.steps))


def step_name(step: int) -> str:
    """Of the file with a step's rollouts."""
    return f"step-{step:06d}"


def step_metrics(visits: Sequence[Visit], rollouts: Sequence[Rollout], harness: Harness) -> dict[str, float]:
    """The harness's own metrics of a step, beside TRL's."""
    metrics = {f"pairs/{name}": share for name, share in mean_shares(visits).items()}
    for name, guided in (("plain", False), ("guided", True)):
        scores = [r.score for r in rollouts if r.score is not None and (r.guidance is not None) == guided]
        if scores:
            metrics[f"reward/{name}"] = sum(scores) / len(scores)
    metrics["quality/comparisons"] = float(sum(p.order is not None for v in visits for p in v.quality))
    metrics["rollouts/unscored"] = sum(r.score is None for r in rollouts) / len(rollouts)
    reasons = Counter(v.reason for r in rollouts for v in r.verdicts if v.status == "unscored")
    metrics |= {f"unscored/{reason}": float(count) for reason, count in sorted(reasons.items())}
    metrics["rollouts/guided"] = sum(r.guidance is not None for r in rollouts) / len(rollouts)
    metrics["harness/version"] = float(harness.version)
    metrics["harness/guidance_fields"] = float(sum(len(e.guidance) for e in harness.entries.values()))
    return metrics
