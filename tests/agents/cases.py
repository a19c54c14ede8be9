"""Case files for tests of the evolver's roles, and a chat model that answers what it is told to."""

from agents.context import CaseFile, RoundContext
from memory.decision import Attribution
from memory.edit import Claim, Edit
from memory.harness import GuidanceField, Harness
from memory.memory import Evidence
from memory.task import Criterion, Message, Verdict
from memory.visit import Rollout
from tests.builders import criterion, task, visit

RARE = criterion("rare", phrase="beware of grapefruit juice", points=3, text="Warns about grapefruit juice")
TASK = task("t", RARE, criterion("alpha"))
BLIND = ["alpha", "nothing", "alpha", "nothing"]
PASSING = ["beware of grapefruit juice. alpha."] * 4
ATTRIBUTION = Attribution(
    task_id="t", pair_class="blind", interface="g", criterion_ids=("rare",), reason="r", evidence=("v9-t",), author="rules"
)


def case(texts, quality=None, of=TASK, ceiling=2, entry=None, decisions=(), tried=(), neighbours=()) -> CaseFile:
    """A case whose last visit has these responses. Criteria that a model judges are graded by whether their id is said."""
    by_rule = [c if c.rule else criterion(c.id, points=c.points) for c in of.rubric]
    v, made = visit(of.model_copy(update={"rubric": tuple(by_rule)}), texts, quality, step=9)
    return CaseFile(
        context=RoundContext(round=1, step=10, steps=100, guidance_ceiling=ceiling, levels=(0.25, 0.5, 1.0, 2.0)),
        task=of,
        entry=entry or Harness().of(of),
        evidence=Evidence(task_id=of.id, visits=(v,), decisions=tuple(decisions), neighbours=tuple(neighbours)),
        rollouts=tuple(made),
        tried=tuple(tried),
    )


def asking(*criteria: Criterion, prompt: str = "Tell me about it.", reference: str | None = None, system: str | None = None):
    """A task ``t`` with these criteria and prompt."""
    turns = [Message(role="system", content=system)] if system else []
    messages = (*turns, Message(role="user", content=prompt))
    return task("t", *criteria).model_copy(update={"messages": messages, "reference": reference})


def llm(criterion_id: str, text: str, points: float = 1.0) -> Criterion:
    return Criterion(id=criterion_id, text=text, points=points)


def judged_by(built: CaseFile, verdicts: dict[str, list[bool]]) -> CaseFile:
    """The case with these verdicts by criterion id on its rollouts, in order."""

    def one(k: int, r: Rollout) -> Rollout:
        found = {i: Verdict.of(i, met[k]) for i, met in verdicts.items()}
        kept = [v for v in r.verdicts if v.criterion_id not in found]
        return r.model_copy(update={"verdicts": (*kept, *found.values()), "score": 0.5})

    return built.model_copy(update={"rollouts": tuple(one(k, r) for k, r in enumerate(built.rollouts))})


def guided(built: CaseFile, text: str, *places: int) -> CaseFile:
    """The case with a mounted field ``f`` on ``rare`` under which the rollouts at ``places`` were made."""
    field = GuidanceField(id="f", text=text, criterion_ids=("rare",))
    rollouts = tuple(
        r.model_copy(update={"guidance": f"Keep in mind:\n- {text}"}) if k in places else r for k, r in enumerate(built.rollouts)
    )
    seen = built.evidence.last.model_copy(update={"guided": tuple(k in places for k in range(len(rollouts)))})
    evidence = built.evidence.model_copy(update={"visits": (seen,)})
    entry = built.entry.model_copy(update={"guidance": (field,)})
    return built.model_copy(update={"rollouts": rollouts, "evidence": evidence, "entry": entry})


def edit_with(operation, *secondary, pair_class="blind", edit_id="e", **fields) -> Edit:
    claim = Claim(pair_class=pair_class, reason="r")
    return Edit(id=edit_id, task_id="t", operation=operation, secondary=secondary, claim=claim, proposer="x", **fields)


class Scripted:
    """A chat model that answers what it is told to."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []

    def complete(self, system, user, schema):
        self.asked.append((system, user))
        return schema.model_validate(self.reply)
