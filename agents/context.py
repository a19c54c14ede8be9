"""What the roles of a round may know besides evidence: where training stands and what the schedules allow."""

from memory.decision import Decision, Probe
from memory.harness import TaskHarness
from memory.memory import Evidence
from memory.task import Noun, Task
from memory.visit import Rollout


class RoundContext(Noun):
    """One call of the evolver. ``guidance_ceiling`` is how many fields a task may have now; 0 means guidance is over."""

    round: int
    step: int
    steps: int
    guidance_ceiling: int
    levels: tuple[float, ...]


class CaseFile(Noun):
    """Everything that attributor and proposer see of one task. It holds no gold check and no held-out task.

    ``rollouts`` are those of the last visit, in its order; ``probes`` what small rehearsals found where the visit does not tell the
    cause; ``tried`` are this round's decisions on the task, newest last; ``dropped`` says of candidates of the proposer's earlier
    replies in this round why they could not be used.
    """

    context: RoundContext
    task: Task
    entry: TaskHarness
    evidence: Evidence
    rollouts: tuple[Rollout, ...]
    probes: tuple[Probe, ...] = ()
    tried: tuple[Decision, ...] = ()
    dropped: tuple[str, ...] = ()

    def not_accepted(self) -> list[Decision]:
        """Decisions on this task that did not lead to a change: recalled ones first, then this round's."""
        return [d for d in (*self.evidence.decisions, *self.tried) if d.outcome != "accepted"]
