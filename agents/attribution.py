"""Attribution: which failure a task's reward shows, and which interface can repair it.

``TABLE`` is the whole of it: the first row that applies is taken. A failure that one interface could not repair moves on to the
next row: a rejected edit comes back here with its measurement before the next is proposed. ``docs/attribution.md`` shows the same
rows to users; thresholds are starting values, their reasons stand beside them. ``RuleAttributor`` is the embedded default.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

from agents.context import CaseFile
from agents.symptoms import LEAST_ARM, Symptoms
from memory.decision import Attribution, probe_id
from memory.edit import Interface, PairClass

SATURATED = 0.6
"""Share of pairs that pass both, from which a task counts as saturated."""
QUALITY_SPREAD = 0.3
"""Share of pairs that Q must separate before criteria are asked to separate them, too."""
NEVER_PASSED = 0.3
"""Share of the points on criteria that nobody passes, from which a task counts as blind."""
SPURIOUS_EXCESS = 0.05
"""How much more a criterion must add to spurious than to agree, in share of all pairs."""
SPURIOUS_EXCESS_SIGNED = 0.02
"""The same where the last visit shows a sign of hacking, which is a second witness."""
INFORMATIVE = 0.35
"""Share of pairs that separate, from which a task teaches: its level is not lowered, and is raised again."""
ARM_SATURATED = 0.9
"""Pass rate from which one arm of a group counts as saturated."""
PLAIN_ENOUGH = 1 / 3
"""Pass rate of plain rollouts from which a plain group separates more pairs than one half of which is guided and always passes:
2 p (1 - p) against (1 + p) (1 - p) / 2."""
BENEFIT = 0.1
"""Pass rate by which guided rollouts must be ahead, else the benefit of the guidance is gone."""


class Attributor(Protocol):
    def attribute(self, case: CaseFile) -> Attribution | None:
        """The failure and the interface to repair it with, or None where nothing needs repair.

        Raises:
            ChatFailure: the model behind the role failed; the case becomes a counted no-op.
            InventedIds: the model cited what does not exist; the same.
        """
        ...


class InventedIds(ValueError):
    """A model cited ids that do not exist; its answer is refused whole."""

    def __init__(self, ids: list[str]):
        super().__init__("invented ids: " + ", ".join(ids[:5]))


@dataclass(frozen=True)
class Row:
    """One row of the table: in words for people, and as ``applies`` for the rules; ``because`` gives the reason with its numbers."""

    failure: PairClass
    holds: str
    further: str
    interface: Interface
    repair: str
    applies: Callable[[Symptoms], bool]
    because: Callable[[Symptoms], str]


def saturated(s: Symptoms) -> bool:
    return s.shares.saturated >= SATURATED and s.shares.saturated > max(s.shares.blind, s.shares.informative)


def blind(s: Symptoms) -> bool:
    return s.missed_weight >= NEVER_PASSED


def needed_excess(s: Symptoms) -> float:
    return SPURIOUS_EXCESS_SIGNED if s.signs else SPURIOUS_EXCESS


def spurious(s: Symptoms) -> bool:
    carried = max(s.spurious_excess.values(), default=0.0) >= needed_excess(s)
    return carried or s.shares.spurious >= max(s.shares.agree, needed_excess(s))


def outgrown(s: Symptoms) -> bool:
    """Whether the guidance has done its work: plain rollouts pass often enough without it, and not yet always."""
    if s.arms is None or not PLAIN_ENOUGH <= s.arms.plain < ARM_SATURATED:
        return False
    return s.arms.guided >= ARM_SATURATED or s.arms.guided - s.arms.plain < BENEFIT


def guidance_is_to_be_had(s: Symptoms) -> bool:
    return s.case.context.guidance_ceiling > 0 and not s.in_vain("g", "blind")


def flat(s: Symptoms) -> bool:
    return s.shares.informative < INFORMATIVE


def passing(s: Symptoms) -> str:
    return f"{s.shares.saturated:.0%} of pairs pass both"


def separated(s: Symptoms) -> str:
    return f"{passing(s)}, and Q separates {s.quality_spread:.0%} of them"


def unpassed(s: Symptoms) -> str:
    return f"criteria with {s.missed_weight:.0%} of the points are passed by no plain rollout"


def found(s: Symptoms) -> str:
    return "; ".join([unpassed(s), *(p.sentence.rstrip(".") for p in s.case.probes)])


def weighed(s: Symptoms) -> str:
    if s.quality_finding is not None:
        return found(s)
    rest = "there are no others" if s.rest_passed is None else f"plain rollouts pass {s.rest_passed:.0%} of the others"
    return f"{found(s)}; {rest}"


def misordered(s: Symptoms) -> str:
    reason = f"spurious share {s.shares.spurious:.2f} against agree {s.shares.agree:.2f}"
    return reason + (f", with signs of hacking: {', '.join(s.signs)}" if s.signs else "")


def arms(s: Symptoms) -> str:
    assert s.arms is not None
    return f"plain rollouts pass {s.arms.plain:.0%} of what the guidance is about, guided ones {s.arms.guided:.0%}"


_SATURATED = f"saturated >= {SATURATED:g}, more than blind and informative"
_BLIND = f"criteria nobody passes carry >= {NEVER_PASSED:g} of the points"
_IN_VAIN = "not in vain"

TABLE = (
    Row(
        "saturated",
        f"on what the guidance is about, plain rollouts pass from 1/3 to {ARM_SATURATED:g} (each arm has >= {LEAST_ARM} rollouts)",
        f"guided rollouts pass >= {ARM_SATURATED:g}, or less than {BENEFIT:g} more than plain ones; {_IN_VAIN}",
        "g",
        "retire it",
        lambda s: outgrown(s) and not s.in_vain("g", "saturated"),
        arms,
    ),
    Row(
        "saturated",
        _SATURATED,
        f"a sign of hacking shows; {_IN_VAIN}",
        "c",
        "ask for what hacking leaves out, punish what it does",
        lambda s: saturated(s) and bool(s.signs) and not s.in_vain("c", "saturated"),
        lambda s: f"{passing(s)}, with signs of hacking: {', '.join(s.signs)}",
    ),
    Row(
        "saturated",
        _SATURATED,
        f"Q separates >= {QUALITY_SPREAD:g} of the pairs; {_IN_VAIN}",
        "c",
        "tighten, split, add what separates the best from the second best",
        lambda s: saturated(s) and s.quality_spread >= QUALITY_SPREAD and not s.in_vain("c", "saturated"),
        separated,
    ),
    Row(
        "saturated",
        _SATURATED,
        f"guidance is mounted; {_IN_VAIN}",
        "g",
        "retire it",
        lambda s: saturated(s) and bool(s.case.entry.guidance) and not s.in_vain("g", "saturated"),
        lambda s: f"{passing(s)} and guidance is mounted",
    ),
    Row(
        "saturated",
        _SATURATED,
        "otherwise",
        "p",
        "lower the level, make it harder, retire it",
        saturated,
        lambda s: f"{passing(s)} and nothing is left to separate (Q separates {s.quality_spread:.0%})",
    ),
    Row(
        "blind",
        _BLIND,
        f"guidance is allowed, the full hint helps or has no finding; {_IN_VAIN}",
        "g",
        "hint at them",
        lambda s: blind(s) and s.hint_helps is not False and guidance_is_to_be_had(s),
        found,
    ),
    Row(
        "blind",
        _BLIND,
        f"a probe found something, and Q is fine (or p is in vain); {_IN_VAIN}",
        "c",
        "relax, split, reword, delete: they ask for what cannot be shown",
        lambda s: blind(s) and s.probed and (s.quality_is_fine or s.in_vain("p", "blind")) and not s.in_vain("c", "blind"),
        weighed,
    ),
    Row(
        "blind",
        _BLIND,
        f"a probe found something, and Q is low (or c is in vain); informative < {INFORMATIVE:g}",
        "p",
        "lower the level, make it easier",
        lambda s: blind(s) and s.probed and (not s.quality_is_fine or s.in_vain("c", "blind")) and flat(s),
        weighed,
    ),
    Row(
        "blind",
        _BLIND,
        f"no probe found anything, no guidance is mounted; informative < {INFORMATIVE:g}",
        "p",
        "lower the level, make it easier",
        lambda s: blind(s) and not s.probed and not s.case.entry.guidance and flat(s),
        lambda s: f"{unpassed(s)}, and guidance is not to be had here",
    ),
    Row(
        "spurious",
        f"a criterion adds >= {SPURIOUS_EXCESS:g} more to spurious than to agree, or spurious >= agree and >= {SPURIOUS_EXCESS:g}",
        f"with a sign of hacking {SPURIOUS_EXCESS_SIGNED:g} is enough",
        "c",
        "reword, reprice, merge, delete those that carry it, punish what the worse do",
        spurious,
        misordered,
    ),
    Row(
        "saturated",
        f"level < 1, informative >= {INFORMATIVE:g}",
        "",
        "p",
        "raise the level",
        lambda s: s.case.entry.level < 1 and not flat(s),
        lambda s: f"the level is {s.case.entry.level:g} but {s.shares.informative:.0%} of pairs separate",
    ),
)


def table() -> str:
    """The rows in words, as a Markdown table."""
    lines = ["| | failure | holds when | further test | interface | repair |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {number} | {row.failure} | {row.holds} | {row.further} | `{row.interface}` | {row.repair} |"
        for number, row in enumerate(TABLE, 1)
    ]
    return "\n".join(lines)


def first_row(symptoms: Symptoms) -> Row | None:
    return next((row for row in TABLE if row.applies(symptoms)), None)


def reaches(symptoms: Symptoms, failure: PairClass) -> bool:
    """Whether the rules come to the rows of this failure: no row before them applies."""
    return not any(row.applies(symptoms) for row in takewhile(lambda row: row.failure != failure, TABLE))


def concerned(s: Symptoms, row: Row) -> tuple[str, ...]:
    """The criteria an attribution is about; none means all."""
    if row.interface == "g" and row.failure == "saturated" and s.arms and outgrown(s):
        return s.arms.criterion_ids
    if row.failure == "blind":
        return tuple(h.criterion_id for h in s.missed)
    if row.failure == "spurious":
        carrying = [i for i, excess in s.spurious_excess.items() if excess >= needed_excess(s)]
        return tuple((carrying or list(s.spurious_excess))[:2])
    return tuple(i for i, shares in s.criterion_shares.items() if shares.saturated >= SATURATED) if saturated(s) else ()


class RuleAttributor:
    """The table."""

    author = "rules"

    def attribute(self, case: CaseFile) -> Attribution | None:
        symptoms = Symptoms(case)
        row = first_row(symptoms)
        if row is None:
            return None
        return Attribution(
            task_id=case.task.id,
            pair_class=row.failure,
            interface=row.interface,
            criterion_ids=concerned(symptoms, row),
            reason=row.because(symptoms),
            evidence=(*(v.id for v in symptoms.visits), *(probe_id(p.kind) for p in case.probes)),
            probes=case.probes,
            author=self.author,
        )
