"""Probes: small rehearsals that tell the causes of a blind task apart, where its visits cannot.

**Full hint.** The frozen policy with a guidance field that states all that the missed criteria want, against the plain prompt. It
*helps* when their pass rate, weighted by points, rises by ``HINT_EFFECT``. That is one more pass among six rollouts, and lenient on
purpose: a policy that does not follow but passes by chance now and then costs one guidance edit, which the critic then measures
and refuses; a policy that would follow and is not believed loses its guidance to a lower level, and nothing measures that loss.
The text gives the criteria away, so it lives in this module alone: a ``Probe`` holds numbers and no text of it, and as an edit it is
refused, since guidance must not carry numbers and its lines are numbered.

**Quality.** Where the hint does not help: are the responses good, by an order that knows no rubric? Q is pairwise and has no
absolute level, so it needs something to hold the responses against: the task's reference answer, if it has one. They are *fine* when Q
does not place at least half of them below it. Without a reference nothing can tell (hinted responses cannot: the hint did not change
them for the better), the probe says so with ``helps`` None, and attribution goes by the pass rate on the rest of the rubric.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agents.attribution import blind, reaches
from agents.context import CaseFile
from agents.leaks import phrases_of
from agents.rehearsal import GradeRequest, OrderRequest, Rehearsal, RolloutRequest
from agents.symptoms import FINE, Symptoms
from memory.decision import Probe
from memory.harness import GuidanceField
from memory.pairs import Orders
from memory.task import Criterion
from memory.visit import Rollout

Kind = Literal["full_hint", "quality"]

HINT_EFFECT = 0.15
"""Rise of the missed criteria's pass rate from which the full hint helps."""
LEAST_SCORED = 0.5
"""Share of the rollouts on each side that must be scored, else the probe could not tell."""


def wanted(case: CaseFile) -> tuple[Kind, ...]:
    """The probes without which the rules would guess; none where a row before *blind* applies, where earlier probes or edits have
    answered, or where the answer would change nothing."""
    symptoms = Symptoms(case)
    if not blind(symptoms) or not reaches(symptoms, "blind"):
        return ()
    done = {p.kind for p in case.probes}
    hint = case.context.guidance_ceiling > 0 and not symptoms.in_vain("g", "blind")
    if hint and symptoms.hint_helps is None and "full_hint" not in done:
        return ("full_hint",) if "quality" in done else ("full_hint", "quality")
    hopeless = not hint or symptoms.hint_helps is False
    open_causes = not (symptoms.in_vain("p", "blind") and symptoms.in_vain("c", "blind"))
    return ("quality",) if hopeless and open_causes and "quality" not in done and case.task.reference else ()


def full_hint(criteria: Sequence[Criterion]) -> str:
    """All that the criteria want, a numbered line each."""
    return "\n".join(["A good answer does all of this:", *(f"{k}. {_line(c)}" for k, c in enumerate(criteria, 1))])


def _line(criterion: Criterion) -> str:
    if criterion.levels is not None:
        return f"{criterion.text}: {list(criterion.levels.values())[-1]}"
    if criterion.kind == "llm":
        return f"{criterion.text.rstrip('.')}. Write at least one sentence about that."
    unsaid = [p for p in phrases_of(criterion.rule) if p.lower() not in criterion.text.lower()]
    return criterion.text + (f": {', '.join(unsaid)}" if unsaid else "")


@dataclass(eq=False)
class Sitting:
    """One case in the probes' batches."""

    case: CaseFile
    kinds: tuple[Kind, ...]
    symptoms: Symptoms
    plain: tuple[Rollout, ...] = ()
    hinted: tuple[Rollout, ...] = ()

    @property
    def missed(self) -> list[Criterion]:
        ids = {h.criterion_id for h in self.symptoms.missed}
        return [c for c in self.case.entry.rubric if c.id in ids]

    def requests(self, count: int) -> list[RolloutRequest]:
        task_id, entry = self.case.task.id, self.case.entry
        requests = [RolloutRequest(task_id=task_id, entry=entry, guided=False, count=count)]
        if "full_hint" in self.kinds:
            # alone, not beside the mounted fields: what is asked is whether the policy can follow at all
            field = GuidanceField(id="probe", text=full_hint(self.missed))
            hinted = entry.model_copy(update={"guidance": (field,)})
            requests.append(RolloutRequest(task_id=task_id, entry=hinted, guided=True, count=count))
        return requests


