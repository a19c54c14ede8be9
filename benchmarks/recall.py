"""Whether recall helps: accepted edits per rehearsal rollout with the full memory, with the task's own window, and with its last visit
only, in the laboratory with its policy frozen.

python -m benchmarks.recall [--rounds 8] [--tasks 40] [--seeds 2]

Every arm starts from the same visits, flags tasks as a run does, and applies what it accepts; between rounds the flagged tasks are
visited again. A *reversal* is an accepted edit that takes back an earlier one of the same task; a *repeat* is a proposal that was
refused before measuring as the near-duplicate of an earlier one.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.frozen import FrozenLab
from training.loop.round import flag_tasks

ARMS = {"full": "[last,window,cross_task]", "window": "[last,window]", "last visit only": "[last]"}


def run(scopes: str, rounds: int, tasks: int, seed: int) -> dict[str, int]:
    with tempfile.TemporaryDirectory() as folder:
        lab = FrozenLab(
            Path(folder) / "run", [f"evolver.scopes={scopes}", f"seed={seed}", "evolver.every=1", "evolver.max_tasks=10"]
        )
        pool = lab.some(tasks, seed)
        lab.visit(pool, 0)
        evolver, found = lab.evolver(), {"rollouts": 0, "accepted": 0, "measured": 0, "repeats": 0, "reversals": 0}
        for number in range(1, rounds + 1):
            flagged = flag_tasks(lab.memory, number, lab.config)
            decisions = lab.round(evolver, flagged, number, number).decisions
            accepted = [d for d in decisions if d.outcome == "accepted"]
            found["rollouts"] += lab.rehearsal.rollouts
            found["accepted"] += len(accepted)
            found["measured"] += sum(d.measurement is not None for d in decisions)
            found["repeats"] += sum("near-duplicate" in d.sentence for d in decisions)
            found["reversals"] += sum(d.edit.reverses is not None for d in accepted)
            lab.visit(pool, number)
        lab.close()
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--tasks", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{arguments.rounds} rounds over {arguments.tasks} tasks, {arguments.seeds} seeds:\n")
    print(
        "| recall | rollouts | measured | accepted | accepted per 1,000 rollouts | repeats refused | reversals |\n|---|---|---|---|---|---|---|"
    )
    for name, scopes in ARMS.items():
        runs = [run(scopes, arguments.rounds, arguments.tasks, seed) for seed in range(arguments.seeds)]
        total = {key: sum(r[key] for r in runs) for key in runs[0]}
        rate = 1000 * total["accepted"] / total["rollouts"]
        print(
            f"| {name} | {total['rollouts']} | {total['measured']} | {total['accepted']} | {rate:.1f} | {total['repeats']} "
            f"| {total['reversals']} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
