"""The two pictures of an edit's card, as Vega-Lite specifications.

Plain dictionaries, since a page holds many of them and building them through altair takes a quarter of a second each.
"""

from typing import Any

from memory.decision import Decision, Hindsight, Interval
from memory.visit import PairShares
from ui.charts import BLUE, CLASS_COLOURS, GREEN, ON_CLASS, ORANGE, RED, THINNEST_LABEL, ink
from ui.words import CLASSES, plain

KINDS = {
    "effect": (BLUE, "circle"),
    "guard holds": (GREEN, "square"),
    "guard broken": (RED, "cross"),
    "hindsight": (ORANGE, "diamond"),
}
"""Colour and shape of each row of the effect picture."""
ROW, FRAME = 58, 55
"""Pixels per row, and for the axis below; Streamlit counts both as height."""
ROOM_FOR_NAME = 0.16
"""The least share that is wide enough for the class's name beside the number."""


def effect_spec(decision: Decision, hindsight: Hindsight | None) -> dict[str, Any]:
    """Effect, guards and hindsight against zero; right is better, so a guard's harm points left towards its limit. The effect lies on
    the band within which an unchanged harness would fall by chance."""
    rows = effect_rows(decision, hindsight)
    ends = [abs(row[end]) for row in rows for end in ("low", "high", "limit") if row[end] is not None]
    reach = 1.2 * max(0.05, *ends)
    x = {
        "type": "quantitative",
        "title": "change (right is better)",
        "scale": {"domain": [-reach, reach], "nice": False},
        "axis": {"tickCount": 6, "labelBound": True},
    }
    names = [row["name"] for row in rows]
    y = {
        "field": "name",
        "type": "nominal",
        "sort": names,
        "title": None,
        "axis": {"labelLimit": 190, "ticks": False, "domain": False},
    }
    tips = [{"field": f, "type": "nominal"} for f in ("name", "kind", "words")]
    colour = {
        "field": "kind",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": list(KINDS), "range": [c for c, _ in KINDS.values()]},
    }
    shape = {**colour, "scale": {"domain": list(KINDS), "range": [s for _, s in KINDS.values()]}}
    limited = [{"filter": "isValid(datum.limit)"}]
    return {
        "data": {"values": rows},
        "height": ROW * len(rows) + FRAME,
        "encoding": {"y": y, "tooltip": tips},
        "layer": [
            {
                "transform": [{"filter": "datum.noise > 0"}],
                "mark": {"type": "bar", "height": 26, "color": ink(), "opacity": 0.14},
                "encoding": {"x": {"field": "noise_low", **x}, "x2": {"field": "noise"}},
            },
            {
                "mark": {"type": "rule", "color": ink(), "strokeWidth": 1.5, "opacity": 0.6},
                "encoding": {"x": {"datum": 0, **x}, "y": None},
            },
            {
                "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.6},
                "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, "color": colour},
            },
            {
                "transform": limited,
                "mark": {"type": "tick", "color": RED, "thickness": 2, "size": 20},
                "encoding": {"x": {"field": "limit", **x}},
            },
            {
                "transform": limited,
                "mark": {"type": "text", "color": ink(), "dy": -16, "fontSize": 10},
                "encoding": {"x": {"field": "limit", **x}, "text": {"value": "limit"}},
            },
            {
                "mark": {"type": "point", "filled": True, "size": 110, "opacity": 1},
                "encoding": {"x": {"field": "estimate", **x}, "color": colour, "shape": shape},
            },
            {
                "mark": {"type": "text", "color": ink(), "dy": 15, "fontSize": 11},
                "encoding": {"x": {"field": "estimate", **x}, "text": {"field": "words", "type": "nominal"}},
            },
        ],
    }


def effect_rows(decision: Decision, hindsight: Hindsight | None) -> list[dict[str, Any]]:
    """One row per drawn quantity, each a change for which more is better."""
    found = decision.measurement
    if found is None:
        return []
    rows = [_row(found.quantity, "effect", found.effect, noise=found.noise)]
    for guard in found.guards:
        harm = guard.harm
        change = Interval(estimate=-harm.estimate, low=-harm.high, high=-harm.low, level=harm.level)
        where = f" on {guard.task_id}" if guard.task_id else ""
        rows.append(_row(f"guard: {guard.name}{where}", "guard holds" if guard.holds else "guard broken", change, -guard.limit))
    if hindsight is not None:
        seen = Interval(estimate=hindsight.observed, low=hindsight.observed, high=hindsight.observed)
        rows.append(_row(f"hindsight, {hindsight.visits} visits", "hindsight", seen))
    return rows


def _row(name: str, kind: str, change: Interval, limit: float | None = None, noise: float = 0.0) -> dict[str, Any]:
    words = f"{change.estimate:+.2f}"
    if change.low < change.high:
        words += f" ({change.low:+.2f} to {change.high:+.2f})"
    words += {"guard holds": ", holds", "guard broken": ", broken"}.get(kind, "")
    numbers = {"estimate": change.estimate, "low": change.low, "high": change.high, "limit": limit}
    numbers |= {"noise": noise, "noise_low": -noise}
    return {"name": plain(name), "kind": kind, "words": words, **numbers}


def shares_spec(before: PairShares, after: PairShares) -> dict[str, Any]:
    """The class shares of the measured groups, before above after, each part named and numbered."""
    rows = []
    for side, shares in (("before", before), ("after", after)):
        low = 0.0
        for name in CLASSES:
            share = getattr(shares, name)
            text = f"{name} {share:.0%}" if share >= ROOM_FOR_NAME else f"{share:.0%}" if share >= THINNEST_LABEL else ""
            part = {"side": side, "class": name, "low": low, "high": low + share, "middle": low + share / 2}
            rows.append({**part, "text": text, "words": f"{share:.0%}"})
            low += share
    x = {"type": "quantitative", "scale": {"domain": [0, 1]}, "axis": None}
    in_order = {"domain": list(CLASS_COLOURS)}
    colour = {"field": "class", "type": "nominal", "legend": None}
    return {
        "data": {"values": rows},
        "height": 72,
        "encoding": {
            "y": {"field": "side", "type": "nominal", "sort": ["before", "after"], "title": None},
            "tooltip": [{"field": f, "type": "nominal"} for f in ("side", "class", "words")],
        },
        "layer": [
            {
                "mark": {"type": "bar", "height": 22},
                "encoding": {
                    "x": {"field": "low", **x},
                    "x2": {"field": "high"},
                    "color": {**colour, "scale": {**in_order, "range": list(CLASS_COLOURS.values())}},
                },
            },
            *(
                {
                    "transform": [{"filter": f"datum.class == '{name}'"}],
                    "mark": {"type": "text", "fontSize": 11, "color": ON_CLASS[name]},
                    "encoding": {"x": {"field": "middle", **x}, "text": {"field": "text", "type": "nominal"}},
                }
                for name in CLASSES
            ),
        ],
    }
