"""The heat map of a group: criteria x rollouts, under a row of scores and one of Q."""

from collections.abc import Sequence
from typing import Any

from memory.harness import TaskHarness
from memory.task import Criterion, Verdict
from memory.visit import Rollout, Visit
from ui.charts import GREEN, GREY, RED, ink
from ui.words import UNKNOWN, plain

CHOSEN = "cell"
SIGNS = {"pass": "✓", "fail": "✗", "met": "met", "not met": "not", "unscored": "?"}
WORDS = {
    "pass": "it passes",
    "fail": "it fails",
    "unscored": "it counts for nothing",
    "met": "its points are not known",
    "not met": "its points are not known",
}
LONGEST_NAME = 72


def number(rollout: Rollout) -> str:
    return "#" + plain(rollout.id).rsplit("/", 1)[-1]


def status(verdict: Verdict | None, criterion: Criterion | None) -> str:
    """How a cell reads; without the criterion's points a verdict is only met or not."""
    if verdict is None or verdict.status == "unscored":
        return "unscored"
    if criterion is None:
        return verdict.status.replace("_", " ")
    return "pass" if verdict.passes(criterion) else "fail"


def preferred(visit: Visit, rollout_id: str) -> tuple[float, str]:
    """(share, words) of the compared pairs in which Q preferred this rollout."""
    place = visit.rollout_ids.index(rollout_id)
    orders = [
        p.order if p.first == place else -p.order for p in visit.quality if p.order is not None and place in (p.first, p.second)
    ]
    return (orders.count(1) / len(orders), f"{orders.count(1)}/{len(orders)}") if orders else (-1.0, UNKNOWN)


def cells(rollouts: Sequence[Rollout], entry: TaskHarness | None, visit: Visit | None) -> list[dict[str, Any]]:
    """One cell per rollout and row; ``criterion`` is None on the rows of scores and Q."""
    known = {c.id: c for c in entry.rubric} if entry else {}
    judged = list(dict.fromkeys(v.criterion_id for r in rollouts for v in r.verdicts))
    found: list[dict[str, Any]] = []
    for place, rollout in enumerate(rollouts):
        marks = ("g" if rollout.guidance is not None else "") + ("c" if rollout.clipped else "")
        column = {"column": f"{number(rollout)} {marks}".strip(), "place": place, "rollout": number(rollout)}

        def cell(row: str, state: str, text: str, criterion: str | None = None, reason: str = "", column=column) -> None:
            shown = {"row": row, "status": state, "text": text, "criterion": criterion, "reason": plain(reason)}
            found.append({**column, **shown})

        cell("score", "number", UNKNOWN if rollout.score is None else f"{rollout.score:.2f}")
        if visit is not None and visit.quality and rollout.id in visit.rollout_ids:
            cell("preferred by Q", "number", preferred(visit, rollout.id)[1])
        verdicts = {v.criterion_id: v for v in rollout.verdicts}
        for criterion_id in judged:
            verdict, criterion = verdicts.get(criterion_id), known.get(criterion_id)
            state = status(verdict, criterion)
            cell(name_of(criterion_id, criterion), state, SIGNS[state], criterion_id, verdict.reason if verdict else "")
    return found


def name_of(criterion_id: str, criterion: Criterion | None) -> str:
    text = f"{criterion_id} [{criterion.points:+g}] {criterion.text}" if criterion else criterion_id
    text = plain(" ".join(text.split()))
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def spec(found: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """As Vega-Lite, with a point selection named ``CHOSEN``."""
    columns = list(dict.fromkeys(c["column"] for c in found))
    rows = list(dict.fromkeys(c["row"] for c in found))
    x = {"field": "column", "type": "nominal", "sort": columns, "title": None, "axis": {"orient": "top", "labelAngle": 0 if len(columns) <= 16 else -60, "ticks": False}}  # fmt: skip
    y = {"field": "row", "type": "nominal", "sort": rows, "title": None, "axis": {"labelLimit": 420, "ticks": False}}
    scale = {
        "domain": ["pass", "fail", "unscored", "met", "not met", "number"],
        "range": [GREEN, RED, GREY, GREEN, RED, "transparent"],
    }
    colour = {"field": "status", "type": "nominal", "scale": scale, "legend": None}
    tips = [{"field": f, "type": "nominal"} for f in ("row", "rollout", "status", "reason")]
    return {
        "data": {"values": list(found)},
        "height": 26 * len(rows) + 40,
        "encoding": {"x": x, "y": y, "tooltip": tips},
        "layer": [
            {
                "params": [{"name": CHOSEN, "select": {"type": "point", "fields": ["rollout", "criterion"]}}],
                "mark": {"type": "rect", "opacity": 0.45, "cursor": "pointer", "stroke": ink(), "strokeOpacity": 0.25},
                "encoding": {"color": colour},
            },
            {
                "mark": {"type": "text", "color": ink(), "fontSize": 12, "tooltip": None},
                "encoding": {"text": {"field": "text", "type": "nominal"}},
            },
        ],
    }
