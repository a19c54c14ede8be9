"""What came of a run: summary on the terminal, ``report.md``, ``report.png`` and ``harness.yaml``, from the run's files."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from memory.decision import Decision, Interval
from memory.harness import Harness
from memory.journal import EvaluationRecord, HarnessRecord, read_journal, read_lines
from memory.pairs import CLASSES, mean_shares
from memory.rundir import RunDir, write_atomic
from memory.visit import Visit
from training.evaluate import paired_difference
from training.loop.ledger import Costs, costs_table, read_costs

OWN = ("evolve", "remember")
"""Phases that are neither generation, judge, models nor training: recall, statistics, graph, journal and index."""
WINDOW = 0.2
"""First and last share of the steps that are compared."""


@dataclass
class RunRecords:
    """The journal and metrics of a run, sorted by kind."""

    visits: list[Visit]
    decisions: list[Decision]
    evaluations: list[EvaluationRecord]
    harness: Harness
    metrics: list[dict[str, Any]]
    costs: Costs = field(default_factory=dict)

    @classmethod
    def read(cls, run: RunDir) -> "RunRecords":
        records = cls([], [], [], Harness(), [line for _, line in read_lines(run.metrics)], read_costs(run.usage))
        for entry in read_journal(run.journal):
            match entry.record:
                case Visit():
                    records.visits.append(entry.record)
                case Decision():
                    records.decisions.append(entry.record)
                case EvaluationRecord():
                    records.evaluations.append(entry.record)
                case HarnessRecord(version=version, entries=entries):
                    records.harness = Harness(version=version, entries={**records.harness.entries, **entries})
        return records

    @property
    def steps(self) -> int:
        return 1 + max((v.step for v in self.visits), default=-1)


@dataclass
class HeldoutChange:
    """A held-out score before and after, with the interval of the paired difference over tasks."""

    name: str
    before: float
    after: float
    difference: Interval
    tasks: int


def heldout_changes(records: RunRecords) -> list[HeldoutChange]:
    """Gold first, where there is one, then the rubric score; empty without two evaluations."""
    if len(records.evaluations) < 2:
        return []
    first, last = records.evaluations[0], records.evaluations[-1]
    changes = []
    for name, before, after in (
        ("gold", first.gold, last.gold),
        ("rubric (c_0)", first.score, last.score),
        ("raw", first.raw, last.raw),
    ):
        difference = paired_difference(before, after)
        if difference is not None:
            shared = before.keys() & after.keys()
            means = [sum(side[i] for i in shared) / len(shared) for side in (before, after)]
            changes.append(HeldoutChange(name, means[0], means[1], difference, len(shared)))
    return changes


def summary(records: RunRecords, seconds: Mapping[str, float], provider: str) -> str:
    """The closing words of a run, as Markdown that also reads well on a terminal."""
    lines = [f"Run of {records.steps} steps, harness version {records.harness.version} (evolver: {provider})", ""]
    changes = heldout_changes(records)
    for c in changes:
        d = c.difference
        certain = "significant" if d.low > 0 or d.high < 0 else "not significant"
        lines.append(
            f"- held-out {c.name}: {c.before:.3f} -> {c.after:.3f}, change {d.estimate:+.3f} "
            f"(95 % interval {d.low:+.3f} to {d.high:+.3f} over {c.tasks} tasks, {certain})"
        )
    if not changes:
        lines.append("- held-out: no tasks were evaluated before and after")
    edge = max(1, round(WINDOW * records.steps))
    first = mean_shares([v for v in records.visits if v.step < edge])
    last = mean_shares([v for v in records.visits if v.step >= records.steps - edge])
    if first and last:
        shares = ", ".join(f"{name} {first[name]:.0%} -> {last[name]:.0%}" for name in CLASSES)
        lines.append(f"- pair classes, first and last {edge} steps: {shares}")
    lines += ["", "| interface | proposed | accepted | rejected | inconclusive |", "|---|---|---|---|---|"]
    names = {"p": "p task sampling", "g": "g rollout guidance", "c": "c rubric criteria"}
    for interface, name in names.items():
        outcomes = Counter(d.outcome for d in records.decisions if d.edit.interface == interface)
        lines.append(
            f"| {name} | {sum(outcomes.values())} | {outcomes['accepted']} | {outcomes['rejected']} | {outcomes['inconclusive']} |"
        )
    if costs := costs_table(records.costs):
        lines += ["", *costs]
    total = sum(seconds.values())
    if total:
        split = ", ".join(
            f"{name} {value:.0f} s ({value / total:.0%})" for name, value in sorted(seconds.items(), key=lambda s: -s[1])
        )
        own = sum(seconds.get(name, 0.0) for name in OWN)
        lines += [
            "",
            f"Time: {split}",
            f"Of that the harness's own work, without models, judge and generation: {own:.1f} s ({own / total:.1%})",
        ]
    return "\n".join(lines)


def write_report(run: RunDir, records: RunRecords, text: str) -> None:
    """``report.md``, ``report.png`` and ``harness.yaml`` in the run directory."""
    plot(run, records)
    edits = "\n".join(
        f"- step {d.step}, {d.edit.interface} {d.edit.operation.op} on `{d.edit.task_id}`: {d.sentence}"
        for d in records.decisions
    )
    write_atomic(
        run.root / "report.md", f"# {run.root.name}\n\n{text}\n\n![curves](report.png)\n\n## Edits\n\n{edits or 'none'}\n"
    )
    entries = {i: json.loads(e.model_dump_json(exclude_defaults=True)) for i, e in sorted(records.harness.entries.items())}
    document = {"version": records.harness.version, "tasks": entries}
    write_atomic(
        run.harness,
        "# The final harness: tasks that edits have touched.\n" + yaml.safe_dump(document, allow_unicode=True, sort_keys=False),
    )


def plot(run: RunDir, records: RunRecords) -> None:
    """Reward and held-out scores above, class shares with the accepted edits below."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    steps = [m["step"] for m in records.metrics]
    for name, label in (
        ("reward", "training reward"),
        ("reward/plain", "plain rollouts"),
        ("reward/guided", "guided rollouts"),
    ):
        points = [(s, m["metrics"].get(name)) for s, m in zip(steps, records.metrics, strict=True)]
        points = [(s, v) for s, v in points if v is not None]
        if points:
            above.plot(*zip(*points, strict=True), label=label, alpha=0.7, linewidth=1.2)
    for name in ("gold", "score"):
        means = [(e.step, sum(d.values()) / len(d)) for e in records.evaluations if (d := getattr(e, name))]
        if means:
            above.plot(*zip(*means, strict=True), "o--", label=f"held-out {'gold' if name == 'gold' else 'rubric'}")
    above.set_ylabel("score")
    above.set_ylim(0, 1)
    above.legend(loc="lower right", fontsize=8)
    series = [[m["metrics"].get(f"pairs/{name}", 0.0) for m in records.metrics] for name in CLASSES]
    if steps:
        colours = ("#4c566a", "#d8b365", "#c0504d", "#5ab4ac")
        below.stackplot(steps, series, labels=CLASSES, colors=colours, alpha=0.85)
        below.legend(loc="lower left", fontsize=8, ncol=4)
    for decision in records.decisions:
        if decision.outcome == "accepted":
            below.axvline(decision.step, color="black", linewidth=0.5, alpha=0.4)
    below.set_ylabel("pair classes")
    below.set_xlabel("step (lines: accepted edits)")
    below.set_ylim(0, 1)
    figure.savefig(run.root / "report.png", dpi=130)
