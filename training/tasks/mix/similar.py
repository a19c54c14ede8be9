"""Which prompts are the same in all but details: MinHash over word trigrams, and long runs of shared words."""

from collections.abc import Iterable, Sequence

from datasketch import MinHash, MinHashLSH

from memory.task import Message
from training.reward.rules.text import words

PERMUTATIONS = 128
SHINGLE = 3
"""Words per shingle: prompts are short, a question often has ten words (a Chinese character is one)."""


def prompt_words(messages: Sequence[Message]) -> tuple[str, ...]:
    """The words of a prompt, its roles aside."""
    return words("\n".join(message.content for message in messages))


def shingles(told: Sequence[str]) -> set[bytes]:
    """Runs of ``SHINGLE`` words; of a shorter text the text itself."""
    size = min(SHINGLE, len(told)) or 1
    return {" ".join(told[k : k + size]).encode() for k in range(max(1, len(told) - size + 1))}


class Alike:
    """Finds earlier texts that are alike: MinHash finds candidates, their true similarity decides."""

    def __init__(self, threshold: float):
        self.threshold = threshold
        # Candidates from a little below, since MinHash only estimates.
        self._index = MinHashLSH(threshold=max(0.1, threshold - 0.15), num_perm=PERMUTATIONS)
        self._added: list[tuple[str, set[bytes]]] = []

    def find(self, told: Sequence[str]) -> str | None:
        """The name of the most similar text added so far, if it reaches the threshold."""
        wanted = shingles(told)
        best, name = 0.0, None
        for number in self._index.query(_signature(wanted)):
            other, theirs = self._added[number]
            likeness = len(wanted & theirs) / len(wanted | theirs)
            if likeness >= self.threshold and likeness > best:
                best, name = likeness, other
        return name

    def add(self, name: str, told: Sequence[str]) -> None:
        found = shingles(told)
        self._index.insert(len(self._added), _signature(found))
        self._added.append((name, found))


def _signature(found: Iterable[bytes]) -> MinHash:
    signature = MinHash(num_perm=PERMUTATIONS, seed=1, scheme="affine32")
    signature.update_batch(sorted(found))
    return signature


class Held:
    """Prompts that training must not have seen: held-out tasks and benchmarks."""

    def __init__(self, similarity: float, run: int):
        self._alike = Alike(similarity)
        self._runs: dict[int, str] = {}
        self.run = run

    def add(self, name: str, told: Sequence[str]) -> None:
        self._alike.add(name, told)
        self._runs |= {hash(tuple(told[k : k + self.run])): name for k in range(len(told) - self.run + 1)}

    def find(self, told: tuple[str, ...]) -> str | None:
        """The name of a held prompt that is alike or shares a run of words."""
        shared = (self._runs.get(hash(told[k : k + self.run])) for k in range(len(told) - self.run + 1))
        return next((key for key in shared if key is not None), None) or self._alike.find(told)
