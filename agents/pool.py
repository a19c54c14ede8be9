"""What was rolled out, graded and ordered for the candidates of a pass, shared by all that need it.

Two criteria edits of one task are measured on the same fresh rollouts and with the same Q; nothing is rolled out, graded or
ordered twice. What several candidates need at a look goes to the rehearsal in one batch.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from agents.rehearsal import GradeRequest, OrderRequest, Rehearsal, RolloutRequest
from agents.sample import Arm, Source
from memory.pairs import Orders
from memory.task import Criterion
from memory.visit import Rollout

Rubric = tuple[Criterion, ...]


class RolloutPool:
    """One per pass of a round. ``rehearsal`` does the work."""

    def __init__(self, rehearsal: Rehearsal):
        self.rehearsal = rehearsal
        self._rollouts: dict[Source, list[tuple[Rollout, ...]]] = defaultdict(list)
        self._graded: dict[tuple[str, str], Rollout] = {}
        self._orders: dict[tuple[str, str], float | None] = {}

    def roll_out(self, tag: str, wanted: Iterable[tuple[str, Arm, int]]) -> None:
        """A batch of (task id, arm, count): per source the largest count that is asked for."""
        largest: dict[Source, tuple[Arm, int]] = {}
        for task_id, arm, count in wanted:
            source = arm.source(task_id)
            if count > largest.get(source, (arm, 0))[1]:
                largest[source] = (arm, count)
        requests = [
            RolloutRequest(task_id=source[0], entry=arm.entry, guided=arm.guided, count=count)
            for source, (arm, count) in largest.items()
        ]
        for source, rollouts in zip(largest, self.rehearsal.roll_out(tag, requests), strict=True):
            self._rollouts[source].append(rollouts)

    def latest(self, task_id: str, arm: Arm, count: int, skip: int = 0) -> tuple[Rollout, ...]:
        """``count`` rollouts of an arm from the last batch, after the first ``skip`` of them."""
        return self._rollouts[arm.source(task_id)][-1][skip : skip + count]

    def grade(self, wanted: Sequence[tuple[str, Rubric, Sequence[Rollout]]]) -> list[list[Rollout]]:
        """Rollouts of (task id, rubric, rollouts) with their verdicts."""
        keys = ["\n".join(c.model_dump_json() for c in rubric) for _, rubric, _ in wanted]
        missing: dict[str, dict[str, Rollout]] = defaultdict(dict)
        about: dict[str, tuple[str, Rubric]] = {}
        for key, (task_id, rubric, rollouts) in zip(keys, wanted, strict=True):
            about[f"{task_id}\n{key}"] = (task_id, rubric)
            missing[f"{task_id}\n{key}"] |= {r.id: r for r in rollouts if (r.id, key) not in self._graded}
        asked = {key: rollouts for key, rollouts in missing.items() if rollouts}
        requests = [
            GradeRequest(task_id=about[key][0], rubric=about[key][1], rollouts=tuple(rollouts.values()))
            for key, rollouts in asked.items()
        ]
        for key, graded in zip(asked, self.rehearsal.grade(requests) if requests else [], strict=True):
            self._graded.update({(r.id, key.partition("\n")[2]): r for r in graded})
        return [[self._graded[r.id, key] for r in rollouts] for key, (_, _, rollouts) in zip(keys, wanted, strict=True)]

    def order(self, wanted: Sequence[OrderRequest]) -> list[Orders]:
        """Q per request; pairs that Q could not score are left out."""
        keys = [(tuple(r.id for r in request.rollouts), tuple(request.pairs)) for request in wanted]
        unlike = dict(zip(keys, wanted, strict=True))  # candidates of one task often ask for the same
        missing: dict[tuple, OrderRequest] = {}
        for key, request in unlike.items():
            ids, pairs = key
            fresh = [(i, j) for i, j in pairs if (ids[i], ids[j]) not in self._orders]
            self._orders.update({(ids[i], ids[j]): None for i, j in fresh})
            if fresh:
                missing[key] = request._replace(pairs=fresh)
        answers: dict[tuple, Orders] = {}
        for key, found in zip(missing, self.rehearsal.order(list(missing.values())) if missing else [], strict=True):
            ids, pairs = key
            told = zip(found.first.tolist(), found.second.tolist(), found.order.tolist(), strict=True)
            self._orders.update({(ids[i], ids[j]): order for i, j, order in told})
            if len(missing[key].pairs) == len(pairs):
                answers[key] = found
        for ids, pairs in unlike.keys() - answers.keys():
            answers[ids, pairs] = Orders.told(pairs, [self._orders[ids[i], ids[j]] for i, j in pairs])
        return [answers[key] for key in keys]
