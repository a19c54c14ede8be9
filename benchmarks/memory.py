"""How the memory grows: building the index anew, and recalling for a round of 32 tasks, with 1,000, 10,000 and 100,000 decisions.

python -m benchmarks.memory [--sizes 1000,10000,100000]
"""

import argparse
import resource
import statistics
import tempfile
import time
from pathlib import Path

from memory.embedding import HashingEmbedding
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import criterion, decision, field_edit, task, visit

TASKS = 500
ROUND = 32
ROUNDS = 20
WORDS = """dose leaflet nurse doctor symptom diary warning source measure experiment model limit cause effect plain draft aloud rhyme
image hero clue treasure spell potion lighthouse storm harbour sentence word begin finish list example table reason objection thesis
oxygen mineral glacier comet magnet virus vaccine allergy rash fever insulin recipe kettle bread""".split()


def tasks() -> dict:
    """Tasks whose criteria are three words each."""
    found = {}
    for k in range(TASKS):
        words = [WORDS[(k * 7 + 13 * j) % len(WORDS)] for j in range(6)]
        rubric = [criterion(f"c{j}", text=f"Mentions {words[2 * j]} and {words[2 * j + 1]} in plain words") for j in range(3)]
        found[f"t{k}"] = task(f"t{k}", *rubric, domain=("medical", "science", "writing")[k % 3])
    return found


def measure(size: int) -> str:
    """A row of the table."""
    known = tasks()
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir(Path(folder) / "run")
        lock = run.claim()
        memory = Memory(run, known, HashingEmbedding())
        memory.record(0, *(visit(t, ["alpha", "nothing"])[0] for t in known.values()))
        steps = -(-size // TASKS)
        for step in range(1, steps + 1):
            numbers = range((step - 1) * TASKS, min(size, step * TASKS))
            memory.record(step, *(decision(field_edit(f"t{i % TASKS}", edit_id=f"e{i}"), step=step) for i in numbers))
        for step in range(max(1, steps - 3), steps + 1):  # the window of every task: its last visits, and the edits since
            memory.record(step, *(visit(t, ["alpha", "nothing"], step=step)[0] for t in known.values()))
        memory.close()
        start = time.perf_counter()
        memory = Memory(run, known, HashingEmbedding(), rebuild_index=True)
        built = time.perf_counter() - start
        seconds = []
        for number in range(ROUNDS):
            ids = [f"t{(number * ROUND + k) % TASKS}" for k in range(ROUND)]
            start = time.perf_counter()
            memory.recall_all(ids, ("last", "window", "cross_task"), 4, 4)
            seconds.append(time.perf_counter() - start)
        memory.close()
        lock.release()
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    median, worst = 1000 * statistics.median(seconds), 1000 * max(seconds)
    return (
        f"| {size:,} | {built:.0f} s ({size / built:,.0f} per second) | {median:.0f} ms | {worst:.0f} ms | {mebibytes:.0f} MiB |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000,100000")
    print(
        "| decisions | opened with the index built anew | recall for 32 tasks, median | worst | peak memory |\n|---|---|---|---|---|"
    )
    for size in parser.parse_args().sizes.split(","):
        print(measure(int(size)), flush=True)


if __name__ == "__main__":
    main()
