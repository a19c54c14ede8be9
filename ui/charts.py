"""The pictures. Every series has a label or a shape of its own, so that no chart needs its colours to be read."""

from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from ui.words import CLASSES, INTERFACES

CLASS_COLOURS = {"blind": "#4c566a", "saturated": "#d8b365", "spurious": "#c0504d", "agree": "#5ab4ac"}
ON_CLASS = {"blind": "white", "saturated": "black", "spurious": "white", "agree": "black"}
Picture = alt.LayerChart | alt.FacetChart
"""What ``alt.layer`` gives."""
BLUE, ORANGE, GREEN, RED, GREY = "#4c8bd6", "#d98a3d", "#3f9d63", "#d0524f", "#8a8f9c"
THINNEST_LABEL = 0.07
"""An area below this share has no room for its name."""
EDIT_LANES = {"c": 1.06, "g": 1.15, "p": 1.24}
BARS_WIDTH, LEAST_LETTERED = 420, 15
"""Pixels that the bars of all steps share, and the narrowest bar that has room for letters."""
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


def _visit_steps(last: float) -> alt.X:
    """Room for half a bar at either end."""
    scale = alt.Scale(domain=[-0.7, last + 0.7], nice=False)
    title = "step of the visit; letters: accepted edits of that interface"
    return alt.X("step:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d"), scale=scale)


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
    marked = order if len(steps) == 1 else list(shapes)  # a line needs two steps to be seen
    legend = alt.Legend(orient="top", title=None, symbolStrokeWidth=2, labelLimit=0)
    base = alt.Chart(data).encode(
        _steps("finished steps", last),
        alt.Y("score:Q", scale=UNIT, title="score"),
        alt.Color("series:N", scale=alt.Scale(domain=order, range=[colours[n] for n in order]), legend=legend),
        tooltip=["series", "step", alt.Tooltip("score:Q", format=".3f")],
    )
    lines = base.mark_line(strokeWidth=1.8).encode(
        alt.StrokeDash("series:N", scale=alt.Scale(domain=order, range=[dashes[n] for n in order]), legend=legend)
    )
    shape_scale = alt.Scale(domain=order, range=[shapes.get(n, "stroke") for n in order])
    points = (
        base.transform_filter(alt.FieldOneOfPredicate("series", marked))
        .mark_point(filled=True, size=70, opacity=1)
        .encode(alt.Shape("series:N", scale=shape_scale, legend=legend))
    )
    return alt.layer(lines, points).properties(height=340)


def class_areas(shares: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Class shares over steps, each area named, with a lane per interface above that shows where edits were accepted."""
    base = alt.Chart(shares).encode(
        _steps("finished steps; letters: accepted edits of that interface", last),
        alt.Y(
            "low:Q",
            title="share of pairs",
            scale=alt.Scale(domain=[0, 1.3], nice=False),
            axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format="%"),
        ),
        alt.Y2("high:Q"),
        alt.Color("class:N", scale=CLASS_SCALE, legend=alt.Legend(orient="top", title=None)),
        tooltip=["step", "class", alt.Tooltip("share:Q", format=".0%")],
    )
    one_step = shares["step"].nunique() == 1
    areas = base.mark_bar(width=40) if one_step else base.mark_area(opacity=0.92)
    layers: list[Any] = [areas, *_class_names(shares)]
    if len(edits):
        marks = edits.assign(lane=edits["interface"].map(EDIT_LANES))
        lines = alt.Chart(marks).mark_rule(strokeWidth=0.8, color=ink(), opacity=0.45, strokeDash=[3, 3])
        layers.append(lines.encode(alt.X("step:Q"), alt.Y("lane:Q"), alt.Y2(datum=0)))
        words = alt.Chart(marks).mark_text(color=ink(), fontSize=13, fontWeight="bold")
        tips = ["step", "interface", "edits", "operations"]
        layers.append(words.encode(alt.X("step:Q"), alt.Y("lane:Q"), text="interface:N", tooltip=tips))
    return alt.layer(*layers).properties(height=400)


def _class_names(shares: pd.DataFrame) -> list[alt.Chart]:
    """The name of each class inside its area, in the later half, where the area is widest over three steps."""
    data = shares.sort_values(["class", "step"])
    room = data.groupby("class")["share"].transform(lambda s: s.rolling(3, center=True).min() if len(s) > 4 else s)
    data = data.assign(room=room.fillna(0.0), middle=(data["low"] + data["high"]) / 2)
    late = data[data["step"] >= data["step"].median()]
    widest = late.loc[late.groupby("class")["room"].idxmax()]
    return [
        alt.Chart(rows)
        .mark_text(color=ON_CLASS[str(name)], fontSize=12)
        .encode(alt.X("step:Q"), alt.Y("middle:Q"), text="class:N")
        for name, rows in widest[widest["room"] >= THINNEST_LABEL].groupby("class")
    ]


def visit_scores(scores: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Each rollout's score per visit (circle plain, triangle guided), the mean as a line, accepted edits as lettered rules."""
    means = scores.groupby("step", as_index=False)["score"].mean()
    x = _visit_steps(last)
    y = alt.Y(
        "score:Q",
        title="score",
        scale=alt.Scale(domain=[-0.03, 1.15], nice=False),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2f"),
    )
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
    return alt.layer(line, points, *_edit_rules(edits)).properties(height=310)


def visit_classes(shares: pd.DataFrame, edits: pd.DataFrame, last: float) -> Picture:
    """Class shares per visit as stacked bars, accepted edits as lettered rules."""
    width = max(2, min(28, round(BARS_WIDTH / (last + 1.4))))
    bars = (
        alt.Chart(shares)
        .mark_bar(width=width)
        .encode(
            _visit_steps(last),
            alt.Y(
                "low:Q",
                title="share of pairs",
                scale=alt.Scale(domain=[0, 1.15], nice=False),
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
        if width >= LEAST_LETTERED
    ]
    return alt.layer(bars, *words, *_edit_rules(edits)).properties(height=310)


def _edit_rules(edits: pd.DataFrame) -> list[alt.Chart]:
    """An edit decided at step s comes before the visit of step s, so its mark stands half a step ahead."""
    if not len(edits):
        return []
    letters = edits.groupby("step", as_index=False).agg(letters=("interface", "".join), operations=("operations", ", ".join))
    marks = letters.assign(
        x=letters["step"] - 0.5, top=1.04, letter=1.09, name=letters["letters"].map(lambda s: INTERFACES.get(s, s))
    )
    rules = alt.Chart(marks).mark_rule(strokeDash=[3, 3], color=ink()).encode(alt.X("x:Q"), alt.Y("top:Q"), alt.Y2(datum=0))
    words = alt.Chart(marks).mark_text(color=ink(), fontSize=13, fontWeight="bold")
    return [rules, words.encode(alt.X("x:Q"), alt.Y("letter:Q"), text="letters:N", tooltip=["step", "name", "operations"])]
