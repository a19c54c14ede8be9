"""How a round's wall time grows with its tasks: 16 tasks against 1, in the laboratory with its policy frozen.

python -m benchmarks.round [--tasks 16] [--repeats 3]

Prints the ratio with rules and heuristics, where the rollouts are what takes time, and with attributor and proposer that take 500 ms for
a call, as a model would. Each measurement is the median of several rounds over different tasks.
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


def measure(lab: FrozenLab, tasks: int, repeats: int, slow: bool) -> tuple[float, float, float]:
    """Median seconds of a round over ``tasks`` tasks, of its generation, and its rollouts."""
    seconds, generating, rollouts = [], [], []
    for repeat in range(repeats):
        ids = lab.some(tasks, seed=repeat)
        evolver = lab.evolver(attributor=SlowAttributor(), proposer=SlowProposer()) if slow else lab.evolver()
        before = lab.rehearsal.progress.seconds["rehearse"]
        start = time.perf_counter()
        lab.round(evolver, ids, 1000 * tasks + repeat, step=1, apply=False)
        seconds.append(time.perf_counter() - start)
        generating.append(lab.rehearsal.progress.seconds["rehearse"] - before)
        rollouts.append(lab.rehearsal.rollouts)
    return statistics.median(seconds), statistics.median(generating), statistics.median(rollouts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lab = FrozenLab(Path(folder) / "run")
        lab.visit(sorted(lab.tasks), 0)
        print("| roles | 1 task | " + f"{arguments.tasks} tasks | ratio | of which generation |\n|---|---|---|---|---|")
        for slow, name in ((False, "rules and heuristics"), (True, "models of 500 ms")):
            one, _, few = measure(lab, 1, arguments.repeats, slow)
            many, generation, rollouts = measure(lab, arguments.tasks, arguments.repeats, slow)
            print(
                f"| {name} | {one:.1f} s ({few:.0f} rollouts) | {many:.1f} s ({rollouts:.0f} rollouts) | {many / one:.1f} "
                f"| {generation / many:.0%} |",
                flush=True,
            )
        lab.close()


if __name__ == "__main__":
    main()
