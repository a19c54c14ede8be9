"""The Chroma index over the journal's visits and decisions: search by meaning.

Derived, never the truth: it is rebuilt from the journal whenever the last owner did not close it (the marker file is still
there) or its count does not match. One process owns it, under the run directory's lock; the console never opens it
(chroma-core/chroma#7040, #1108: concurrent openers wait, lock or corrupt the vectors).
"""

import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from memory.embedding import Embedding
from memory.task import Noun

BATCH = 2000


class Document(Noun):
    """What is embedded and how it is found again: ``id`` is the id of the visit or edit."""

    id: str
    text: str
    metadata: dict[str, str | int | float | bool]


class Match(Noun):
    id: str
    similarity: float


class MemoryIndex:
    """One persistent Chroma collection. ``open`` it, ``add`` as the journal grows, ``close`` it for a clean end."""

    def __init__(self, folder: Path, embedding: Embedding):
        self.folder = folder
        self.embedding = embedding
        self.marker = folder.with_name(folder.name + ".open")
        self._collection: Any = None
        self._client: Any = None

    def open(self, documents: Sequence[Document], rebuild: bool = False) -> None:
        """Open the index so that it holds exactly ``documents``, rebuilding it where it cannot be trusted."""
        unclean = self.marker.exists()
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.marker.touch()
        if unclean or rebuild:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._connect()
        if self._collection.count() != len(documents):
            self._client.delete_collection(self._name)
            self._connect()
        if self._collection.count() == 0:
            self.add(documents)

    @property
    def _name(self) -> str:
        return f"memory-{self.embedding.name}"

    def _connect(self) -> None:
        import chromadb
        from chromadb.config import Settings

        if self._client is None:
            self._client = chromadb.PersistentClient(str(self.folder), settings=Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            self._name,
            embedding_function=None,
            configuration={"hnsw": {"space": "cosine", "ef_search": 200}},
        )

    def add(self, documents: Iterable[Document]) -> None:
        documents = list(documents)
        for start in range(0, len(documents), BATCH):
            batch = documents[start : start + BATCH]
            self._collection.upsert(
                ids=[d.id for d in batch],
                embeddings=self.embedding.embed([d.text for d in batch]),
                documents=[d.text for d in batch],
                metadatas=[d.metadata for d in batch],
            )

    def search(self, text: str, limit: int, where: dict[str, Any] | None = None) -> list[Match]:
        """Nearest documents by cosine similarity, best first; an empty index gives an empty list."""
        count = self._collection.count()
        if count == 0 or limit < 1:
            return []
        found = self._collection.query(
            query_embeddings=self.embedding.embed([text]), n_results=min(limit, count), where=where, include=["distances"]
        )
        ids, distances = found["ids"][0], found["distances"][0]
        return [Match(id=i, similarity=1.0 - float(d)) for i, d in zip(ids, distances, strict=True)]

    def close(self) -> None:
        """A clean end: the next owner trusts what is on disk."""
        if self._client is not None:
            self._client.close()
            self._client = self._collection = None
        self.marker.unlink(missing_ok=True)
