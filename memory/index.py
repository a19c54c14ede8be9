"""The Chroma index over the journal: decisions and tasks, found by meaning.

It holds ids and vectors; the texts stand in the journal. Derived, never the truth: it is rebuilt from the journal whenever the last
owner did not close it (the marker file is still there), its count does not match, or another embedding made it. One process owns it, under the run directory's lock; the console never opens it
(chroma-core/chroma#7040, #1108: concurrent openers wait, lock or corrupt the vectors). It lies in the run directory, or on a Chroma
server, where each run has collections of its own.

A broken index never stops training: whatever Chroma, the disk or the embedding does, the index says so once, finds nothing, and is
rebuilt after ``RETRY_AFTER`` further documents or at the next start.
"""

import shutil
import uuid
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from memory.embedding import Embedding
from memory.task import Noun

BATCH = 2000
RETRY_AFTER = 500
"""Documents that come in, after which a broken index is tried again."""
SEARCHED = 200
"""Candidates that the graph search of HNSW keeps; more finds more of the true neighbours and takes longer."""

Kind = Literal["decision", "task"]
KINDS: tuple[Kind, ...] = ("decision", "task")
Step = Callable[[int, int], None]
"""Progress: documents done, of all."""


class ChromaSettings(BaseModel):
    """Where the index lives."""

    model_config = ConfigDict(extra="forbid")

    host: str | None = None
    """A Chroma server (`chroma run`); null: in the run directory."""
    port: int = Field(default=8000, ge=1, le=65535)
    ssl: bool = False


class Document(Noun):
    """What is embedded and how it is found again: ``id`` is that of the edit or of the task."""

    kind: Kind
    id: str
    text: str


class Match(NamedTuple):
    id: str
    similarity: float


