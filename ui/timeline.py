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
LANES = ("c", "g", "p")
"""From the bottom up; each as high as its highest heap of marks of one step."""
GAP = 1.5
"""Free height between two lanes, in marks."""
PIXELS, TALLEST = 12, 420
"""Height of a mark, and of all lanes at most; where that is too little, marks overlap."""


AROUND = 90
"""Pixels of the legend above and the axis below."""
LEGEND = {"orient": "top", "title": None, "symbolStrokeWidth": 0.4}


def marks(edits: Sequence[Remembered]) -> list[dict[str, Any]]:
    """What is drawn: step, lane, place in the heap of its step and lane, outcome, number of edits, and the edit to open or the steps
    to choose."""
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
        heaps[(place, interface)] += 1
        decision = group[0].decision
        one = f"{operation(decision.edit.operation.op)} on {decision.edit.task_id}"
        rows.append(
            {
                "step": first + (width - 1) / 2,
                "lane": interface,
                "stack": heaps[(place, interface)] - 1,
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
    floors, top = _floors(rows)
    names = " : ".join(f"datum.value == {floors[i]} ? '{INTERFACES[i]}'" for i in LANES) + " : ''"
    y = {
        "field": "height",
        "type": "quantitative",
        "title": None,
        "scale": {"domain": [-GAP, top], "nice": False},
        "axis": {
            "values": list(floors.values()),
            "labelExpr": names,
            "labelLimit": 160,
            "grid": True,
            "ticks": False,
            "domain": False,
        },
    }
    x = {
        "field": "step",
        "type": "quantitative",
        "title": "step",
        "scale": {"domain": [0, max(1, last) * 1.02], "nice": False},
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    return {
        "data": {"values": [{**r, "height": floors[r["lane"]] + r["stack"]} for r in rows]},
        "height": min(TALLEST, round(PIXELS * (top + GAP))) + AROUND,
        "params": [{"name": CHOSEN, "select": {"type": "point", "fields": ["edit", "first", "last"]}}],
        "mark": {"type": "point", "filled": True, "opacity": 0.9, "stroke": ink(), "strokeWidth": 0.4, "cursor": "pointer"},
        "encoding": {
            "x": x,
            "y": y,
            "color": {
                "field": "outcome",
                "type": "nominal",
                "legend": LEGEND,
                "scale": {"domain": list(OUTCOMES), "range": [GREEN, RED, GREY]},
            },
            "shape": {
                "field": "outcome",
                "type": "nominal",
                "legend": LEGEND,
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


def _floors(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, float], float]:
    """(the height at which each lane's heaps begin, the height of all), in marks."""
    floors, height = {}, 0.0
    for lane in LANES:
        floors[lane] = height
        height += max([1, *(r["stack"] + 1 for r in rows if r["lane"] == lane)]) + GAP
    return floors, height
