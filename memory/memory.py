"""The training memory M: everything a run has recorded, and the three scopes in which it is recalled.

``record`` appends to the journal and keeps the views and the index in step with it, so that a memory opened again on the same
journal is the same memory. Recall scopes: *last* (the task's last visit), *window* (its last W visits and the decisions on it),
*cross_task* (decisions on other tasks nearest by meaning: domain, failure class, criterion text, weighted by hindsight).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from memory.decision import Decision, Hindsight
from memory.edit import PairClass
from memory.embedding import Embedding
from memory.harness import Harness, TaskHarness
from memory.index import Document, MemoryIndex
from memory.journal import HarnessRecord, Journal, RoundRecord, read_journal
from memory.rollouts import RolloutStore
from memory.rundir import RunDir
from memory.task import Noun, Task
from memory.visit import Rollout, Visit

CLASSES_OF_FAILURE: tuple[PairClass, ...] = ("blind", "saturated", "spurious")
FADED = 0.25
"""Share of the measured gain under which an edit has faded. A measured gain is somewhat too large, as the chosen ones are, and a few
groups of eight are noisy, so losing half of it proves little; the reversal is measured in any case."""
FADED_VISITS = 3
"""Visits since an edit before it can be found faded."""

Scope = Literal["last", "window", "cross_task"]


class Neighbour(Noun):
    """A decision on another task, with its similarity to the question and the hindsight on it (None: not seen yet)."""

    decision: Decision
    similarity: float
    hindsight: float | None


class Evidence(Noun):
    """What is known of one task when the evolver looks at it. ``ids`` are the ids that an edit may cite.

    ``decisions`` are those on the task; ``faded`` are the accepted ones among all of the task's whose gain hindsight finds gone;
    ``hindsight`` what is known of the edits in ``decisions`` and ``faded``, by edit id.
    """

    task_id: str
    visits: tuple[Visit, ...]
    decisions: tuple[Decision, ...]
    neighbours: tuple[Neighbour, ...]
    faded: tuple[Decision, ...] = ()
    hindsight: dict[str, Hindsight] = Field(default_factory=dict)

    @property
    def last(self) -> Visit:
        return self.visits[-1]

    @property
    def ids(self) -> tuple[str, ...]:
        return (
            *(v.id for v in self.visits),
            *(d.edit.id for d in self.decisions),
            *(n.decision.edit.id for n in self.neighbours),
            *(d.edit.id for d in self.faded if d not in self.decisions),
        )


class Memory:
    """Views over the journal of one run. Opened by the rank that owns the run directory."""

    def __init__(self, run: RunDir, tasks: Mapping[str, Task], embedding: Embedding, rebuild_index: bool = False):
        self.run = run
        self.tasks = tasks
        self.journal = Journal(run.journal)
        self.rollouts = RolloutStore(run.rollouts)
        self.harness = Harness()
        self.visits: dict[str, list[Visit]] = {}
        self.decisions: dict[str, list[Decision]] = {}
        self.hindsight: dict[str, Hindsight] = {}
        self.history: dict[str, list[tuple[int, TaskHarness]]] = {}
        self.rounds: list[RoundRecord] = []
        self._edits: dict[str, Decision] = {}
        self._entries_before: dict[str, TaskHarness] = {}
        self._task_of: dict[str, str] = {}
        documents = []
        for entry in read_journal(run.journal):
            documents += self._view(entry.record)
        self.index = MemoryIndex(run.index, embedding)
        self.index.open(documents, rebuild=rebuild_index)

    def record(self, step: int, *records: Noun) -> None:
        """Append records to the journal and take them into the views and the index."""
        documents = []
        for record in records:
            self.journal.append(step, record)
            documents += self._view(record)
        self.index.add(documents)

    def _view(self, record: Noun) -> list[Document]:
        match record:
            case Visit():
                self.visits.setdefault(record.task_id, []).append(record)
                self._task_of[record.id] = record.task_id
                return [self._visit_document(record)]
            case Decision():
                self.decisions.setdefault(record.edit.task_id, []).append(record)
                self._edits[record.edit.id] = record
                return [self._decision_document(record)]
            case HarnessRecord():
                for task_id in record.entries:
                    before = self.harness.of(self.tasks[task_id])
                    self._entries_before |= {i: before for i in record.edit_ids if self._edits[i].edit.task_id == task_id}
                    self.history.setdefault(task_id, []).append((len(self.visits.get(task_id, ())), before))
                self.harness = Harness(version=record.version, entries={**self.harness.entries, **record.entries})
            case Hindsight():
                self.hindsight[record.edit_id] = record
            case RoundRecord():
                self.rounds.append(record)
        return []

    def _visit_document(self, visit: Visit) -> Document:
        text = self.question(visit.task_id, worst_class(visit), tuple(c.criterion_id for c in visit.criteria))
        return Document(id=visit.id, text=text, metadata={"kind": "visit", "task_id": visit.task_id, "step": visit.step})

    def _decision_document(self, decision: Decision) -> Document:
        edit = decision.edit
        return Document(
            id=edit.id,
            text=self.question(edit.task_id, edit.claim.pair_class, edit.claim.criterion_ids),
            metadata={"kind": "decision", "task_id": edit.task_id, "step": decision.step, "outcome": decision.outcome},
        )

    def question(self, task_id: str, pair_class: PairClass | str, criterion_ids: Sequence[str]) -> str:
        """What is looked up by meaning: domain, failure class and the texts of the criteria concerned."""
        task = self.tasks[task_id]
        rubric = self.harness.of(task).rubric
        texts = [c.text for c in rubric if not criterion_ids or c.id in criterion_ids]
        return "\n".join([task.domain, str(pair_class), *texts])

    def recall(
        self, task_id: str, scopes: Sequence[Scope], window: int, neighbours: int, pair_class: PairClass | None = None
    ) -> Evidence:
        """Evidence on a task that has been visited at least once.

        Args:
            scopes: which scopes to use; ``last`` is always part of the answer.
            window: visits of the task to recall under ``window``.
            neighbours: decisions on other tasks to recall under ``cross_task``.
        """
        visits = self.visits[task_id]
        since = visits[-window:][0].step
        near: list[Neighbour] = []
        if "cross_task" in scopes:
            near = self._neighbours(task_id, pair_class or worst_class(visits[-1]), neighbours)
        decisions = [d for d in self.decisions.get(task_id, ()) if "window" in scopes and d.step >= since]
        faded = self.faded(task_id) if "window" in scopes else []
        seen = {d.edit.id: self.hindsight[d.edit.id] for d in (*decisions, *faded) if d.edit.id in self.hindsight}
        return Evidence(
            task_id=task_id,
            visits=tuple(visits[-window:] if "window" in scopes else visits[-1:]),
            decisions=tuple(decisions),
            neighbours=tuple(near),
            faded=tuple(faded),
            hindsight=seen,
        )

    def faded(self, task_id: str) -> list[Decision]:
        """The task's last accepted edit, if its gain has gone: seen at ``FADED_VISITS`` visits, and at most ``FADED`` of what was
        measured. Only the last one, since the visits after it say nothing certain of earlier ones."""
        accepted = [d for d in self.decisions.get(task_id, ()) if d.outcome == "accepted"]
        seen = self.hindsight.get(accepted[-1].edit.id) if accepted else None
        if seen is None or seen.visits < FADED_VISITS or seen.observed > FADED * seen.claimed or accepted[-1].edit.reverses:
            return []
        return accepted[-1:]

    def recall_all(self, task_ids: Sequence[str], scopes: Sequence[Scope], window: int, neighbours: int) -> dict[str, Evidence]:
        """Evidence on several tasks, each visited at least once."""
        return {task_id: self.recall(task_id, scopes, window, neighbours) for task_id in task_ids}

    def nearest_tasks(self, task_id: str, limit: int) -> list[str]:
        """Other visited tasks, nearest by meaning first."""
        text = self.question(task_id, "", ())
        where = {"$and": [{"kind": "visit"}, {"task_id": {"$ne": task_id}}]}
        near = dict.fromkeys(self._task_of[match.id] for match in self.index.search(text, 8 * limit, where))
        return list(near)[:limit]

    def entry_before(self, edit_id: str) -> TaskHarness | None:
        """The entry of a task as an accepted edit found it; None for an edit that was not applied."""
        return self._entries_before.get(edit_id)

    def plain_rollouts_before_last(self, task_id: str, window: int) -> list[Rollout]:
        """Graded rollouts without guidance of the task's last ``window`` visits, but for the last one, since its entry last changed."""
        changed = max((seen for seen, _ in self.history.get(task_id, ())), default=0)
        visits = self.visits.get(task_id, [])[changed:][-window:-1]
        ids = [i for v in visits for i, guided in zip(v.rollout_ids, v.guided, strict=True) if not guided]
        return self.rollouts.get(ids)

    def _neighbours(self, task_id: str, pair_class: str, limit: int) -> list[Neighbour]:
        last = self.visits[task_id][-1]
        text = self.question(task_id, pair_class, tuple(c.criterion_id for c in last.criteria))
        where = {"$and": [{"kind": "decision"}, {"task_id": {"$ne": task_id}}]}
        near = []
        for match in self.index.search(text, 4 * limit, where):
            decision = self._edits[match.id]
            seen = self.hindsight.get(match.id)
            near.append(Neighbour(decision=decision, similarity=match.similarity, hindsight=seen.observed if seen else None))
        near.sort(key=lambda n: (-n.similarity * self._kept(n.decision.edit.id), n.decision.edit.id))
        return near[:limit]

    def _kept(self, edit_id: str) -> float:
        """How much an edit counts in recall, from 1/2 for one whose gain has gone to 3/2 for one that kept it in full; 1 unseen."""
        seen = self.hindsight.get(edit_id)
        return 1.0 if seen is None or seen.claimed <= 0 else 0.5 + min(1.0, max(0.0, seen.observed / seen.claimed))

    def replaced_entries(self, task_id: str, visits: int) -> list[TaskHarness]:
        """What the entry of a task was before each change made within its last ``visits`` visits."""
        now = len(self.visits.get(task_id, ()))
        return [entry for seen, entry in self.history.get(task_id, ()) if now - seen < visits]

    def close(self) -> None:
        self.journal.sync()
        self.journal.close()
        self.index.close()


def worst_class(visit: Visit) -> PairClass:
    """The failure with the largest share of the visit's pairs."""
    return max(CLASSES_OF_FAILURE, key=lambda name: getattr(visit.shares, name))
