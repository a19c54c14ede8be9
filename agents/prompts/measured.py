"""Decisions and measurements as a model reads them."""

from agents.words import one_line
from memory.decision import Decision, Hindsight, Interval, Measurement
from memory.edit import RewriteTask
from memory.pairs import CLASSES
from memory.visit import PairShares


def class_text(shares: PairShares) -> str:
    return ", ".join(f"{name} {getattr(shares, name):.2f}" for name in CLASSES)


def decision_line(decision: Decision, limit: int, hindsight: Hindsight | float | None = None) -> str:
    """An edit, what was decided and why, and what later visits show of it. ``limit`` characters of the edit and of the sentence."""
    edit = decision.edit
    operations = "; ".join(_operation_text(o) for o in (edit.operation, *edit.secondary))
    line = f"- id={edit.id} {one_line(operations, limit)} -> {decision.outcome}: {one_line(decision.sentence, limit)}"
    if isinstance(hindsight, Hindsight):
        seen = f"{hindsight.visits} visit{'s' * (hindsight.visits != 1)}"
        line += f" Since then over {seen}: gain {hindsight.observed:+.2f} where {hindsight.claimed:+.2f} was measured."
    elif hindsight is not None:
        line += f" Since then: gain {hindsight:+.2f}."
    return line


def _operation_text(operation) -> str:
    if isinstance(operation, RewriteTask):
        return f"rewrite_task {operation.direction}: {operation.messages[-1].content}"
    return operation.model_dump_json(exclude_defaults=False, exclude_none=True)


def measured_lines(m: Measurement) -> list[str]:
    """The table of a measurement: before and after, the effect against chance, the guards, and what it cost."""
    rows = []
    if m.before.pairs or m.after.pairs:
        rows += [(name, f"{getattr(m.before, name):.2f}", f"{getattr(m.after, name):.2f}") for name in CLASSES]
    rows.append(("mean score", _number(m.mean_score_before), _number(m.mean_score_after)))
    lines = ["  | | before | after |", *(f"  | {name} | {before} | {after} |" for name, before, after in rows)]
    chance = f"; p {m.p_value:.3f}, needed under {m.p_needed:.3f}; an unchanged harness gains up to {m.noise:.2f} by chance"
    lines.append(f"  gain on {m.quantity}: {_interval(m.effect)}{chance if m.p_needed else ''}")
    if m.change is not None:
        by_rollouts, by_criteria = _signed(m.change.by_rollouts), _signed(m.change.by_criteria)
        lines.append(f"  change of the mean score by the rollouts {by_rollouts}, by the criteria {by_criteria}")
    for g in m.guards:
        on = f" on task {g.task_id}" if g.task_id else ""
        lines.append(f"  guard {g.name}{on}: harm {_interval(g.harm)}, limit {g.limit:g}, {'holds' if g.holds else 'broken'}")
    lines.append(f"  cost: {m.rollouts} rollouts, {m.quality_calls} quality comparisons, {m.looks} looks")
    return lines


def _interval(found: Interval) -> str:
    return f"{found.estimate:+.2f} ({found.level:.0%} interval {found.low:+.2f} to {found.high:+.2f})"


def _number(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "unscored" if value is None else f"{value:+.2f}"
