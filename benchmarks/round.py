"""How a round's wall time grows with its tasks: 16 tasks against 1, in the laboratory with its policy frozen.

python -m benchmarks.round [--tasks 16] [--repeats 3]

Every task is evolved in a round of its own, then all of them in one. A round should take about as long as its longest chain, which is the
longest of the single rounds. Once with rules and heuristics, where the rollouts are what takes time, and once with attributor and
proposer that take 500 ms for a call, as a model would. Every round is measured several times, and its median counts: all of them do the
same work.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from agents.attribution import RuleAttributor
from agents.heuristics import HeuristicProposer
from benchmarks.frozen import FrozenLab

LATENCY = 0.5


class SlowAttributor(RuleAttributor):
    chat = None

    def attribute(self, case):
        time.sleep(LATENCY)
        return super().attribute(case)


class SlowProposer(HeuristicProposer):
    chat = None

    def propose(self, case, attribution, new_id, count):
        time.sleep(LATENCY)
        return super().propose(case, attribution, new_id, count)


def measure(lab: FrozenLab, task_ids: list[str], number: int, slow: bool) -> tuple[float, float, int]:
    """Seconds of a round over these tasks, of its generation, and its rollouts."""
    evolver = lab.evolver(attributor=SlowAttributor(), proposer=SlowProposer()) if slow else lab.evolver()
    before = lab.rehearsal.progress.seconds["rehearse"]
    start = time.perf_counter()
    lab.round(evolver, task_ids, number, step=1, apply=False)
    return time.perf_counter() - start, lab.rehearsal.progress.seconds["rehearse"] - before, lab.rehearsal.rollouts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = FrozenLab(Path(folder) / "run")
        ids = lab.some(arguments.tasks)
        lab.visit(ids, 0)
        measure(lab, ids[:1], 1, slow=False)  # what is loaded at first use counts for no round
        print(f"| roles | 1 task, mean | 1 task, longest | {arguments.tasks} tasks | ratio to the longest | to the mean |")
        print("|---|---|---|---|---|---|")
        for slow, name in ((False, "rules and heuristics"), (True, "models of 500 ms")):
            singles = [[measure(lab, [i], 10 + k, slow)[0] for _ in range(arguments.repeats)] for k, i in enumerate(ids)]
            ones = [statistics.median(seconds) for seconds in singles]
            rounds = sorted(measure(lab, ids, 2, slow) for _ in range(arguments.repeats))
            many, generation, rollouts = rounds[len(rounds) // 2]
            print(
                f"| {name} | {statistics.mean(ones):.1f} s | {max(ones):.1f} s | {many:.1f} s ({rollouts} rollouts, "
                f"{generation / many:.0%} generation) | {many / max(ones):.1f} | {many / statistics.mean(ones):.1f} |",
                flush=True,
            )
        lab.close()


if __name__ == "__main__":
    main()
