"""The pictures on a card, as HTML boxes placed by per cent: they follow the page's width and theme, and need no script.

Every mark has a shape of its own and its numbers beside it, so that no picture needs its colours to be read.
"""

import math
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass

from memory.decision import Decision, Guard, Hindsight, Interval, Measurement
from memory.visit import PairShares
from ui.html import h
from ui.words import CLASSES, share, signed

ROOM_FOR_NAME, ROOM_FOR_NUMBER = 0.2, 0.08
"""The least share of a bar that is wide enough for the class's name and number, and for the number alone."""
LEAST_REACH = 0.1
"""An axis is at least this wide on either side."""
SMALLEST_P = 1e-4
"""The right end of the p axis; smaller values are drawn there."""


@dataclass(frozen=True)
class Axis:
    low: float
    high: float

    def at(self, value: float) -> float:
        """Per cent from the left; values outside are drawn at the end."""
        return 100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def box(self, low: float, high: float, name: str, title: str | None = None) -> ET.Element:
        left, right = self.at(low), self.at(high)
        return h("i", class_=name, style=f"left:{left:.2f}%;width:{right - left:.2f}%", title=title)

    def mark(self, value: float, name: str, title: str | None = None) -> ET.Element:
        return h("i", class_=name, style=f"left:{self.at(value):.2f}%", title=title)

    def ruler(self) -> ET.Element:
        """Four or five round numbers under the tracks."""
        size = 10 ** math.floor(math.log10((self.high - self.low) / 2))
        gap = next(g for g in (0.5 * size, size, 2 * size, 5 * size) if (self.high - self.low) / g <= 5.5)
        first = math.ceil(self.low / gap - 1e-9)
        values = [gap * k for k in range(first, math.floor(self.high / gap + 1e-9) + 1)]
        ticks = [
            h("span", f"{v:.3g}".replace("-", "−") if abs(v) > 1e-9 else "0", style=f"left:{self.at(v):.2f}%") for v in values
        ]
        return row("", h("div", ticks, class_="ruler"), "")


def row(name: str, track: ET.Element, words: str) -> ET.Element:
    return h("div", h("div", name, class_="name"), track, h("div", words, class_="words"), class_="row")


def around(values: Sequence[float], least: float = LEAST_REACH) -> Axis:
    low, high = min(values), max(values)
    missing = max(0.0, 2 * least - (high - low)) / 2
    margin = 0.06 * (high - low + 2 * missing)
    return Axis(low - missing - margin, high + missing + margin)


def value_before(found: Measurement) -> float:
    """The measured quantity before the edit; 0 where the shares do not tell it, and then the picture shows changes."""
    shares = found.before
    if shares.pairs and found.quantity.startswith("share not "):
        return 1 - getattr(shares, found.quantity.removeprefix("share not "), 1.0)
    return shares.agree - shares.spurious if shares.pairs and found.quantity.startswith("useful share") else 0.0


def effect(decision: Decision, hindsight: Hindsight | None) -> ET.Element | None:
    """Before and after on the measured quantity, over the noise band of an unchanged harness; later what the visits showed."""
    found = decision.measurement
    if found is None:
        return None
    start, gain = value_before(found), found.effect
    seen = [] if hindsight is None else [start + hindsight.observed]
    axis = around([start, start - found.noise, start + found.noise, start + gain.low, start + gain.high, *seen])

    def track(*marks: ET.Element) -> ET.Element:
        band = (
            axis.box(start - found.noise, start + found.noise, "noise", "noise of an unchanged harness") if found.noise else None
        )
        return h("div", band, axis.mark(start, "zero"), marks, class_="track")

    rows = [
        row("before", track(axis.mark(start, "dot hollow")), f"{start:.2f}".replace("-", "−") if start else "0"),
        row(
            "after",
            track(axis.box(start + gain.low, start + gain.high, "bar effect"), axis.mark(start + gain.estimate, "dot effect")),
            spoken(gain),
        ),
    ]
    if hindsight is not None:
        words = f"{signed(hindsight.observed)} over {counted(hindsight.visits, 'visit')}"
        rows.append(row("hindsight", track(axis.mark(seen[0], "dot diamond")), words))
    band = f"; shaded: ±{found.noise:.2f}, what an unchanged harness shows by chance" if found.noise else ""
    title = f"{found.quantity}, more is better{band}"
    return h("div", h("div", title, class_="title"), rows, axis.ruler(), class_="picture", role="img", aria_label=title)


