"""How the console says things: names of interfaces and outcomes, ages, states, and text that cannot turn into markup."""

import re

from memory.decision import Approval

INTERFACES = {"p": "p task sampling", "g": "g rollout guidance", "c": "c rubric criteria"}
INTERFACE_COLOURS = {"p": "violet", "g": "blue", "c": "orange"}
OUTCOMES = ("accepted", "rejected", "inconclusive")
OUTCOME_SIGNS = {"accepted": "✓", "rejected": "✗", "inconclusive": "?"}
OUTCOME_ICONS = {"accepted": ":material/check:", "rejected": ":material/close:", "inconclusive": ":material/question_mark:"}
OUTCOME_COLOURS = {"accepted": "green", "rejected": "red", "inconclusive": "gray"}
CLASSES = ("blind", "saturated", "spurious", "agree")
UNKNOWN = "–"
"""Stands where a value was not recorded."""

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+.!|<>~$:\-])")


def plain(text: object) -> str:
    """Any text of a run as valid UTF-8: lone surrogates become question marks, since the browser's side refuses them."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


def escaped(text: object) -> str:
    """Text of a run for places that read Markdown: every sign that could start markup is taken literally."""
    return _MARKUP.sub(r"\\\1", plain(text).replace("\n", " "))


def age(seconds: float) -> str:
    """How long ago, in the largest fitting unit."""
    for size, name in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {name}"
    return f"{max(0, seconds):.0f} s"


def share(value: float | None) -> str:
    return UNKNOWN if value is None or value != value else f"{value:.0%}"


def signed(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def score(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"


def said_of(approval: Approval) -> str:
    """Who had the last word on an edit that waited for a person, and which."""
    if approval.by == "default":
        return f"{'accepted' if approval.granted else 'rejected'} by default, without an answer"
    return f"{'approved' if approval.granted else 'rejected'} by a person"


def operation(op: str) -> str:
    """``reword_criterion`` as ``reword criterion``."""
    return op.replace("_", " ")
