"""HTML out of elements, so that text of a run is always escaped: there is no way to put markup in but by ``h``.

``style`` and ``script`` must not be made with ``h``: their text is written as it is.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable
from pathlib import Path

from ui.words import plain

Child = str | ET.Element | None | Iterable["Child"]
STYLE = Path(__file__).with_name("card.css")


def h(tag: str, *children: Child, **attributes: object) -> ET.Element:
    """An element; ``class_`` gives the attribute ``class``. None children and attributes are left out, lists are flattened."""
    element = ET.Element(tag, {k.rstrip("_").replace("_", "-"): plain(v) for k, v in attributes.items() if v is not None})
    _fill(element, children)
    return element


def _fill(element: ET.Element, children: Iterable[Child]) -> None:
    for child in children:
        if isinstance(child, ET.Element):
            element.append(child)
        elif isinstance(child, str):
            if len(element):
                element[-1].tail = (element[-1].tail or "") + plain(child)
            else:
                element.text = (element.text or "") + plain(child)
        elif child is not None:
            _fill(element, child)


def html(*elements: ET.Element) -> str:
    return "".join(ET.tostring(e, encoding="unicode", method="html") for e in elements)
