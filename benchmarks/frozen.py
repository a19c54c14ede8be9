"""The laboratory with its policy frozen: rounds of the evolver without training between them, for benchmarks."""

import os
import random
from collections.abc import Sequence
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

from agents.attribution import Attributor, RuleAttributor
from agents.case import RoundResult
from agents.config import EvolverConfig
from agents.context import RoundContext
from agents.critic import Critic
from agents.evolver import HarnessEvolver
from agents.heuristics import HeuristicProposer, Proposer
from memory.embedding import HashingEmbedding
from memory.journal import HarnessRecord, RoundRecord
from memory.memory import Memory
from memory.rundir import RunDir
from training.config import CONFIGS, load_config
from training.judges import load_gold, open_judge, open_quality
from training.loop.groups import Seat
from training.loop.guidance import guidance_text, guided_count
from training.loop.hindsight import hindsights
from training.loop.policy import Speaker, derived_seed, generate_with, model_source
from training.loop.progress import Progress
from training.loop.rehearsal import FrozenPolicyRehearsal, graded
from training.loop.visits import make_visits, order_groups
from training.reward.judge import JudgeItem
from training.reward.rules import validate
from training.tasks.load import load_tasks


class FrozenLab:
    """A run directory, a memory, and a rehearsal over the shipped policy. ``overrides`` are those of the command line."""

    def __init__(self, folder: Path, overrides: Sequence[str] = ()):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.config = load_config(CONFIGS / "default.yaml", list(overrides))
        source = model_source(self.config.policy)
        tokenizer = AutoTokenizer.from_pretrained(source)
        self.generate = generate_with(
            AutoModelForCausalLM.from_pretrained(source, dtype=self.config.policy.dtype).eval(), tokenizer, self.config.policy
        )
        self.speaker = Speaker(tokenizer, self.config.policy)
        self.tasks = {t.id: t for t in load_tasks(self.config.tasks.train or (), "tasks.train", "stop").tasks}
        self.run = RunDir(folder)
        self.lock = self.run.claim()
        self.memory = Memory(self.run, self.tasks, HashingEmbedding())
        self.judge = open_judge(self.config, list(self.tasks.values()))
        self.gold = load_gold(self.config)
        self.quality = open_quality(self.config, self.gold, list(self.tasks.values()))
        progress = Progress(1, None, False)
        self.rehearsal = FrozenPolicyRehearsal(
            self.config, self.tasks, self.speaker, self.judge, self.quality, self.memory.rollouts, progress
        )

    def some(self, count: int, seed: int = 0) -> list[str]:
        """Task ids, drawn at random."""
        return random.Random(seed).sample(sorted(self.tasks), count)

    def visit(self, task_ids: Sequence[str], step: int) -> None:
        """One group of each task under the harness as it is, into memory."""
        n, ceiling = self.config.train.group_size, self.config.guidance.max_fields
        seats = []
        for task_id in task_ids:
            task = self.tasks[task_id]
            entry = self.memory.harness.of(task)
            text = guidance_text(entry.guidance, ceiling)
            guided = guided_count(n, self.config.guidance) if text else 0
            seats += [Seat(task, entry, text if k >= n - guided else None) for k in range(n)]
        name = f"step-{step:06d}"
        completions = self.generate([self.speaker.prompt_ids(s.seen_prompt) for s in seats], derived_seed(self.config.seed, name))
        rollouts = [
            self.speaker.rollout(f"{name}/{k}", seat.task, ids, seat.guidance)
            for k, (seat, ids) in enumerate(zip(seats, completions, strict=True))
        ]
        items = [JudgeItem(s.task.messages, r.text, s.entry.rubric) for s, r in zip(seats, rollouts, strict=True)]
        verdicts = self.judge.judge(items)
        rollouts = [
            graded(r, s.entry.rubric, v, self.config.reward.min_scored_share)
            for r, s, v in zip(rollouts, seats, verdicts, strict=True)
        ]
        groups = [(seats[k], rollouts[k : k + n]) for k in range(0, len(seats), n)]
        visits = make_visits(groups, order_groups(self.quality, groups, step, self.config), step, self.memory.harness.version)
        self.memory.rollouts.write(name, rollouts)
        self.memory.record(step, *hindsights(self.memory, visits, self.config.evolver.critic.flat_share), *visits)

    def evolver(
        self, settings: EvolverConfig | None = None, attributor: Attributor | None = None, proposer: Proposer | None = None
    ) -> HarnessEvolver:
        settings = settings or self.config.evolver
        critic = Critic(settings.critic, self.rehearsal)
        roles = attributor or RuleAttributor(), proposer or HeuristicProposer()
        return HarnessEvolver(settings, self.memory, *roles, critic, validate)

    def round(self, evolver: HarnessEvolver, task_ids: Sequence[str], number: int, step: int, apply: bool = True) -> RoundResult:
        """One round, recorded and applied as a run would."""
        context = RoundContext(
            round=number,
            step=step,
            steps=10_000,
            guidance_ceiling=self.config.guidance.max_fields,
            levels=self.config.sampling.levels,
        )
        self.rehearsal.open(self.generate, self.config.guidance.max_fields)
        try:
            found = evolver.run(context, task_ids, f"round-{number}")
        finally:
            self.rehearsal.close()
        if apply:
            record = RoundRecord(round=number, task_ids=tuple(task_ids), rollouts=self.rehearsal.rollouts)
            self.memory.record(step, *found.decisions, record)
            if found.entries:
                ids = tuple(d.edit.id for d in found.decisions if d.outcome == "accepted")
                self.memory.record(
                    step, HarnessRecord(version=self.memory.harness.version + 1, edit_ids=ids, entries=found.entries)
                )
        return found

    def close(self) -> None:
        self.memory.close()
        self.lock.release()
