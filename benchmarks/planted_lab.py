"""Planted edits on the laboratory's own policy and tasks, for ``benchmarks.critic --lab``.

What an edit is worth there is not known by construction, but for A/A; it is measured with ``TRUTH`` rollouts per group and a Q without
error, apart from the critic's own rollouts. Edits with a true gain between 0 and ``HELPFUL`` are neither help nor harm and are left out.
"""

from collections.abc import Iterator

from agents.attribution import RuleAttributor
from agents.case import Case
from agents.config import CriticConfig
from agents.context import RoundContext
from agents.critic import Critic
from agents.heuristics import HeuristicProposer
from agents.sample import Candidate
from benchmarks.frozen import FrozenLab
from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    Operation,
    PairClass,
    RewriteTask,
    apply,
)
from memory.errors import EditError
from memory.harness import GuidanceField, TaskHarness
from memory.task import Criterion, Rule
from training.lab.world import FILLER

TRUTH = 150
HELPFUL = 0.2
"""True gain from which an edit counts as one that helps."""


def candidates(lab: FrozenLab, task_ids: list[str]) -> Iterator[tuple[str, Candidate]]:
    """(kind, candidate) for every task: A/A; hints and criteria that ask for padding; the heuristics' first edits; criteria deleted."""
    for task_id in task_ids:
        entry = lab.memory.harness.of(lab.tasks[task_id])
        ids = tuple(c.id for c in entry.rubric)
        same = RewriteTask(direction="clearer", messages=entry.messages)
        yield "A/A", planted(task_id, "same", same, entry, "blind", ids, after=entry)
        padding = FILLER[len(task_id) % len(FILLER)]
        hint = AddField(field=GuidanceField(id="f", text=padding))
        yield "padding hinted at", planted(task_id, "pad", hint, entry, "blind", ids)
        rule = Rule(name="mentions_any", args={"phrases": [padding.rstrip(".")]})
        points = sum(abs(c.points) for c in entry.rubric)
        wanted = CreateCriterion(criterion=Criterion(id="pad", text=f"Says: {padding}", points=points, kind="rule", rule=rule))
        yield "padding rewarded", planted(task_id, "want", wanted, entry, "spurious", ())
        for number, criterion in enumerate(entry.rubric[:2]):
            if len(entry.rubric) > 1:
                gone = DeleteCriterion(criterion_id=criterion.id)
                yield "criterion deleted", planted(task_id, f"delete{number}", gone, entry, "spurious", ())


def planted(
    task_id: str,
    name: str,
    operation: Operation,
    entry: TaskHarness,
    pair_class: PairClass,
    ids: tuple[str, ...],
    after: TaskHarness | None = None,
) -> Candidate:
    claim = Claim(pair_class=pair_class, criterion_ids=ids, reason="planted")
    edit = Edit(id=f"{name}-{task_id}", task_id=task_id, operation=operation, claim=claim, proposer="planted")
    return Candidate(edit=edit, before=entry, after=after or apply(edit, entry))


def proposals(lab: FrozenLab, task_ids: list[str]) -> Iterator[tuple[str, Candidate]]:
    """What rules and heuristics would propose first."""
    evolver = lab.evolver()
    context = RoundContext(
        round=1, step=1, steps=100, guidance_ceiling=lab.config.guidance.max_fields, levels=lab.config.sampling.levels
    )
    for task_id in task_ids:
        file = evolver.file(context, Case(task_id=task_id))
        attribution = RuleAttributor().attribute(file)
        for edit in HeuristicProposer().propose(file, attribution, f"h-{task_id}", 2) if attribution else []:
            try:
                yield f"proposed, {edit.interface}", Candidate(edit=edit, before=file.entry, after=apply(edit, file.entry))
            except EditError:
                continue


def truths(lab: FrozenLab, found: list[tuple[str, Candidate]]) -> list[float]:
    """The gain of each candidate on many rollouts."""
    config = CriticConfig(rollouts=(TRUTH + TRUTH % 2,), quality_pairs=4000, guard_tasks=0, acceptance="each")
    flip, lab.quality._flip_rate = lab.quality._flip_rate, 0.0
    gains = []
    for k in range(0, len(found), 8):
        part = [c for _, c in found[k : k + 8]]
        for finding in Critic(config, lab.rehearsal).measure(f"truth-{k}", part):
            assert finding.measurement is not None
            gains.append(finding.measurement.effect.estimate)
    lab.quality._flip_rate = flip
    return gains


def decisions(lab: FrozenLab, config: CriticConfig, found: list[tuple[str, Candidate]], passes: int) -> list[bool]:
    """Whether the critic accepts each candidate, every one in a round of its own."""
    accepted = []
    for k, (_, candidate) in enumerate(found):
        (finding,) = Critic(config, lab.rehearsal).measure(f"critic-{k}", [candidate], passes)
        accepted.append(finding.outcome == "accepted")
    return accepted


def run(lab: FrozenLab, config: CriticConfig, tasks: int, passes: int) -> list[tuple[str, float, bool, bool]]:
    """(kind, true gain, accepted by the critic, accepted on the mean alone) per planted edit."""
    task_ids = lab.some(tasks)
    lab.visit(task_ids, 0)
    lab.rehearsal.open(lab.generate, lab.config.guidance.max_fields)
    found = [*candidates(lab, task_ids), *proposals(lab, task_ids)]
    gains = [0.0 if kind == "A/A" else gain for (kind, _), gain in zip(found, truths(lab, found), strict=True)]
    by_critic = decisions(lab, config, found, passes)
    by_mean = decisions(lab, config.model_copy(update={"acceptance": "mean"}), found, passes)
    return [(kind, gain, a, m) for (kind, _), gain, a, m in zip(found, gains, by_critic, by_mean, strict=True)]
