"""A local embedding of text that needs no download: hashed words and character trigrams, L2-normalised.

It catches shared vocabulary and word forms, not synonyms. ``embed()`` is the seam where another embedding goes in.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
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
            words = [_features(word) for word in re.findall(r"\w+", text.lower())]
            if words:
                places, weights = (np.concatenate(parts) for parts in zip(*words, strict=True))
                row[:] = np.bincount(places, weights, DIMENSIONS)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.divide(vectors, norms, out=vectors, where=norms > 0)


@lru_cache(maxsize=100_000)
def _features(word: str) -> tuple[np.ndarray, np.ndarray]:
    """Places and weights of a word and its character trigrams."""
    padded = f" {word} "
    features = [(f"w:{word}", 1.0), *((f"c:{padded[i : i + 3]}", 0.3) for i in range(len(padded) - 2))]
    places, weights = [], []
    for feature, weight in features:
        number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest(), "big")
        places.append(number % DIMENSIONS)
        # The sign bit makes collisions cancel on average (Weinberger et al. 2009, feature hashing).
        weights.append(weight if number >> 63 else -weight)
    return np.array(places), np.array(weights, dtype=np.float32)
