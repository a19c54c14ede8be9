"""Pictures of levels, coverage and guidance over time, and of two sides against each other. Lines differ by dash and name, not by
colour alone."""

from collections.abc import Sequence
from typing import Literal

import altair as alt
import pandas as pd

from ui.charts import BLUE, GREEN, GREY, ORANGE, RED, UNIT, Picture, ink

LANE = 0.72
"""Height of the fullest point of a lane, of the lane's."""
SIDE_DASHES = {"A": [1, 0], "B": [7, 4]}
SIDE_COLOURS = {"A": BLUE, "B": ORANGE}
SIDE_SHAPES = {"A": "diamond", "B": "square"}


def steps_axis(last: float, title: str = "step", first: float = 0) -> alt.X:
    scale = alt.Scale(domain=[first, max(first + 1, last)], nice=False)
    return alt.X("step:Q", title=title, axis=alt.Axis(tickMinStep=1, format="d"), scale=scale)


def level_name(level: float) -> str:
    return "retired" if level == 0 else f"level {level:g}"


def level_lanes(levels: pd.DataFrame, last: float) -> Picture:
    """A lane per level: how many tasks stand there over time, each lane to its own scale, its number at the end."""
    names = [level_name(v) for v in sorted(levels["level"].unique())]
    lane = {name: k for k, name in enumerate(names)}
    most = levels.groupby("level")["tasks"].transform("max").clip(lower=1)
    data = levels.assign(name=levels["level"].map(level_name), low=0.0, high=levels["tasks"] / most)
    data["low"] = data["name"].map(lane).astype(float)
    data["high"] = data["low"] + LANE * data["high"]
    words = f"datum.value == floor(datum.value) ? {names}[datum.value] : ''"
    y = alt.Y(
        "low:Q",
        title=None,
        scale=alt.Scale(domain=[0, len(names)], nice=False),
        axis=alt.Axis(
            values=list(range(len(names))), labelExpr=words, labelBaseline="bottom", grid=True, ticks=False, domain=False
        ),
    )
    tips = ["step", alt.Tooltip("name:N", title="level"), "tasks"]
    areas = (
        alt.Chart(data)
        .mark_area(interpolate="step-after", opacity=0.55, color=BLUE, line={"color": BLUE, "strokeWidth": 1.5})
        .encode(steps_axis(last), y, alt.Y2("high:Q"), alt.Detail("name:N"), tooltip=tips)
    )
    ends = data[data["step"] == data["step"].max()].assign(
        words=lambda t: t["tasks"].map(_tasks), middle=lambda t: t["low"] + 0.12
    )
    numbers = (
        alt.Chart(ends)
        .mark_text(align="left", dx=8, color=ink(), fontSize=12, clip=False, baseline="bottom")
        .encode(alt.X("step:Q"), alt.Y("low:Q"), text="words:N")
    )
    return alt.layer(areas, numbers).properties(
        height=44 * len(names) + 30, padding={"right": 80, "left": 5, "top": 5, "bottom": 5}
    )


def _tasks(count: int) -> str:
    return "1 task" if count == 1 else f"{count:,} tasks"


def named_lines(
    data: pd.DataFrame,
    order: Sequence[tuple[str, str, list[int]]],
    last: float,
    y: alt.Y,
    interpolate: Literal["linear", "step-after"] = "linear",
    points: bool = False,
) -> Picture:
    """Lines of ``data`` (step, value, series). ``order`` has name, colour and dash of each series; few steps are marked."""
    names = [name for name, *_ in order if (data["series"] == name).any()]
    look = {name: (colour, dash) for name, colour, dash in order}
    legend = alt.Legend(orient="top", title=None, symbolStrokeWidth=2, labelLimit=0, symbolSize=300)
    colours = alt.Scale(domain=names, range=[look[n][0] for n in names])
    dashes = alt.Scale(domain=names, range=[look[n][1] for n in names])
    base = alt.Chart(data).encode(
        steps_axis(last),
        y,
        alt.Color("series:N", scale=colours, legend=legend),
        tooltip=["series", "step", alt.Tooltip("value:Q", format=".3f")],
    )
    lines = base.mark_line(strokeWidth=2, interpolate=interpolate, point=points).encode(
        alt.StrokeDash("series:N", scale=dashes, legend=legend)
    )
    return alt.layer(lines)