class MemoryIndex:
    """``open`` it, ``add`` as the journal grows, ``close`` it for a clean end.

    Args:
        folder: where it lies, and beside it its marker and id.
        say: is told once when the index breaks.
    """

    def __init__(
        self,
        folder: Path,
        embedding: Embedding,
        chroma: ChromaSettings | None = None,
        say: Callable[[str], None] = warnings.warn,
        progress: Step = lambda done, total: None,
    ):
        self.folder = folder
        self.embedding = embedding
        self.chroma = chroma or ChromaSettings()
        self.say = say
        self.progress = progress
        self.marker = folder.with_name(folder.name + ".open")
        self.broken: str | None = None
        self._id = folder.with_name(folder.name + ".id")
        self._client: Any = None
        self._collections: dict[Kind, Any] = {}
        self._ids: dict[Kind, set[str]] = {kind: set() for kind in KINDS}
        self._missed = 0
        self._known: Callable[[], Sequence[Document]] = lambda: ()

    def open(self, documents: Callable[[], Sequence[Document]], rebuild: bool = False) -> None:
        """Open the index so that it holds exactly ``documents``, rebuilding it where it cannot be trusted."""
        self._known = documents
        self._guarded(lambda: self._open(rebuild), None)

    def add(self, documents: Iterable[Document]) -> None:
        """Take in new documents, in place of earlier ones with their ids."""
        documents = list(documents)
        if self.broken is not None:
            self._missed += len(documents)
            if self._missed < RETRY_AFTER:
                return
            self._missed, self.broken = 0, None
            self._guarded(lambda: self._open(rebuild=True), None)
            return
        self._guarded(lambda: self._add(documents), None)

    def search(self, kind: Kind, texts: Sequence[str], limit: int) -> list[list[Match]]:
        """Per text the nearest documents of a kind by cosine similarity, best first; empty ones where there is nothing to find."""
        nothing: list[list[Match]] = [[] for _ in texts]
        if self.broken is not None or not texts or limit < 1:
            return nothing
        return self._guarded(lambda: self._search(kind, texts, limit), nothing)

    def close(self) -> None:
        """A clean end: the next owner trusts what is there. A broken index stays marked."""
        with suppress(Exception):
            if self._client is not None and hasattr(self._client, "close"):
                self._client.close()
        self._client, self._collections = None, {}
        if self.broken is None:
            self.marker.unlink(missing_ok=True)

    def count(self) -> int:
        return sum(c.count() for c in self._collections.values())

    def _guarded(self, work: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return work()
        except Exception as error:  # what a vector store and its server can raise is not a closed set
            self._collections = {}
            self.broken = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
            self.say(
                f"memory index: {self.broken[:200]}; training goes on without recall across tasks, and the index is rebuilt later"
            )
            return otherwise

    def _open(self, rebuild: bool) -> None:
        unclean = self.marker.exists()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.marker.touch()
        if unclean or rebuild:
            self._wipe()
        try:
            self._connect()
        except Exception:
            if self.chroma.host is not None:
                raise
            self._wipe()  # what cannot even be opened is made anew from the journal
            self._connect()
            rebuild = True
        documents = list({(d.kind, d.id): d for d in self._known()}.values())
        counts = {kind: sum(d.kind == kind for d in documents) for kind in KINDS}
        if unclean or rebuild or any(self._collections[kind].count() != n for kind, n in counts.items()):
            self._empty()
            self._add(documents, self.progress)
        self._ids = {kind: {d.id for d in documents if d.kind == kind} for kind in KINDS}

    def _wipe(self) -> None:
        """Remove the files of an embedded index, and what Chroma remembers of them in this process."""
        if self.chroma.host is not None:
            return
        from chromadb.api.shared_system_client import SharedSystemClient

        with suppress(Exception):
            SharedSystemClient.clear_system_cache()
        self._client = None
        if self.folder.is_file():
            self.folder.unlink()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _connect(self) -> None:
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        if self._client is None and self.chroma.host is None:
            self._client = chromadb.PersistentClient(str(self.folder), settings=settings)
        elif self._client is None:
            self._client = chromadb.HttpClient(self.chroma.host, self.chroma.port, self.chroma.ssl, settings=settings)
        for kind in KINDS:
            self._collections[kind] = self._collection(kind)
            if self._collections[kind].metadata != self._made_by():
                self._client.delete_collection(self._name(kind))
                self._collections[kind] = self._collection(kind)

    def _collection(self, kind: Kind) -> Any:
        return self._client.get_or_create_collection(
            self._name(kind),
            metadata=self._made_by(),
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", "ef_search": SEARCHED}},
        )

    def _empty(self) -> None:
        for kind in KINDS:
            self._client.delete_collection(self._name(kind))
            self._collections[kind] = self._collection(kind)

    def _made_by(self) -> dict[str, str | int]:
        """The embedding's name and size: another one's vectors cannot be compared with."""
        return {"embedding": self.embedding.name, "dimensions": int(self.embedding.embed(["size"]).shape[1])}

    def _name(self, kind: Kind) -> str:
        """Of a collection. On a server the run's own id sets it apart from other runs'."""
        if self.chroma.host is None:
            return f"memory-{kind}"
        if not self._id.exists():
            self._id.write_text(uuid.uuid4().hex, encoding="utf-8")
        return f"harnessrl-{self._id.read_text(encoding='utf-8').strip()}-{kind}"

    def _add(self, documents: Sequence[Document], progress: Step = lambda done, total: None) -> None:
        done = 0
        for kind in KINDS:
            mine = list({d.id: d for d in documents if d.kind == kind}.values())
            for start in range(0, len(mine), BATCH):
                batch = mine[start : start + BATCH]
                self._collections[kind].upsert(
                    ids=[d.id for d in batch],
                    embeddings=self.embedding.embed([d.text for d in batch]),
                )
                self._ids[kind].update(d.id for d in batch)
                done += len(batch)
                progress(done, len(documents))

    def _search(self, kind: Kind, texts: Sequence[str], limit: int) -> list[list[Match]]:
        count = len(self._ids[kind])  # Chroma's own count takes as long as a search
        if count == 0:
            return [[] for _ in texts]
        found = self._collections[kind].query(
            query_embeddings=self.embedding.embed(list(texts)), n_results=min(limit, count), include=["distances"]
        )
        return [
            [Match(id=i, similarity=1.0 - float(d)) for i, d in zip(ids, distances, strict=True)]
            for ids, distances in zip(found["ids"], found["distances"], strict=True)
        ]
