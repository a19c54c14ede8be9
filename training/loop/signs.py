"""Signs of reward hacking of a step: by group into its visit, over all groups into metrics and alerts. The reward never sees them."""

from collections.abc import Collection, Sequence

from memory.memory import Memory
from memory.task import Criterion, Message
from memory.visit import Rollout, Sign
from training.loop.groups import Seat
from training.reward.gate import visible
from training.reward.signals import SIGNALS, Reading, Sample

Group = tuple[Seat, Sequence[Rollout]]
OF_GROUP = ("echo", "repetition", "compression", "self_praise")
"""Signs that one group's responses are enough for."""


def samples_of(group: Group) -> list[Sample]:
    """The responses of a group as the signs see them, with the texts they were given."""
    seat, rollouts = group
    return samples(seat.task.id, seat.plain_prompt, seat.entry.rubric, rollouts)


def samples(task_id: str, prompt: Sequence[Message], rubric: Sequence[Criterion], rollouts: Sequence[Rollout]) -> list[Sample]:
    """Responses to a prompt, scored under a rubric, as the signs see them."""
    asked = tuple(m.content for m in prompt)
    criteria = tuple(c.text for c in rubric)
    return [
        Sample(
            task_id=task_id,
            text=visible(r.text),
            told=(*asked, *criteria, *((r.guidance,) if r.guidance else ())),
            tokens=r.tokens,
            score=r.score,
        )
        for r in rollouts
    ]


def signs_of(group: Group) -> dict[str, Sign]:
    """The signs of one group, by name."""
    return signs_in(samples_of(group), OF_GROUP)


def signs_in(responses: Sequence[Sample], names: Collection[str]) -> dict[str, Sign]:
    """The signs with these names, of those the responses are enough for."""
    read = {s.name: (s.measure(responses), s.threshold) for s in SIGNALS if s.name in names}
    return {name: Sign(value=r.value, threshold=least) for name, (r, least) in read.items() if r.value is not None}


def readings_of(groups: Sequence[Group], memory: Memory) -> dict[str, Reading]:
    """What every signal of one step's responses says, by name. Phrases are held against those of the first step."""
    responses = [sample for group in groups for sample in samples_of(group)]
    first = [
        Sample(task_id=r.task_id, text=visible(r.text))
        for earliest, *_ in memory.visits.values()
        if earliest.step == 0
        for r in memory.rollouts.get(earliest.rollout_ids)
    ]
    return {
        signal.name: signal.measure(responses, first) if signal.name == "boilerplate" else signal.measure(responses)
        for signal in SIGNALS
        if signal.scope == "samples"
    }
