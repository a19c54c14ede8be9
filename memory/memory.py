"""The training memory M: everything a run has recorded, and the three scopes in which it is recalled.

``record`` appends to the journal and keeps the views and the index in step with it, so that a memory opened again on the same
journal is the same memory. Recall scopes: *last* (the task's last visit), *window* (its last W visits and the decisions on it),
*cross_task* (decisions on other tasks nearest by meaning: domain, failure class, criterion text, weighted by hindsight).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Literal

from pydantic import Field

from memory.decision import Decision, Hindsight
from memory.edit import PairClass
from memory.embedding import Embedding
from memory.harness import Harness, TaskHarness
from memory.index import ChromaSettings, Document, Kind, MemoryIndex, Step
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
INDEX_EVERY = 200
"""Documents that wait for the index at most. What a kill loses of them is no loss: the index is then built anew from the journal."""

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

    def __init__(
        self,
        run: RunDir,
        tasks: Mapping[str, Task],
        embedding: Embedding,
        rebuild_index: bool = False,
        chroma: ChromaSettings | None = None,
        say: Callable[[str], None] = warnings.warn,
        progress: Step = lambda done, total: None,
    ):
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
        self._documents: dict[tuple[str, str], Document] = {}
        self._unindexed: list[Document] = []
        self._indexer = ThreadPoolExecutor(1, "memory-index")
        self._indexing: Future | None = None
        for entry in read_journal(run.journal):
            self._view(entry.record)
        self.index = MemoryIndex(run.index, embedding, chroma, say, progress)
        self.index.open(lambda: list(self._documents.values()), rebuild=rebuild_index)

    def record(self, step: int, *records: Noun) -> None:
        """Append records to the journal and take them into the views. The index follows when it is asked, ahead of that by
        ``index_ahead``, or with the ``INDEX_EVERY``-th document: a write costs about as much for one document as for many."""
        for record in records:
            self.journal.append(step, record)
            self._unindexed += self._view(record)
        if len(self._unindexed) >= INDEX_EVERY:
            self.index_ahead()

    def index_ahead(self) -> None:
        """Begin to take into the index what is not in it yet, beside what the caller goes on to do. Recall waits for the end of it."""
        documents, self._unindexed = self._unindexed, []
        if documents:
            self._indexing = self._indexer.submit(self.index.add, documents)

    def _index(self) -> None:
        """Let the index hold everything recorded."""
        self.index_ahead()
        if self._indexing is not None:
            self._indexing.result()
            self._indexing = None

    def _view(self, record: Noun) -> list[Document]:
        """Take a record into the views; returns what of it is indexed."""
        match record:
            case Visit():
                self.visits.setdefault(record.task_id, []).append(record)
                return self._document("task", record.task_id, self.question(record.task_id, "", ()))
            case Decision(edit=edit):
                self.decisions.setdefault(edit.task_id, []).append(record)
                self._edits[edit.id] = record
                return self._document(
                    "decision", edit.id, self.question(edit.task_id, edit.claim.pair_class, edit.claim.criterion_ids)
                )
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

    def _document(self, kind: Kind, document_id: str, text: str) -> list[Document]:
        """What is to be written to the index: nothing where it says the same already."""
        document = Document(kind=kind, id=document_id, text=text)
        if self._documents.get((kind, document_id)) == document:
            return []
        self._documents[kind, document_id] = document
        return [document]

    def question(self, task_id: str, pair_class: PairClass | str, criterion_ids: Sequence[str]) -> str:
        """What is looked up by meaning: domain, failure class and the texts of the criteria concerned."""
        task = self.tasks[task_id]
        rubric = self.harness.of(task).rubric
        texts = [c.text for c in rubric if not criterion_ids or c.id in criterion_ids]
        return "\n".join([task.domain, str(pair_class), *texts])

    def recall(self, task_id: str, scopes: Sequence[Scope], window: int, neighbours: int) -> Evidence:
        """Evidence on one task; see ``recall_all``."""
        return self.recall_all([task_id], scopes, window, neighbours)[task_id]

    def recall_all(self, task_ids: Sequence[str], scopes: Sequence[Scope], window: int, neighbours: int) -> dict[str, Evidence]:
        """Evidence on tasks that have been visited at least once, with one question to the index for all of them.

        Args:
            scopes: which scopes to use; ``last`` is always part of the answer.
            window: visits of the task to recall under ``window``.
            neighbours: decisions on other tasks to recall under ``cross_task``.
        """
        near = self._neighbours(task_ids, neighbours) if "cross_task" in scopes else [[] for _ in task_ids]
        found = {}
        for task_id, others in zip(task_ids, near, strict=True):
            visits = self.visits[task_id]
            since = visits[-window:][0].step
            decisions = [d for d in self.decisions.get(task_id, ()) if "window" in scopes and d.step >= since]
            faded = self.faded(task_id) if "window" in scopes else []
            found[task_id] = Evidence(
                task_id=task_id,
                visits=tuple(visits[-window:] if "window" in scopes else visits[-1:]),
                decisions=tuple(decisions),
                neighbours=tuple(others),
                faded=tuple(faded),
                hindsight={d.edit.id: self.hindsight[d.edit.id] for d in (*decisions, *faded) if d.edit.id in self.hindsight},
            )
        return found

    def faded(self, task_id: str) -> list[Decision]:
        """The task's last accepted edit, if its gain has gone: seen at ``FADED_VISITS`` visits, and at most ``FADED`` of what was
        measured. Only the last one, since the visits after it say nothing certain of earlier ones."""
        accepted = [d for d in self.decisions.get(task_id, ()) if d.outcome == "accepted"]
        seen = self.hindsight.get(accepted[-1].edit.id) if accepted else None
        if seen is None or seen.visits < FADED_VISITS or seen.observed > FADED * seen.claimed or accepted[-1].edit.reverses:
            return []
        return accepted[-1:]

    def nearest_tasks(self, task_ids: Sequence[str], limit: int) -> dict[str, list[str]]:
        """Per task other visited tasks, nearest by meaning first, with one question to the index for all of them."""
        self._index()
        matches = self.index.search("task", [self.question(i, "", ()) for i in task_ids], limit + 1)
        return {i: [m.id for m in found if m.id != i][:limit] for i, found in zip(task_ids, matches, strict=True)}

    def entry_before(self, edit_id: str) -> TaskHarness | None:
        """The entry of a task as an accepted edit found it; None for an edit that was not applied."""
        return self._entries_before.get(edit_id)

    def plain_rollouts_before_last(self, task_id: str, window: int) -> list[Rollout]:
        """Graded rollouts without guidance of the task's last ``window`` visits, but for the last one, since its entry last changed."""
        changed = max((seen for seen, _ in self.history.get(task_id, ())), default=0)
        visits = self.visits.get(task_id, [])[changed:][-window:-1]
        ids = [i for v in visits for i, guided in zip(v.rollout_ids, v.guided, strict=True) if not guided]
        return self.rollouts.get(ids)

    def _neighbours(self, task_ids: Sequence[str], limit: int) -> list[list[Neighbour]]:
        """Per task the decisions on other tasks nearest to its worst failure, those first that kept their promise."""
        last = [self.visits[task_id][-1] for task_id in task_ids]
        texts = [self.question(v.task_id, worst_class(v), tuple(c.criterion_id for c in v.criteria)) for v in last]
        found = []
        self._index()
        # More are asked for than needed: those on the task itself fall out, and hindsight changes the order.
        for task_id, matches in zip(task_ids, self.index.search("decision", texts, 8 * limit), strict=True):
            others = [m for m in matches if self._edits[m.id].edit.task_id != task_id]
            others.sort(key=lambda m: (-m.similarity * self._kept(m.id), m.id))
            near = []
            for match in others[:limit]:
                seen = self.hindsight.get(match.id)
                observed = seen.observed if seen else None
                near.append(Neighbour(decision=self._edits[match.id], similarity=match.similarity, hindsight=observed))
            found.append(near)
        return found

    def _kept(self, edit_id: str) -> float:
        """How much an edit counts in recall, from 1/2 for one whose gain has gone to 3/2 for one that kept it in full; 1 unseen."""
        seen = self.hindsight.get(edit_id)
        return 1.0 if seen is None or seen.claimed <= 0 else 0.5 + min(1.0, max(0.0, seen.observed / seen.claimed))

    def replaced_entries(self, task_id: str, visits: int) -> list[TaskHarness]:
        """What the entry of a task was before each change made within its last ``visits`` visits."""
        now = len(self.visits.get(task_id, ()))
        return [entry for seen, entry in self.history.get(task_id, ()) if now - seen < visits]

    def sync(self) -> int:
        """Force everything recorded to disk, the rollouts before the records that name them; returns the journal's size in bytes."""
        self.rollouts.sync()
        return self.journal.sync()

    def close(self) -> None:
        self.sync()
        self.journal.close()
        self._index()
        self._indexer.shutdown()
        self.index.close()


def worst_class(visit: Visit) -> PairClass:
    """The failure with the largest share of the visit's pairs."""
    return max(CLASSES_OF_FAILURE, key=lambda name: getattr(visit.shares, name))
