"""How often the critic errs: planted edits of known truth, decided many times, by the critic and by three weaker ones.

python -m benchmarks.critic [--seeds 200] [--looks 12,24,48] [--only edits|choosing|levels|rounds|lab]

Every decision is taken with fresh rollouts of a simulated policy (``benchmarks.planted``). Prints, per kind of edit, how many were
accepted with an interval (Clopper and Pearson 1934), and the rollouts a decision took. The weaker critics:

- *replay*: the old rollouts that the proposer has seen take the place of fresh ones;
- *opinion*: what is proposed is accepted (an LLM's or the heuristics' word);
- *mean*: any measured gain of ``min_effect`` is believed, without a test against noise.

The second table is about choosing: of several criteria, none of them a gain, the proposer offers the one that looks best on the group
of 8 it has seen, as proposers do. The third takes level changes of tasks just at the limit, chosen for how saturated their visits were
and measured with the help of the same visits. The fourth takes whole rounds: half of their edits help, half are A/A or neutral, and of
those that were accepted the share that should not have been is averaged over rounds. The last takes edits of the laboratory's tasks on
its policy (``benchmarks.planted_lab``).
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
from scipy.stats import beta

from agents.attribution import SATURATED
from agents.config import CriticConfig
from agents.critic import Critic
from agents.rehearsal import GradeRequest, RolloutRequest
from benchmarks.planted import FLAT, Planted, PlantedRehearsal, catalogue, create, criterion, entry, level
from memory.pairs import group_shares
from memory.visit import PairOrder, Rollout

WINDOW, VISIT = 4, 8
"""Visits of a window and rollouts of a visit, as in the default configuration."""

KINDS = ("A/A", "neutral", "harmful", "small", "medium", "large")


def bounds(k: int, n: int) -> tuple[float, float]:
    """95 % interval of a rate (Clopper and Pearson 1934)."""
    low = beta.ppf(0.025, k, n - k + 1) if k else 0.0
    high = beta.ppf(0.975, k + 1, n - k) if k < n else 1.0
    return float(low), float(high)


def alone(planted: Planted, config: CriticConfig, seeds: int, passes: int) -> tuple[int, float]:
    """Of ``seeds`` decisions, each in a round of its own: how many accepted, and the mean number of rollouts."""
    accepted, rollouts = 0, 0
    for seed in range(seeds):
        rehearsal = PlantedRehearsal([planted], seed)
        (finding,) = Critic(config, rehearsal).measure(f"seed{seed}", [planted.candidate(seed)], passes)
        accepted += finding.outcome == "accepted"
        rollouts += rehearsal.rolled_out
    return accepted, rollouts / seeds


def true_gain(planted: Planted) -> float:
    """The gain as 300 rollouts per group show it."""
    config = CriticConfig(rollouts=(300,), quality_pairs=20_000, guard_tasks=0)
    (finding,) = Critic(config, PlantedRehearsal([planted], 0)).measure("truth", [planted.candidate(0)])
    assert finding.measurement is not None
    return finding.measurement.effect.estimate


def table_of_edits(config: CriticConfig, seeds: int, passes: int) -> None:
    critics = {"critic": config, "mean": config.model_copy(update={"acceptance": "mean"})}
    print(f"\nLooks at {config.rollouts} rollouts, alpha {config.alpha:g}, {passes} passes, {seeds} decisions per edit.\n")
    print("| kind | edit | true gain | accepted by the critic | rollouts | mean alone | opinion |")
    print("|---|---|---|---|---|---|---|")
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for planted in catalogue():
        found = {name: alone(planted, settings, seeds, passes) for name, settings in critics.items()}
        (k, rollouts), (by_mean, _) = found["critic"], found["mean"]
        print(
            f"| {planted.kind} | {planted.name} | {true_gain(planted):+.2f} | {k / seeds:.1%} | {rollouts:.0f} | {by_mean / seeds:.0%} | 100% |",
            flush=True,
        )
        for place, value in enumerate((k, by_mean, seeds)):
            sums[planted.kind][place] += value
    print("\n| kind | decisions | accepted | 95 % interval | mean alone | opinion |\n|---|---|---|---|---|---|")
    for kind in KINDS:
        k, by_mean, n = sums[kind]
        low, high = bounds(k, n)
        print(f"| {kind} | {n} | {k / n:.1%} | {low:.1%} to {high:.1%} | {by_mean / n:.0%} | 100% |")


class Replayed(PlantedRehearsal):
    """Gives the rollouts that the proposer has seen, in place of fresh ones."""

    seen: Sequence[Rollout] = ()

    def roll_out(self, tag: str, requests: Sequence[RolloutRequest]) -> list[tuple[Rollout, ...]]:
        return [tuple(self.seen[: request.count]) for request in requests]


def table_of_choosing(config: CriticConfig, seeds: int, among: int, passes: int) -> None:
    """Criteria exactly as good as those that are there, so that none is a gain, the best-looking of ``among`` on a group of 8."""
    rates = {"one": 0.5, "two": 0.5, **{f"w{k}": 0.5 for k in range(among)}}
    before = entry(criterion("one"), criterion("two"))
    offers = [Planted("neutral", f"offer{k}", before, create(f"w{k}", 2), rates, tuple(rates)) for k in range(among)]
    accepted = {"critic": 0, "replay, tested": 0, "replay, mean": 0}
    replay = config.model_copy(update={"rollouts": (8,), "guard_tasks": 0})
    for seed in range(seeds):
        rehearsal = Replayed(offers, seed)
        request = RolloutRequest(task_id="offer0/0", entry=before, guided=False, count=8)
        rehearsal.seen = super(Replayed, rehearsal).roll_out("visit", [request])[0]
        mean_only = Critic(replay.model_copy(update={"acceptance": "mean"}), rehearsal)
        looks = [mean_only.measure("look", [o.candidate(seed)])[0].measurement for o in offers]
        best = max(range(among), key=lambda k: looks[k].effect.estimate if looks[k] else -1.0)
        chosen = [offers[best].candidate(seed)]
        accepted["replay, mean"] += mean_only.measure("replay", chosen)[0].outcome == "accepted"
        accepted["replay, tested"] += Critic(replay, rehearsal).measure("replay", chosen, passes)[0].outcome == "accepted"
        fresh = Critic(config, PlantedRehearsal(offers, seed))
        accepted["critic"] += fresh.measure("fresh", chosen, passes)[0].outcome == "accepted"
    print(
        f"\nThe best-looking of {among} criteria none of which is a gain, {seeds} times:\n\n| critic | accepted | 95 % interval |"
    )
    print("|---|---|---|")
    for name, k in accepted.items():
        low, high = bounds(k, seeds)
        print(f"| {name} | {k / seeds:.1%} | {low:.1%} to {high:.1%} |")


def table_of_levels(config: CriticConfig, seeds: int, passes: int) -> None:
    """Tasks whose informative share is at the limit, chosen by the saturated share of their window; all but its last visit is reused."""
    planted = level("neutral", "lower a chosen task", 1 - FLAT, "lower_level")
    pairs = [PairOrder(first=i, second=j, order=0) for i, j in combinations(range(VISIT), 2)]
    print("\nTasks just at the limit, proposed for a lower level when their window was saturated:\n")
    print("| saturated share of the window, at least | tasks | accepted | 95 % interval |\n|---|---|---|---|")
    for least in (SATURATED, 0.75, 0.85):
        accepted = number = chosen = 0
        while chosen < seeds:
            number += 1
            rehearsal = PlantedRehearsal([planted], number)
            candidate = planted.candidate(number)
            request = RolloutRequest(task_id=candidate.edit.task_id, entry=planted.before, guided=False, count=VISIT)
            visits = rehearsal.roll_out("window", [request] * WINDOW)
            rubric = planted.before.rubric
            graded = rehearsal.grade([GradeRequest(task_id=request.task_id, rubric=rubric, rollouts=v) for v in visits])
            if np.mean([group_shares(v, rubric, pairs)[0].saturated for v in graded]) < least:
                continue
            chosen += 1
            seen = candidate.model_copy(update={"window": tuple(r for v in graded[:-1] for r in v)})
            (finding,) = Critic(config, rehearsal).measure(f"seed{number}", [seen], passes)
            accepted += finding.outcome == "accepted"
        low, high = bounds(accepted, seeds)
        print(f"| {least:g} | {chosen} of {number} | {accepted / seeds:.1%} | {low:.1%} to {high:.1%} |", flush=True)


def table_of_rounds(config: CriticConfig, rounds: int, size: int, passes: int) -> None:
    """Rounds of ``size`` candidates, half of them no improvement."""
    null = [p for p in catalogue() if p.kind in ("A/A", "neutral")]
    helpful = [p for p in catalogue() if p.kind == "medium"]
    print(f"\n{rounds} rounds of {size} candidates, half of them worth nothing:\n")
    print("| acceptance | false among the accepted | accepted of the helpful | of the worthless |\n|---|---|---|---|")
    for name in ("round", "each", "mean"):
        false_share, hits, misses = [], 0, 0
        for number in range(rounds):
            drawn = [null[(number + k) % len(null)] for k in range(size // 2)]
            drawn += [helpful[(number + k) % len(helpful)] for k in range(size - size // 2)]
            critic = Critic(config.model_copy(update={"acceptance": name}), PlantedRehearsal(catalogue(), number))
            findings = critic.measure(f"round{number}", [p.candidate(k) for k, p in enumerate(drawn)], passes)
            accepted = [p.kind for p, f in zip(drawn, findings, strict=True) if f.outcome == "accepted"]
            wrong = sum(kind in ("A/A", "neutral") for kind in accepted)
            false_share.append(wrong / max(1, len(accepted)))
            hits, misses = hits + len(accepted) - wrong, misses + wrong
        half = rounds * (size // 2)
        print(
            f"| {name} | {np.mean(false_share):.1%} | {hits / (rounds * (size - size // 2)):.0%} | {misses / half:.1%} |",
            flush=True,
        )


def table_of_the_lab(config: CriticConfig, tasks: int, passes: int) -> None:
    """Planted edits on the laboratory's policy, by what they are truly worth."""
    from benchmarks.frozen import FrozenLab
    from benchmarks.planted_lab import HELPFUL, TRUTH, run

    with tempfile.TemporaryDirectory() as folder:
        lab = FrozenLab(Path(folder) / "run")
        rows = run(lab, config, tasks, passes)
        lab.close()
    groups = {
        "A/A": [r for r in rows if r[0] == "A/A"],
        "true gain at most 0": [r for r in rows if r[0] != "A/A" and r[1] <= 0],
        f"true gain of {HELPFUL:g} or more": [r for r in rows if r[1] >= HELPFUL],
    }
    print(f"\nIn the laboratory, {tasks} tasks; true gains from {TRUTH} rollouts per group and a Q without error:\n")
    print("| edits | number | accepted | 95 % interval | mean alone |\n|---|---|---|---|---|")
    for name, part in groups.items():
        k, n = sum(r[2] for r in part), len(part)
        low, high = bounds(k, n)
        print(f"| {name} | {n} | {k / n:.1%} | {low:.1%} to {high:.1%} | {sum(r[3] for r in part) / n:.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=200, help="decisions per planted edit")
    parser.add_argument("--looks", default="", help="rollouts at each look, as 12,24,48 (default: the default config)")
    parser.add_argument("--passes", type=int, default=1, help="passes of a round over which its error rate is split")
    parser.add_argument("--proposals", type=int, default=12, help="criteria to choose from")
    parser.add_argument("--only", choices=("edits", "choosing", "levels", "rounds", "lab"))
    parser.add_argument("--tasks", type=int, default=40, help="tasks of the laboratory")
    arguments = parser.parse_args()
    looks = {"rollouts": tuple(int(n) for n in arguments.looks.split(","))} if arguments.looks else {}
    config = CriticConfig(**looks)
    if arguments.only in (None, "edits"):
        table_of_edits(config, arguments.seeds, arguments.passes)
    if arguments.only in (None, "choosing"):
        table_of_choosing(config, arguments.seeds, arguments.proposals, arguments.passes)
    if arguments.only in (None, "levels"):
        table_of_levels(config, arguments.seeds, arguments.passes)
    if arguments.only in (None, "rounds"):
        table_of_rounds(config, max(1, arguments.seeds // 4), 12, arguments.passes)
    if arguments.only in (None, "lab"):
        table_of_the_lab(config, arguments.tasks, arguments.passes)


if __name__ == "__main__":
    main()