def probe_all(rehearsal: Rehearsal, tag: str, cases: Sequence[CaseFile], count: int) -> dict[str, tuple[Probe, ...]]:
    """The probes that the cases want, by task id: new ones only, tasks without any left out.

    All cases share one batch of rollouts, one of verdicts and one of quality comparisons. Q is asked only where the full hint did
    not help. Rollouts are graded under the whole rubric, as the visit was.

    Args:
        tag: names round and pass; it seeds the rollouts.
        count: rollouts with and without the full hint, each; 0 probes nothing.
    """
    sittings = [Sitting(case, kinds, Symptoms(case)) for case in cases if count and (kinds := wanted(case))]
    if not sittings:
        return {}
    _roll_out_and_grade(rehearsal, tag, sittings, count)
    probes = {s.case.task.id: [_hint_probe(s)] if "full_hint" in s.kinds else [] for s in sittings}
    asking = [s for s in sittings if "quality" in s.kinds and not any(p.helps for p in probes[s.case.task.id])]
    for sitting, orders in zip(asking, _orders(rehearsal, tag, asking), strict=True):
        probes[sitting.case.task.id].append(_quality_probe(sitting, orders))
    return {task_id: tuple(found) for task_id, found in probes.items()}


def _roll_out_and_grade(rehearsal: Rehearsal, tag: str, sittings: Sequence[Sitting], count: int) -> None:
    requests = [request for s in sittings for request in s.requests(count)]
    rolled = rehearsal.roll_out(tag, requests)
    rubrics = [s.case.entry.rubric for s in sittings for _ in s.requests(count)]
    graded = iter(
        rehearsal.grade(
            [
                GradeRequest(task_id=q.task_id, rubric=rubric, rollouts=rollouts)
                for q, rubric, rollouts in zip(requests, rubrics, rolled, strict=True)
            ]
        )
    )
    for sitting in sittings:
        sitting.plain = next(graded)
        if "full_hint" in sitting.kinds:
            sitting.hinted = next(graded)


def _orders(rehearsal: Rehearsal, tag: str, asking: Sequence[Sitting]) -> list[Orders | None]:
    """Q of each plain rollout against the reference answer; None where there is no reference or no Q."""
    able = [s for s in asking if s.case.task.reference and rehearsal.quality_source != "off"]
    requests = [
        OrderRequest(
            task_id=s.case.task.id,
            rollouts=(*s.plain, reference_rollout(tag, s.case)),
            pairs=tuple((k, len(s.plain)) for k in range(len(s.plain))),
        )
        for s in able
    ]
    answers = iter(rehearsal.order(requests) if requests else ())
    return [next(answers) if s in able else None for s in asking]


def reference_rollout(tag: str, case: CaseFile) -> Rollout:
    """The reference answer in the shape that Q compares. It was not rolled out: it is neither counted nor stored."""
    return Rollout(id=f"{tag}/reference/{case.task.id}", task_id=case.task.id, text=case.task.reference or "", tokens=0)


def _hint_probe(sitting: Sitting) -> Probe:
    ids = [c.id for c in sitting.missed]
    sides = (sitting.plain, sitting.hinted)
    least = max(1, round(LEAST_SCORED * len(sitting.plain)))
    before, after = (sitting.symptoms.pass_rate(side, ids, least) for side in sides)
    helps = None if before is None or after is None else after - before >= HINT_EFFECT - 1e-9
    if helps is None:
        sentence = "The full hint could not be tried: too few of its rollouts were scored."
    else:
        sentence = f"With the full hint {after:.0%} of the missed points are passed, without it {before:.0%}: " + (
            "the policy follows." if helps else "it does not help."
        )
    return Probe(
        kind="full_hint",
        criterion_ids=tuple(ids),
        before=before,
        after=after,
        helps=helps,
        rollouts=sum(map(len, sides)),
        rollout_ids=tuple(r.id for side in sides for r in side),
        sentence=sentence,
    )


def _quality_probe(sitting: Sitting, orders: Orders | None) -> Probe:
    share = float((orders.order >= 0).mean()) if orders else None
    fine = None if share is None else share >= FINE
    if share is not None:
        sentence = (
            f"Q does not place {share:.0%} of the responses below the reference answer: they are {'fine' if fine else 'low'}."
        )
    elif orders is None:
        sentence = "Q cannot tell whether the responses are good: it has no reference answer to hold them against, or is off."
    else:
        sentence = "Q cannot tell whether the responses are good: it scored no comparison with the reference answer."
    return Probe(
        kind="quality",
        criterion_ids=tuple(c.id for c in sitting.missed),
        before=share,
        helps=fine,
        # where the full hint was tried as well, the plain rollouts are counted there
        rollouts=0 if sitting.hinted else len(sitting.plain),
        quality_calls=0 if orders is None else len(sitting.plain),
        rollout_ids=tuple(r.id for r in sitting.plain) if orders is not None else (),
        sentence=sentence,
    )
