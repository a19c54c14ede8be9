"""The timeline of edits: a lane per interface, a mark per edit, its shape the outcome. Long runs gather neighbours into one mark."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from ui.charts import GREEN, GREY, RED, ink
from ui.readers import Remembered
from ui.words import INTERFACES, OUTCOMES, operation, plain

CHOSEN = "chosen"
MOST_MARKS = 400
"""Edits that are drawn one by one; more are gathered."""
STRETCHES = 80
"""Stretches of steps into which a longer timeline is gathered."""
LANES = {"p": 2.0, "g": 1.0, "c": 0.0}
APART = 0.16
"""Height between marks of one step and lane, in lanes."""


def marks(edits: Sequence[Remembered]) -> list[dict[str, Any]]:
    """What is drawn: step, height, interface, outcome, number of edits, and the edit to open or the steps to choose."""
    if not edits:
        return []
    steps = [e.decision.step for e in edits]
    earliest, latest = min(steps), max(steps)
    width = 1 if len(edits) <= MOST_MARKS else -(-(latest - earliest + 1) // STRETCHES)
    found: dict[tuple, list[Remembered]] = defaultdict(list)
    for e in edits:
        place = (e.decision.step - earliest) // width
        found[(place, e.decision.edit.interface, e.decision.outcome, e.seq if width == 1 else 0)].append(e)
    heaps: dict[tuple, int] = defaultdict(int)
    rows = []
    for (place, interface, outcome, _), group in sorted(found.items()):
        first = earliest + place * width
        stack = heaps[(place, interface)]
        heaps[(place, interface)] += 1
        decision = group[0].decision
        one = f"{operation(decision.edit.operation.op)} on {decision.edit.task_id}"
        rows.append(
            {
                "step": first + (width - 1) / 2,
                "height": LANES[interface] + APART * ((stack + 1) // 2) * (1 if stack % 2 else -1),
                "interface": INTERFACES[interface],
                "outcome": outcome,
                "edits": len(group),
                "what": plain(one if len(group) == 1 else f"{len(group)} edits, steps {first} to {first + width - 1}"),
                "edit": plain(decision.edit.id) if len(group) == 1 else None,
                "first": first,
                "last": min(first + width - 1, latest),
            }
        )
    return rows


def spec(rows: Sequence[dict[str, Any]], last: int) -> dict[str, Any]:
    """As Vega-Lite, with a point selection named ``CHOSEN``."""
    lanes = {"values": list(LANES.values())}
    names = " : ".join(f"datum.value == {y} ? '{INTERFACES[i]}'" for i, y in LANES.items()) + " : ''"
    heights = [r["height"] for r in rows]
    y = {
        "field": "height",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [min([-0.5, *heights]) - 0.15, max([2.5, *heights]) + 0.15], "nice": False},
        "axis": {**lanes, "labelExpr": names, "labelLimit": 160, "grid": True, "ticks": False, "domain": False},
    }
    x = {
        "field": "step",
        "type": "quantitative",
        "title": "step",
        "scale": {"domain": [0, max(1, last) * 1.02], "nice": False},
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    return {
        "data": {"values": list(rows)},
        "height": 210,
        "params": [{"name": CHOSEN, "select": {"type": "point", "fields": ["edit", "first", "last"]}}],
        "mark": {"type": "point", "filled": True, "opacity": 0.9, "stroke": ink(), "strokeWidth": 0.4, "cursor": "pointer"},
        "encoding": {
            "x": x,
            "y": y,
            "color": {
                "field": "outcome",
                "type": "nominal",
                "legend": {"orient": "top", "title": None},
                "scale": {"domain": list(OUTCOMES), "range": [GREEN, RED, GREY]},
            },
            "shape": {
                "field": "outcome",
                "type": "nominal",
                "legend": {"orient": "top", "title": None},
                "scale": {"domain": list(OUTCOMES), "range": ["circle", "cross", "triangle-up"]},
            },
            "size": {
                "field": "edits",
                "type": "quantitative",
                "legend": None,
                "scale": {"domain": [1, max(2, *(r["edits"] for r in rows))], "range": [90, 420]},
            },
            "tooltip": [{"field": f, "type": "nominal"} for f in ("what", "interface", "outcome", "step")],
        },
    }
