"""What a run's models have cost: by role, over all processes and resumes, kept in ``usage.json`` of the run directory.

It is apart from metrics and journal, which a resume cuts back to its checkpoint: what was paid stays paid.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from agents.limits import Traffic
from memory.rundir import write_atomic

Costs = dict[str, dict[str, Any]]
"""By role: the fields of ``agents.chat.Usage``."""


class Ledger:
    """One per process. Args: ``path`` is None on all ranks but the one that writes."""

    def __init__(self, path: Path, traffic: Traffic, writes: bool):
        self.path = path
        self.traffic = traffic
        self.writes = writes
        self.before: Costs = read_costs(path)
        self.total: Costs = self.before
        self._others: list[Costs] = []
        self._count([self.mine()])

    def mine(self) -> Costs:
        """What this process has spent since it began."""
        return {role: usage.plain() for role, usage in self.traffic.usages.items()}

    def paid_before(self, roles: Iterable[str]) -> tuple[int, float]:
        """Tokens and USD of these roles in earlier processes of the run."""
        costs = [self.before[role] for role in roles if role in self.before]
        return sum(map(tokens, costs)), sum(c["usd"] for c in costs)

    def update(self, processes: Iterable[Costs], own: int) -> None:
        """Take in what every process has spent; ``own`` is the place of this one among them."""
        processes = list(processes)
        self._others = [costs for k, costs in enumerate(processes) if k != own]
        self._count(processes)

    def close(self) -> None:
        self._count([*self._others, self.mine()])

    def _count(self, processes: Iterable[Costs]) -> None:
        self.total = summed([self.before, *processes])
        elsewhere = summed([self.before, *self._others]).values()
        self.traffic.elsewhere = sum(c["usd"] for c in elsewhere), sum(tokens(c) for c in elsewhere)
        if self.writes and self.total:
            write_atomic(self.path, json.dumps(self.total))

    def metrics(self) -> dict[str, float]:
        """Sums since the start of the run, and the mean latency of a request, by role."""
        found = {}
        for role, costs in sorted(self.total.items()):
            for name in ("requests", "prompt_tokens", "completion_tokens", "usd"):
                found[f"usage/{role}/{name}"] = float(costs[name])
            found[f"usage/{role}/latency"] = latency(costs)
        return found


def tokens(costs: Mapping[str, Any]) -> int:
    return costs["prompt_tokens"] + costs["completion_tokens"]


def latency(costs: Mapping[str, Any]) -> float:
    return costs["waited"] / costs["requests"] if costs["requests"] else 0.0


def read_costs(path: Path) -> Costs:
    """The costs in a run directory; none when there is no such file, as in a run without models."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def summed(parts: Iterable[Costs]) -> Costs:
    total: Costs = {}
    for costs in parts:
        for role, fields in costs.items():
            if role not in total:
                total[role] = {**fields, "failures": dict(fields["failures"])}
                continue
            mine = total[role]
            for name, value in fields.items():
                if name != "failures":
                    mine[name] += value
            for reason, count in fields["failures"].items():
                mine["failures"][reason] = mine["failures"].get(reason, 0) + count
    return total


def costs_table(total: Costs) -> list[str]:
    """Lines of Markdown for the summary of a run; none when no model was asked."""
    if not any(costs["requests"] for costs in total.values()):
        return []
    lines = ["| model of | requests | tokens in | tokens out | USD | latency | failed calls |", "|---|---|---|---|---|---|---|"]
    for role, costs in sorted(total.items()):
        failures = ", ".join(f"{count} {reason}" for reason, count in sorted(costs["failures"].items())) or "none"
        lines.append(
            f"| {role} | {costs['requests']} | {costs['prompt_tokens']} | {costs['completion_tokens']} | {costs['usd']:.2f} | "
            f"{latency(costs):.2f} s | {failures} |"
        )
    return lines
