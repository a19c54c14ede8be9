"""How recall and recording grow with the memory: the same work on 300 and on 3,000 recorded decisions, as ratios.

python -m benchmarks.memory
"""

import tempfile
import time
from pathlib import Path

from memory.embedding import HashingEmbedding
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import decision, field_edit, task, visit

SIZES = (300, 3_000)
QUESTIONS = 50


def seconds_at(size: int) -> dict[str, float]:
    """Seconds to open a memory of ``size`` decisions again, per recorded decision, and per recall over all scopes."""
    tasks = {t.id: t for t in (task(f"t{i}") for i in range(20))}
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir(Path(folder) / "run")
        lock = run.claim()
        memory = Memory(run, tasks, HashingEmbedding())
        memory.record(0, *(visit(t, ["alpha", "nothing"])[0] for t in tasks.values()))
        start = time.perf_counter()
        for first in range(0, size, 10):
            memory.record(1, *(decision(field_edit(f"t{i % 20}", edit_id=f"e{i}")) for i in range(first, first + 10)))
        recorded = (time.perf_counter() - start) / size
        start = time.perf_counter()
        for i in range(QUESTIONS):
            memory.recall(f"t{i % 20}", ("last", "window", "cross_task"), 4, 4)
        recalled = (time.perf_counter() - start) / QUESTIONS
        memory.close()
        start = time.perf_counter()
        Memory(run, tasks, HashingEmbedding()).close()
        opened = time.perf_counter() - start
        lock.release()
    return {"record one": recorded, "recall": recalled, "open again": opened}


def main() -> None:
    small, large = (seconds_at(size) for size in SIZES)
    print(f"{'':12}{SIZES[0]:>10}{SIZES[1]:>10}     ratio")
    for name in small:
        print(f"{name:12}{1000 * small[name]:8.1f} ms{1000 * large[name]:8.1f} ms{large[name] / small[name]:9.1f}")


if __name__ == "__main__":
    main()
