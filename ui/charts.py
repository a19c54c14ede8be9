"""The pictures. Every series has a label or a shape of its own, so that no chart needs its colours to be read."""

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from memory.decision import Decision, Hindsight, Interval
from memory.visit import PairShares
from ui.words import CLASSES, INTERFACES

CLASS_COLOURS = {"blind": "#4c566a", "saturated": "#d8b365", "spurious": "#c0504d", "agree": "#5ab4ac"}
ON_CLASS = {"blind": "white", "saturated": "black", "spurious": "white", "agree": "black"}
Picture = alt.LayerChart | alt.FacetChart
"""What ``alt.layer`` gives."""
BLUE, ORANGE, GREEN, RED, GREY = "#4c8bd6", "#d98a3d", "#3f9d63", "#d0524f", "#8a8f9c"
THINNEST_LABEL = 0.07
"""An area below this share has no room for its name."""
EDIT_LANES = {"c": 1.05, "g": 1.12, "p": 1.19}
UNIT = alt.Scale(domain=[0, 1])
CLASS_SCALE = alt.Scale(domain=list(CLASS_COLOURS), range=list(CLASS_COLOURS.values()))
KIND_SHAPES = alt.Scale(domain=["plain", "guided"], range=["circle", "triangle-up"])
KIND_COLOURS = alt.Scale(domain=["plain", "guided"], range=[BLUE, ORANGE])


def ink() -> str:
    """The colour of words on the page's background."""
    return "#fafafa" if getattr(st.context.theme, "type", None) == "dark" else "#31333f"


def _steps(title: str, last: float) -> alt.X:
    return alt.X(
        "step:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d"), scale=alt.Scale(domain=[0, max(1, last)], nice=False)
    )


def score_curves(steps: pd.DataFrame, heldout: pd.DataFrame, last: float) -> Picture:
    """Training reward as lines (plain solid, guided dashed), held-out means as marked points."""
    curves = [
        pd.DataFrame({"step": steps.index, "score": steps[column], "series": name})
        for column, name in (("reward", "training reward"), ("guided", "guided rollouts"))
    ]
    if (steps["guided"].notna()).any():
        curves.append(pd.DataFrame({"step": steps.index, "score": steps["plain"], "series": "plain rollouts"}))
    curves += [
        pd.DataFrame({"step": rows["step"], "score": rows["mean"], "series": f"held-out {ruler}"})
        for ruler, rows in heldout.groupby("ruler")
    ]
    data = pd.concat([c.dropna() for c in curves], ignore_index=True)
    order = ["training reward", "plain rollouts", "guided rollouts", "held-out gold", "held-out rubric"]
    order = [name for name in order if (data["series"] == name).any()]
    colours = {"training reward": BLUE, "plain rollouts": GREY, "guided rollouts": ORANGE}
    colours |= {"held-out gold": GREEN, "held-out rubric": RED}
    dashes = {"training reward": [1, 0], "plain rollouts": [2, 3], "guided rollouts": [6, 3]}
    dashes |= {"held-out gold": [1, 0], "held-out rubric": [1, 0]}
    shapes = {"held-out gold": "diamond", "held-out rubric": "square"}
    legend = alt.Legend(orient="top", title=None, symbolType="stroke", symbolStrokeWidth=2, columns=5, labelLimit=0)
    base = alt.Chart(data).encode(
        _steps("finished steps", last),
        alt.Y("score:Q", scale=UNIT, title="score"),
        alt.Color("series:N", scale=alt.Scale(domain=order, range=[colours[n] for n in order]), legend=legend),
        tooltip=["series", "step", alt.Tooltip("score:Q", format=".3f")],
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        alt.StrokeDash("series:N", scale=alt.Scale(domain=order, range=[dashes[n] for n in order]), legend=legend)
    )
    points = (
        base.transform_filter(alt.FieldOneOfPredicate("series", [*shapes, *(order if len(data) < 60 else [])]))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(
            alt.Shape(
                "series:N",
                scale=alt.Scale(domain=order, range=[shapes.get(n, "circle") for n in order]),
                legend=None,
            )
        )
    )
    return alt.layer(lines, points).properties(height=260)


