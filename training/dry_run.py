"""What a run would do, without doing it: the resolved config, the tasks, two prompts, and the costs."""

from collections import Counter
from collections.abc import Sequence

import yaml

from memory.harness import GuidanceField
from memory.task import Task
from training.config import RunConfig
from training.loop.guidance import guidance_text, mount


def describe(config: RunConfig, train: Sequence[Task], heldout: Sequence[Task]) -> str:
    """The text of ``--dry-run``. Raises ``UserError`` for what a run would stumble over at its start."""
    from agents.roles import open_attributor, open_proposer
    from training.judges import load_gold, open_judge, open_quality
    from training.session import load_tokenizer

    tokenizer = load_tokenizer(config)
    open_attributor(config.evolver.attributor)
    open_proposer(config.evolver.proposer)
    open_judge(config, [*train, *heldout])
    open_quality(config, load_gold(config), train)

    def rendered(messages) -> str:
        plain = [m.model_dump() for m in messages]
        return str(
            tokenizer.apply_chat_template(plain, tokenize=False, add_generation_prompt=True, **config.policy.chat_template_kwargs)
        )

    task = train[0]
    example = [GuidanceField(id="example", text="(a guidance field)")]
    domains = ", ".join(f"{name} {count}" for name, count in sorted(Counter(t.domain for t in train).items()))
    kinds = Counter(c.kind for t in train for c in t.rubric)
    return "\n".join(
        [
            "# config",
            yaml.safe_dump(config.model_dump(mode="json"), allow_unicode=True, sort_keys=False),
            "# tasks",
            f"{len(train)} to train on ({domains}), {len(heldout)} held out; criteria: {', '.join(f'{n} {k}' for k, n in kinds.items())}",
            "",
            "# plain prompt",
            rendered(task.messages),
            "",
            "# guided prompt",
            rendered(mount(task.messages, guidance_text(example, 1))),
            "",
            "# costs",
            *costs(config, train, heldout),
        ]
    )


def costs(config: RunConfig, train: Sequence[Task], heldout: Sequence[Task]) -> list[str]:
    """Upper counts of what is spent, one line each."""
    settings, evolver = config.train, config.evolver
    rollouts = settings.steps * settings.tasks_per_step * settings.group_size
    rounds = (settings.steps - 1) // evolver.every if evolver.enabled else 0
    if evolver.enabled and evolver.cold_start:
        rounds += 1
    candidates = rounds * evolver.max_tasks * (1 + evolver.revisions) * evolver.proposals
    # A task rewrite needs two full groups, the most of any edit; each may be confirmed on guard tasks.
    per_candidate_rollouts = 2 * evolver.critic.rollouts[-1] + 2 * evolver.critic.guard_tasks * evolver.critic.guard_rollouts
    probes = rounds * evolver.max_tasks * 2 * evolver.probe_rollouts
    calibration = evolver.cold_start * settings.group_size if evolver.enabled else 0
    rehearsal = candidates * per_candidate_rollouts + probes + calibration
    if evolver.budget.run.rollouts is not None:
        rehearsal = min(rehearsal, evolver.budget.run.rollouts)
    evaluations = 2 + ((settings.steps - 1) // config.evaluation.every if config.evaluation.every else 0)
    judged = sum(c.kind != "rule" for t in train for c in t.rubric) / len(train)
    pairs = min(config.quality.pairs_per_group, settings.group_size * (settings.group_size - 1) // 2)
    compared = 0 if config.quality.source == "off" else settings.steps * settings.tasks_per_step * pairs
    per_candidate = 0 if config.quality.source == "off" else evolver.critic.quality_pairs * len(evolver.critic.rollouts)
    return [
        f"training rollouts: {rollouts}",
        f"rehearsal rollouts: at most {rehearsal} ({rounds} rounds, at most {candidates} candidates)",
        f"held-out responses: {evaluations * len(heldout) * config.evaluation.samples}",
        f"criteria judged by a model: about {round(rollouts * judged)} in training, at most {round(rehearsal * judged)} in rehearsals",
        f"quality comparisons: {compared} in training, at most {candidates * per_candidate} in rehearsals",
        f"evolver calls: {rounds} (each up to {evolver.max_tasks} tasks)",
    ]
