"""The life of a task's harness entry on one picture: each criterion and guidance field from its first to its last step."""

from dataclasses import dataclass, field
from typing import Any

from memory.harness import Harness, TaskHarness
from memory.task import Criterion
from ui.charts import BLUE, GREEN, GREY, ORANGE, RED, ink
from ui.readers import RunView
from ui.words import plain

LONGEST_NAME = 72
MARKS = {
    "created": ("triangle-right", GREEN),
    "reworded": ("diamond", ORANGE),
    "repriced": ("circle", BLUE),
    "merged": ("triangle-left", GREY),
    "split": ("triangle-down", GREY),
    "deleted": ("cross", RED),
    "level": ("square", BLUE),
}


@dataclass
class Life:
    """One row: its name, its stretches of steps (last None: still there), and what happened to it."""

    name: str
    stretches: list[list[int | None]] = field(default_factory=list)
    events: list[tuple[int, str, str]] = field(default_factory=list)


def lives(run: RunView, task_id: str, last: float) -> list[Life]:
    """Criteria in the order of their coming, then guidance fields, then the level. Empty when no entry is known."""
    task = run.task(task_id)
    entries: list[tuple[int, TaskHarness]] = [(0, Harness().of(task))] if task else []
    entries += [(v.step, v.entry) for v in run.history.get(task_id, [])]
    found: dict[str, Life] = {}
    for number, (step, entry) in enumerate(entries):
        before = entries[number - 1][1] if number else None
        _criteria(found, step, before, entry)
        _guidance(found, step, before, entry)
        _level(found, step, before, entry)
    order = {"c": 0, "g": 1, "level": 2}
    return sorted(found.values(), key=lambda life: order[life.name.split(" ")[0]])


def _criteria(found: dict[str, Life], step: int, before: TaskHarness | None, entry: TaskHarness) -> None:
    old = {c.id: c for c in before.rubric} if before else {}
    new = {c.id: c for c in entry.rubric}
    for criterion in entry.rubric:
        life = found.setdefault(f"c {criterion.id}", Life(_short(f"c {criterion.id}: {criterion.text}")))
        if criterion.id not in old:
            life.stretches.append([step, None])
            if before is not None:
                origin = f"from {', '.join(criterion.parents)}" if criterion.parents else ""
                life.events.append((step, "created", f"{origin} [{criterion.points:+g}] {criterion.text}".strip()))
            continue
        was = old[criterion.id]
        if was.text != criterion.text or was.rule != criterion.rule:
            life.events.append((step, "reworded", criterion.text))
        if was.points != criterion.points:
            life.events.append((step, "repriced", f"{was.points:+g} → {criterion.points:+g}"))
    for criterion_id in old.keys() - new.keys():
        life = found[f"c {criterion_id}"]
        life.stretches[-1][1] = step
        life.events.append((step, _how(criterion_id, list(new.values()), set(old)), ""))


def _how(criterion_id: str, now: list[Criterion], known: set[str]) -> str:
    children = [c for c in now if c.id not in known and criterion_id in c.parents]
    return "deleted" if not children else "split" if len(children) > 1 else "merged"


def _guidance(found: dict[str, Life], step: int, before: TaskHarness | None, entry: TaskHarness) -> None:
    old = {f.id: f.text for f in before.guidance} if before else {}
    new = {f.id: f.text for f in entry.guidance}
    for field_id, text in new.items():
        life = found.setdefault(f"g {field_id}", Life(_short(f"g {field_id}: {text}")))
        if field_id not in old:
            life.stretches.append([step, None])
            life.events.append((step, "created", text))
        elif old[field_id] != text:
            life.events.append((step, "reworded", text))
    for field_id in old.keys() - new.keys():
        found[f"g {field_id}"].stretches[-1][1] = step
        found[f"g {field_id}"].events.append((step, "deleted", ""))


def _level(found: dict[str, Life], step: int, before: TaskHarness | None, entry: TaskHarness) -> None:
    life = found.setdefault("level", Life("level", [[0, None]]))
    if before is not None and before.level != entry.level:
        life.events.append((step, "level", f"{before.level:g} → {entry.level:g}"))


def _short(text: str) -> str:
    text = plain(" ".join(text.split()))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def spec(found: list[Life], last: float) -> dict[str, Any]:
    """As Vega-Lite: a line per stretch, a mark per event."""
    names = [life.name for life in found]
    lines = [
        {"name": life.name, "start": start, "end": max(last, start or 0) if end is None else end}
        for life in found
        for start, end in life.stretches
    ]
    events = [
        {"name": life.name, "step": step, "event": event, "what": plain(what)}
        for life in found
        for step, event, what in life.events
    ]
    y = {"field": "name", "type": "nominal", "sort": names, "title": None, "axis": {"labelLimit": 420, "ticks": False}}
    scale = {"domain": [0, max(1.0, last)], "nice": False}
    x: dict[str, Any] = {"type": "quantitative", "scale": scale, "title": "step", "axis": {"tickMinStep": 1, "format": "d"}}
    shown = [k for k in MARKS if any(e["event"] == k for e in events)]
    shape = {"domain": shown, "range": [MARKS[k][0] for k in shown]}
    colour = {"domain": shown, "range": [MARKS[k][1] for k in shown]}
    legend = {"orient": "top", "title": None}
    layers: list[dict[str, Any]] = [
        {
            "data": {"values": lines},
            "mark": {"type": "rule", "strokeWidth": 3, "color": ink(), "opacity": 0.55},
            "encoding": {"y": y, "x": {"field": "start", **x}, "x2": {"field": "end"}},
        }
    ]
    if events:
        layers.append(
            {
                "data": {"values": events},
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {
                    "y": y,
                    "x": {"field": "step", **x},
                    "shape": {"field": "event", "type": "nominal", "scale": shape, "legend": legend},
                    "color": {"field": "event", "type": "nominal", "scale": colour, "legend": legend},
                    "tooltip": [{"field": f, "type": "nominal"} for f in ("event", "what", "step")],
                },
            }
        )
    return {"height": 30 * len(found) + 70, "layer": layers}