def class_areas(shares: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Class shares over steps, each area named, with a lane per interface above that shows where edits were accepted."""
    base = alt.Chart(shares).encode(
        _steps("finished steps; letters: accepted edits of that interface", last),
        alt.Y(
            "low:Q",
            title="share of pairs",
            scale=alt.Scale(domain=[0, 1.24], nice=False),
            axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%"),
        ),
        alt.Y2("high:Q"),
        alt.Color("class:N", scale=CLASS_SCALE, legend=alt.Legend(orient="top", title=None)),
        tooltip=["step", "class", alt.Tooltip("share:Q", format=".0%")],
    )
    one_step = shares["step"].nunique() == 1
    areas = base.mark_bar(width=40) if one_step else base.mark_area(opacity=0.92)
    layers: list[Any] = [areas, *_class_names(shares, at_end=not one_step)]
    if len(edits):
        marks = edits.assign(lane=edits["interface"].map(EDIT_LANES))
        lines = alt.Chart(marks).mark_rule(strokeWidth=0.8, color=ink(), opacity=0.45, strokeDash=[3, 3])
        layers.append(lines.encode(alt.X("step:Q"), alt.Y("lane:Q"), alt.Y2(datum=0)))
        words = alt.Chart(marks).mark_text(color=ink(), fontSize=13, fontWeight="bold")
        tips = ["step", "interface", "edits", "operations"]
        layers.append(words.encode(alt.X("step:Q"), alt.Y("lane:Q"), text="interface:N", tooltip=tips))
    return alt.layer(*layers).properties(height=300)


def _class_names(shares: pd.DataFrame, at_end: bool) -> list[alt.Chart]:
    """The names of the classes inside their areas, where each is widest in the later half."""
    late = shares[shares["step"] >= shares["step"].median()]
    widest = late.loc[late.groupby("class")["share"].idxmax()]
    widest = widest[widest["share"] >= THINNEST_LABEL].assign(middle=lambda t: (t["low"] + t["high"]) / 2)
    align: Any = "right" if at_end else "center"
    return [
        alt.Chart(rows)
        .mark_text(align=align, dx=-6 if at_end else 0, color=ON_CLASS[str(name)], fontSize=12)
        .encode(alt.X("step:Q"), alt.Y("middle:Q"), text="class:N")
        for name, rows in widest.groupby("class")
    ]


def measurement(decision: Decision, hindsight: Hindsight | None) -> Picture:
    """The effect and the guards against zero, right is better: change with interval, and for a guard the limit it must stay above."""
    found = decision.measurement
    assert found is not None
    rows = [_interval_row(f"effect: {found.quantity}", found.effect, 1, "effect", None)]
    for guard in found.guards:
        kind = "guard holds" if guard.holds else "guard broken"
        rows.append(_interval_row(f"guard: {guard.name}", guard.harm, -1, kind, -guard.limit))
    if hindsight is not None:
        seen = Interval(estimate=hindsight.observed, low=hindsight.observed, high=hindsight.observed)
        rows.append(_interval_row(f"hindsight: less {hindsight.pair_class}", seen, 1, "hindsight", None))
    data = pd.DataFrame(rows)
    reach = 1.15 * max(0.05, data[["low", "high", "limit"]].abs().max().max())
    names = data["name"].tolist()
    y = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=230, ticks=False, domain=False))
    x = alt.X("estimate:Q", title="change (right is better)", scale=alt.Scale(domain=[-reach, reach], nice=False))
    kinds = ["effect", "guard holds", "guard broken", "hindsight"]
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=[BLUE, GREEN, RED, ORANGE]), legend=None)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "square", "cross", "diamond"]), legend=None)
    base = alt.Chart(data).encode(y, tooltip=["name", "kind", "words"])
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(color=ink(), strokeWidth=1.5).encode(alt.X("x:Q"))
    limits = base.transform_filter("isValid(datum.limit)")
    return alt.layer(
        zero,
        base.mark_rule(strokeWidth=3, opacity=0.6).encode(alt.X("low:Q"), alt.X2("high:Q"), colour),
        limits.mark_tick(color=RED, thickness=2, size=22).encode(alt.X("limit:Q")),
        limits.mark_text(color=ink(), dy=-15, fontSize=10).encode(alt.X("limit:Q"), text=alt.value("limit")),
        base.mark_point(filled=True, size=110, opacity=1).encode(x, colour, shape),
        base.mark_text(color=ink(), dy=14, fontSize=11).encode(x, text="words:N"),
    ).properties(height=56 * len(data) + 40)


def _interval_row(name: str, found: Interval, sign: int, kind: str, limit: float | None) -> dict[str, Any]:
    low, high = sorted((sign * found.low, sign * found.high))
    estimate = sign * found.estimate
    words = f"{estimate:+.2f}" if low == high else f"{estimate:+.2f} ({low:+.2f} to {high:+.2f})"
    return {"name": name, "estimate": estimate, "low": low, "high": high, "kind": kind, "limit": limit, "words": words}


def shares_before_after(before: PairShares, after: PairShares) -> Picture:
    """The class shares of the measured groups, before above after, each part named and numbered."""
    rows = []
    for side, shares in (("before", before), ("after", after)):
        low = 0.0
        for name in CLASSES:
            value = getattr(shares, name)
            text = f"{name} {value:.0%}" if value >= 0.16 else f"{value:.0%}" if value >= THINNEST_LABEL else ""
            middle, high = low + value / 2, low + value
            rows.append({"side": side, "class": name, "low": low, "high": high, "middle": middle, "share": value, "text": text})
            low = high
    data = pd.DataFrame(rows)
    y = alt.Y("side:N", sort=["before", "after"], title=None)
    bars = (
        alt.Chart(data)
        .mark_bar(height=24)
        .encode(
            y,
            alt.X("low:Q", title=None, axis=None, scale=UNIT),
            alt.X2("high:Q"),
            alt.Color("class:N", scale=CLASS_SCALE, legend=None),
            tooltip=["side", "class", alt.Tooltip("share:Q", format=".0%")],
        )
    )
    words = [
        alt.Chart(rows).mark_text(color=ON_CLASS[str(name)], fontSize=11).encode(y, alt.X("middle:Q"), text="text:N")
        for name, rows in data.groupby("class")
    ]
    return alt.layer(bars, *words).properties(height=76)


def visit_scores(scores: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Each rollout's score per visit (circle plain, triangle guided), the mean as a line, accepted edits as lettered rules."""
    means = scores.groupby("step", as_index=False)["score"].mean()
    x = _steps("step of the visit; letters: accepted edits of that interface", last)
    y = alt.Y("score:Q", scale=alt.Scale(domain=[-0.03, 1.12], nice=False), axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1]))
    legend = alt.Legend(orient="top", title=None)
    points = (
        alt.Chart(scores)
        .mark_point(size=55, opacity=0.75)
        .encode(
            x,
            y,
            alt.Shape("kind:N", scale=KIND_SHAPES, legend=legend),
            alt.Color("kind:N", scale=KIND_COLOURS, legend=legend),
            tooltip=["step", "kind", alt.Tooltip("score:Q", format=".3f")],
        )
    )
    line = alt.Chart(means).mark_line(color=ink(), strokeWidth=1.5).encode(x, y)
    return alt.layer(line, points, *_edit_rules(edits, 1.07)).properties(height=220)