def coverage(table: pd.DataFrame, width: int, last: float) -> Picture:
    """Share of the eligible tasks drawn in the window, and ever."""
    window, ever = f"drawn in the last {width} steps", "drawn at all so far"
    data = long_form(table, {"window": window, "ever": ever})
    y = alt.Y("value:Q", scale=alt.Scale(domain=[0, 1.02], nice=False), axis=alt.Axis(format="%"), title="eligible tasks")
    return named_lines(data, [(window, BLUE, [1, 0]), (ever, GREY, [2, 3])], last, y, points=len(table) < 3).properties(
        height=280
    )


def guidance(table: pd.DataFrame, last: float) -> Picture:
    """The most fields that a task had against the ceiling."""
    allowed, most = "ceiling", "most fields of a task"
    data = long_form(table, {"ceiling": allowed, "fields": most})
    top = max(1.0, float(data["value"].max()))
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=[0, top + 0.15], nice=False),
        axis=alt.Axis(tickMinStep=1, format="d", values=list(range(int(top) + 1))),
        title="guidance fields of a task",
    )
    look = [(allowed, RED, [7, 4]), (most, GREEN, [1, 0])]
    return named_lines(data, look, last, y, "step-after", len(table) < 3).properties(height=260)


def guided_share(table: pd.DataFrame, last: float) -> Picture:
    """Share of the rollouts that were guided."""
    data = long_form(table, {"rollouts": "guided rollouts"})
    y = alt.Y("value:Q", scale=UNIT, axis=alt.Axis(format="%"), title="guided rollouts")
    area = alt.Chart(data).mark_area(color=BLUE, opacity=0.4, line={"color": BLUE}, interpolate="step-after")
    tips = ["step", alt.Tooltip("value:Q", format=".0%", title="guided rollouts")]
    return alt.layer(area.encode(steps_axis(last), y, tooltip=tips)).properties(height=260)


def two_sides(rewards: pd.DataFrame, heldout: pd.DataFrame, last: float) -> Picture:
    """Rewards as lines (A solid, B dashed), held-out means as marked lines. Columns step, value, side, series of both tables."""
    sides = list(SIDE_DASHES)
    present = pd.concat([rewards[["side", "series"]], heldout[["side", "series"]]]).drop_duplicates()
    order = present.sort_values(["series", "side"])["series"].tolist()
    side = dict(zip(present["series"], present["side"], strict=True))
    colours = alt.Scale(domain=order, range=[SIDE_COLOURS[side[name]] for name in order])
    dashes = alt.Scale(domain=order, range=[SIDE_DASHES[side[name]] for name in order])
    legend = alt.Legend(orient="top", title=None, symbolStrokeWidth=2, labelLimit=0, columns=2, symbolSize=300)
    y = alt.Y("value:Q", scale=UNIT, title="score")
    tips = ["series", "step", alt.Tooltip("value:Q", format=".3f")]

    def encoded(data: pd.DataFrame, mark: str, **look: object) -> alt.Chart:
        chart = getattr(alt.Chart(data), f"mark_{mark}")(**look)
        return chart.encode(
            steps_axis(last, "finished steps"), y, alt.Color("series:N", scale=colours, legend=legend), tooltip=tips
        )

    layers = [
        encoded(rewards, "line", strokeWidth=1.4, opacity=0.8).encode(alt.StrokeDash("series:N", scale=dashes, legend=legend)),
    ]
    for name in sides:
        rows = heldout[heldout["side"] == name]
        if len(rows):
            layers.append(encoded(rows, "line", strokeWidth=2.5).encode(alt.StrokeDash("series:N", scale=dashes, legend=legend)))
            layers.append(encoded(rows, "point", filled=True, size=80, opacity=1, shape=SIDE_SHAPES[name]))
    return alt.layer(*layers).properties(height=340)


def step_marks(steps: Sequence[tuple[str, float]]) -> Picture:
    """A ruled line with a letter at each of these steps, to lay over a chart."""
    data = pd.DataFrame([{"step": step, "name": name, "low": 0.0, "high": 0.97} for name, step in steps])
    rules = alt.Chart(data).mark_rule(strokeDash=[4, 3], color=ink()).encode(alt.X("step:Q"), alt.Y("low:Q"), alt.Y2("high:Q"))
    words = (
        alt.Chart(data)
        .mark_text(color=ink(), fontSize=15, fontWeight="bold", dx=9)
        .encode(alt.X("step:Q"), alt.Y("high:Q"), text="name:N")
    )
    return alt.layer(rules, words)


def long_form(table: pd.DataFrame, names: dict[str, str]) -> pd.DataFrame:
    """Columns of a table indexed by step as rows: step, value, series; gaps left out."""
    parts = [
        pd.DataFrame({"step": table.index, "value": table[column].astype(float).to_numpy(), "series": name})
        for column, name in names.items()
    ]
    return pd.concat(parts, ignore_index=True).dropna()
