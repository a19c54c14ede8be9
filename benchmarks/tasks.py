"""Loading task files: seconds and memory for 100,000 rows of 12 criteria, and how they grow with the rows.

python -m benchmarks.tasks [--rows 100000]
"""

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

CRITERIA = 12


def write(path: Path, rows: int) -> None:
    """Rows as HealthBench has them, with a rule criterion and a negative one among the twelve."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(rows):
            rubric = [
                {
                    "criterion": f"States fact {k} of case {number} in words that a patient understands",
                    "points": 7 - k or 1,
                    "tags": ["axis:x"],
                }
                for k in range(CRITERIA - 1)
            ]
            rubric.append(
                {"criterion": "Has at most 300 words", "points": 2, "rule": {"name": "word_count", "args": {"max": 300}}}
            )
            prompt = [
                {
                    "role": "user",
                    "content": f"Question {number}: what should I do about my knee, which hurts when I climb stairs?",
                }
            ]
            file.write(json.dumps({"prompt_id": str(number), "prompt": prompt, "rubrics": rubric}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        seconds = {}
        for size in (rows // 10, rows):
            path = Path(folder) / f"{size}.jsonl"
            write(path, size)
            start, busy = time.perf_counter(), time.process_time()
            loaded = load_tasks([TaskSource(path=str(path))], "tasks.train")
            seconds[size] = time.process_time() - busy
            assert len(loaded.tasks) == size
            print(f"{size} rows of {CRITERIA} criteria, {path.stat().st_size / 2**20:.0f} MiB: {seconds[size]:.1f} s of a core")
            print(f"  {time.perf_counter() - start:.1f} s by the clock, which counts what else the machine does")
    few, many = seconds.values()
    print(f"time for ten times the rows: {many / few:.1f} times as long")
    print(f"largest memory of the process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