def visit_classes(shares: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Class shares per visit as stacked bars, accepted edits as lettered rules."""
    visits = shares["step"].nunique()
    bars = (
        alt.Chart(shares)
        .mark_bar(width=max(3, min(28, 500 // max(1, visits))))
        .encode(
            _steps("step of the visit; letters: accepted edits of that interface", last),
            alt.Y(
                "low:Q",
                title="share of pairs",
                scale=alt.Scale(domain=[0, 1.12], nice=False),
                axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%"),
            ),
            alt.Y2("high:Q"),
            alt.Color("class:N", scale=CLASS_SCALE, legend=alt.Legend(orient="top", title=None)),
            tooltip=["step", "class", alt.Tooltip("share:Q", format=".0%")],
        )
    )
    letters = shares[shares["share"] >= THINNEST_LABEL].assign(
        middle=lambda t: (t["low"] + t["high"]) / 2, letter=lambda t: t["class"].map({n: n[:2] for n in CLASSES})
    )
    words = [
        alt.Chart(rows)
        .mark_text(color=ON_CLASS[str(name)], fontSize=10)
        .encode(alt.X("step:Q"), alt.Y("middle:Q"), text="letter:N")
        for name, rows in letters.groupby("class")
        if visits <= 20
    ]
    return alt.layer(bars, *words, *_edit_rules(edits, 1.07)).properties(height=220)


def _edit_rules(edits: pd.DataFrame, height: float) -> list[alt.Chart]:
    """An edit decided at step s comes before the visit of step s, so its mark stands half a step ahead."""
    if not len(edits):
        return []
    letters = edits.groupby("step", as_index=False).agg(letters=("interface", "".join), operations=("operations", ", ".join))
    marks = letters.assign(x=letters["step"] - 0.5, height=height, name=letters["letters"].map(lambda s: INTERFACES.get(s, s)))
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3], color=ink()).encode(alt.X("x:Q"))
    words = alt.Chart(marks).mark_text(color=ink(), fontSize=13, fontWeight="bold")
    return [rules, words.encode(alt.X("x:Q"), alt.Y("height:Q"), text="letters:N", tooltip=["step", "name", "operations"])]