def spoken(interval: Interval) -> str:
    return f"{signed(interval.estimate)} ({signed(interval.low)} to {signed(interval.high)})"


def guards(found: Measurement) -> ET.Element | None:
    """Harm per guarded quantity against its limit: a guard is broken where the mark lies right of the limit."""
    if not found.guards:
        return None
    ends = [v for g in found.guards for v in (g.harm.low, g.harm.high, g.limit)]
    axis = around([0.0, *ends])
    title = "guards: harm, which must stay left of the limit"
    rows = [_guard(axis, g) for g in found.guards]
    return h("div", h("div", title, class_="title"), rows, axis.ruler(), class_="picture", role="img", aria_label=title)


def _guard(axis: Axis, guard: Guard) -> ET.Element:
    kind = "holds" if guard.holds else "broken"
    track = h(
        "div",
        axis.box(guard.limit, axis.high, "beyond"),
        axis.mark(0.0, "zero"),
        axis.mark(guard.limit, "limit", f"limit {guard.limit:g}"),
        axis.box(guard.harm.low, guard.harm.high, f"bar {kind}"),
        axis.mark(guard.harm.estimate, f"dot {kind}"),
        class_="track",
    )
    name = f"{guard.name} on {guard.task_id}" if guard.task_id else guard.name
    return row(name, track, f"{signed(guard.harm.estimate)}, limit {guard.limit:g}: {'✓ holds' if guard.holds else '✗ broken'}")


def chance(found: Measurement) -> ET.Element | None:
    """p on a logarithmic axis, further right is less likely by chance; nothing where a run did not record it."""
    if found.p_needed <= 0:
        return None
    axis = Axis(0.0, -math.log10(SMALLEST_P))

    def place(p: float) -> float:
        return -math.log10(max(p, SMALLEST_P))

    enough = found.p_value <= found.p_needed
    track = h(
        "div",
        axis.box(place(found.p_needed), axis.high, "enough"),
        axis.mark(place(found.p_needed), "limit", f"needed {found.p_needed:.3g}"),
        axis.mark(place(found.p_value), f"dot {'holds' if enough else 'effect'}"),
        class_="track",
    )
    ticks = [h("span", f"{10.0**-k:g}", style=f"left:{axis.at(k):.2f}%") for k in range(5)]
    ruler = row("", h("div", ticks, class_="ruler"), "")
    title = "p: the chance of such a gain under an unchanged harness; accepted only right of the line"
    words = f"{found.p_value:.2g}, needed under {found.p_needed:.2g}"
    return h(
        "div", h("div", title, class_="title"), row("p", track, words), ruler, class_="picture", role="img", aria_label=title
    )


def stacked(sides: Sequence[tuple[str, PairShares]]) -> ET.Element:
    """Class shares, one bar per side, each part named and numbered where there is room."""
    rows = [row(name, h("div", [_part(c, getattr(s, c)) for c in CLASSES], class_="stack"), "") for name, s in sides]
    title = "pair classes"
    return h("div", h("div", title, class_="title"), rows, class_="picture wide", role="img", aria_label=title)


def _part(name: str, part: float) -> ET.Element | None:
    if part <= 0:
        return None
    text = f"{name} {share(part)}" if part >= ROOM_FOR_NAME else share(part) if part >= ROOM_FOR_NUMBER else ""
    return h("i", text, class_=f"part {name}", style=f"width:{100 * part:.2f}%", title=f"{name} {share(part)}")


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
