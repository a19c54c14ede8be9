"""A local embedding of text that needs no download: hashed words and character trigrams, L2-normalised.

It catches shared vocabulary and word forms, not synonyms. ``embed()`` is the seam where another embedding goes in.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol

import numpy as np

DIMENSIONS = 384


class Embedding(Protocol):
    name: str

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Unit vectors, shape (texts, dimensions), float32."""
        ...


class HashingEmbedding:
    name = "hashing-384"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for feature, weight in _features(text):
                digest = hashlib.blake2b(feature.encode(), digest_size=8).digest()
                number = int.from_bytes(digest, "big")
                # The sign bit makes collisions cancel on average (Weinberger et al. 2009, feature hashing).
                row[number % DIMENSIONS] += weight if number >> 63 else -weight
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, norms, out=vectors, where=norms > 0)


def _features(text: str):
    for word in re.findall(r"\w+", text.lower()):
        yield f"w:{word}", 1.0
        padded = f" {word} "
        for i in range(len(padded) - 2):
            yield f"c:{padded[i : i + 3]}", 0.3
