"""Attribution: every row of the table, the window that steadies it, and the model that may overrule it."""

from pathlib import Path

import pytest

from agents import attribution, probes, symptoms
from agents.attribution import TABLE, InventedIds, RuleAttributor, first_row, table
from agents.chat_attributor import AttributionReply, ChatAttributor
from agents.context import CaseFile, RoundContext
from agents.symptoms import Symptoms
from memory.decision import Decision, Probe
from memory.edit import Claim, DeleteCriterion, Edit, RetireField, SetLevel
from memory.harness import GuidanceField, Harness, TaskHarness
from memory.memory import Evidence
from memory.task import Task
from memory.visit import PairOrder, Sign
from tests.builders import criterion, decision, field_edit, task, visit

TASK = task("t", criterion("rare", points=3), criterion("alpha"))
BLIND = ["alpha", "nothing", "alpha", "nothing"]
PASSING = ["rare alpha"] * 4
FIELD = GuidanceField(id="f", text="think of rare things", criterion_ids=("rare",))
DOCS = Path(__file__).parents[2] / "docs" / "attribution.md"


def case(
    *groups: list[str],
    quality=None,
    of: Task = TASK,
    ceiling: int = 2,
    guidance: tuple[GuidanceField, ...] = (),
    guided: int = 0,
    level: float = 1.0,
    signs=(),
    decisions=(),
    tried=(),
    probes=(),
    neighbours=(),
) -> CaseFile:
    """A case whose visits, one every ten steps, showed these groups; of the last, the last ``guided`` rollouts were guided."""
    entry: TaskHarness = Harness().of(of).model_copy(update={"guidance": guidance, "level": level})
    seen = [visit(of, texts, quality, step=10 * k, entry=entry) for k, texts in enumerate(groups)]
    last, made = seen[-1]
    side = [k >= len(made) - guided for k in range(len(made))]
    shown = {name: Sign(value=1.0, threshold=0.3) for name in signs}
    last = last.model_copy(update={"guided": tuple(side), "signs": shown})
    return CaseFile(
        context=RoundContext(round=1, step=100, steps=200, guidance_ceiling=ceiling, levels=(0.25, 0.5, 1.0, 2.0)),
        task=of,
        entry=entry,
        evidence=Evidence(
            task_id=of.id,
            visits=(*(v for v, _ in seen[:-1]), last),
            decisions=tuple(decisions),
            neighbours=tuple(neighbours),
        ),
        rollouts=tuple(made),
        probes=tuple(probes),
        tried=tuple(tried),
    )


def probe(kind: str, helps: bool | None) -> Probe:
    return Probe.model_validate({"kind": kind, "helps": helps, "sentence": f"The {kind} probe found {helps}."})


HELPS, FAILS = probe("full_hint", True), probe("full_hint", False)
FINE, LOW, UNTOLD = probe("quality", True), probe("quality", False), probe("quality", None)


def refused(interface: str, failure: str, outcome: str = "rejected", step: int = 0) -> Decision:
    operation = {
        "p": SetLevel(op="lower_level", level=0.5),
        "g": RetireField(field_id="f"),
        "c": DeleteCriterion(criterion_id="alpha"),
    }[interface]
    claim = Claim.model_validate({"pair_class": failure, "reason": "r"})
    edit = Edit(id=f"{interface}-{failure}", task_id="t", operation=operation, claim=claim, proposer="test")
    return decision(edit, outcome, step=step)


ALPHA = task("t", criterion("alpha"))
ALPHA_FIELD = GuidanceField(id="f", text="alpha", criterion_ids=("alpha",))
OUTGROWN = ["alpha", "nothing", "alpha", "nothing", "alpha", "alpha", "alpha", "alpha"]
GONE = ["alpha", "nothing", "alpha", "nothing"] * 2
HIDDEN = task("t", criterion("rare", points=1), criterion("alpha"), criterion("beta"))
GOOD_OTHERWISE = ["alpha beta", "alpha beta", "alpha beta", "beta"]


@pytest.mark.parametrize(
    ("row", "built"),
    [
        (1, case(OUTGROWN, of=ALPHA, guidance=(ALPHA_FIELD,), guided=4)),
        (1, case(GONE, of=ALPHA, guidance=(ALPHA_FIELD,), guided=4)),
        (2, case(PASSING, signs=["repetition"])),
        (3, case(PASSING, quality=[1, 2, 3, 4])),
        (4, case(PASSING, guidance=(FIELD,))),
        (4, case(PASSING, quality=[1, 2, 3, 4], guidance=(FIELD,), tried=[refused("c", "saturated")])),
        (5, case(PASSING)),
        (5, case(PASSING, quality=[1, 2, 3, 4], tried=[refused("c", "saturated")])),
        (5, case(PASSING, signs=["repetition"], tried=[refused("c", "saturated")])),
        (5, case(PASSING, guidance=(FIELD,), tried=[refused("g", "saturated")])),
        (6, case(BLIND)),
        (6, case(BLIND, probes=[HELPS])),
        (6, case(BLIND, tried=[refused("g", "saturated")])),
        (7, case(BLIND, probes=[FAILS, FINE])),
        (7, case(GOOD_OTHERWISE, of=HIDDEN, probes=[FAILS, UNTOLD])),
        (7, case(["nothing"] * 4, probes=[FAILS, LOW], tried=[refused("p", "blind")])),
        (7, case(BLIND, ceiling=0, probes=[FINE])),
        (8, case(["nothing"] * 4, probes=[FAILS, LOW])),
        (8, case(["nothing"] * 4, probes=[FAILS, UNTOLD])),
        (8, case(["nothing"] * 4, probes=[FAILS, FINE], tried=[refused("c", "blind")])),
        (8, case(["nothing"] * 4, probes=[HELPS], tried=[decision(field_edit())])),
        (9, case(BLIND, ceiling=0)),
        (9, case(["nothing"] * 4, decisions=[decision(field_edit())])),
        (10, case(["alpha", "alpha", "beta", "nothing"], quality=[0, 0, 1, 1], of=task())),
        (11, case(["rare alpha", "nothing"] * 2, quality=[1, 0] * 2, level=0.5)),
    ],
)
def test_every_row_has_a_group_that_shows_it(row, built):
    assert first_row(Symptoms(built)) is TABLE[row - 1]
    found = RuleAttributor().attribute(built)
    assert found is not None
    assert (found.pair_class, found.interface) == (TABLE[row - 1].failure, TABLE[row - 1].interface)
    assert found.reason
    assert found.evidence[0] == built.evidence.last.id
    assert found.probes == built.probes


@pytest.mark.parametrize(
    "built",
    [
        case(["alpha", "beta", "nothing", "alpha beta"], quality=[1, 1, 0, 2], of=task()),
        case(["rare alpha", "nothing"] * 2, quality=[1, 0] * 2),
    ],
)
def test_healthy_tasks_are_left_alone(built):
    assert RuleAttributor().attribute(built) is None


def test_guidance_stays_while_plain_rollouts_need_it_or_nothing_would_be_gained():
    rarely = ["alpha", "nothing", "nothing", "nothing", *["alpha"] * 4]
    always = ["alpha"] * 8
    for texts in (rarely, always):
        row = first_row(Symptoms(case(texts, of=ALPHA, guidance=(ALPHA_FIELD,), guided=4)))
        assert row is not TABLE[0]
    few = case(["alpha", "nothing", *["alpha"] * 2], of=ALPHA, guidance=(ALPHA_FIELD,), guided=2)
    assert Symptoms(few).arms is None, "two rollouts of a side tell nothing"


def test_arms_are_told_apart_by_id_where_a_rollout_is_missing():
    built = case(OUTGROWN, of=ALPHA, guidance=(ALPHA_FIELD,), guided=4)
    built = built.model_copy(update={"rollouts": built.rollouts[1:]})
    assert Symptoms(built).arms is None, "three plain rollouts are left"
    assert len(Symptoms(built).plain) == 3


def test_one_odd_group_does_not_make_a_task_saturated():
    mixed = ["alpha", "nothing"] * 2
    passing = ["alpha"] * 4
    assert RuleAttributor().attribute(case(mixed, mixed, mixed, passing, quality=[1, 0, 1, 0], of=ALPHA)) is None
    found = RuleAttributor().attribute(case(passing, of=ALPHA))
    assert found is not None
    assert found.pair_class == "saturated"


def test_an_accepted_edit_starts_the_window_afresh():
    mixed, passing = ["alpha", "nothing"] * 2, ["alpha"] * 4
    changed = refused("c", "spurious", outcome="accepted", step=30)
    built = case(mixed, mixed, mixed, passing, of=ALPHA, decisions=[changed])
    assert [v.step for v in Symptoms(built).visits] == [30]
    found = RuleAttributor().attribute(built)
    assert found is not None
    assert (found.pair_class, found.evidence) == ("saturated", ("v30-t",))


def test_a_criterion_that_earlier_visits_passed_is_not_blind():
    once = ["rare", "nothing", "nothing", "nothing"]
    assert [h.criterion_id for h in Symptoms(case(BLIND)).missed] == ["rare"]
    assert Symptoms(case(once, BLIND)).missed == [], "1 of 8"
    assert [h.criterion_id for h in Symptoms(case(once, BLIND, BLIND)).missed] == ["rare"], "1 of 12"
    assert Symptoms(case(BLIND, BLIND, once)).missed == [], "the last visit passes it"


def test_quality_that_is_off_separates_nothing():
    built = case(PASSING)
    off = tuple(PairOrder(first=p.first, second=p.second, order=None) for p in built.evidence.last.quality)
    last = built.evidence.last.model_copy(update={"quality": off})
    built = built.model_copy(update={"evidence": built.evidence.model_copy(update={"visits": (last,)})})
    assert Symptoms(built).quality_spread == 0


def test_a_sign_of_hacking_lowers_the_needed_excess():
    texts = ["alpha beta", "beta", "alpha beta", "alpha", "alpha beta gamma", "beta gamma"]
    of = task("t", criterion("alpha"), criterion("beta"), criterion("gamma", points=3))
    excess = {}
    for seed in range(60):  # the orders of the group that put the excess between the two thresholds
        order = [(seed * k * 7 + k) % 11 for k in range(len(texts))]
        built = case(texts, quality=order, of=of)
        worst, value = next(iter(Symptoms(built).spurious_excess.items()))
        shares = Symptoms(built).shares
        if 0.02 <= value < 0.05 and shares.spurious < shares.agree:
            excess[seed] = (worst, order)
    assert excess
    for worst, order in excess.values():
        assert RuleAttributor().attribute(case(texts, quality=order, of=of)) is None
        found = RuleAttributor().attribute(case(texts, quality=order, of=of, signs=["self_praise"]))
        assert found is not None
        assert (found.pair_class, found.interface) == ("spurious", "c")
        assert worst in found.criterion_ids
        assert "self_praise" in found.reason


def test_guidance_that_was_accepted_and_kept_its_gain_shows_that_the_policy_follows():
    added = decision(field_edit(), "accepted")
    built = case(BLIND, decisions=[added])
    assert Symptoms(built).hint_helps is True
    faded = built.evidence.model_copy(update={"faded": (added,)})
    assert Symptoms(built.model_copy(update={"evidence": faded})).hint_helps is None


def test_the_reason_gives_what_the_probes_found_and_cites_them():
    found = RuleAttributor().attribute(case(["nothing"] * 4, probes=[FAILS, LOW]))
    assert found is not None
    assert "The full_hint probe found False" in found.reason
    assert found.evidence == ("v0-t", "probe-full_hint", "probe-quality")


def test_the_docs_hold_the_table_and_every_threshold():
    text = DOCS.read_text(encoding="utf-8")
    assert table() in text
    for module in (attribution, symptoms, probes):
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, int | float):
                assert f"| `{name}` | {value:.3g} |" in text, name


class Scripted:
    def __init__(self, **reply):
        self.reply = {
            "reason": "hopeless",
            "pair_class": "blind",
            "interface": "p",
            "criterion_ids": [],
            "evidence_ids": [],
        } | reply

    def complete(self, system, user, schema):
        return schema.model_validate(self.reply)


def attributed(built: CaseFile = case(BLIND, probes=[HELPS]), **reply):  # noqa: B008 a constant
    return ChatAttributor(Scripted(**reply), "model").attribute(built)


@pytest.mark.parametrize("evidence", ["v0-t", "probe-full_hint", "step-000000/1"])
def test_a_model_overrules_with_evidence_and_the_disagreement_is_recorded(evidence):
    found = attributed(evidence_ids=[evidence, "rare"], criterion_ids=["rare"])
    assert found is not None
    assert (found.interface, found.author, found.reason) == ("p", "model", "hopeless")
    assert found.overruled is not None
    assert found.overruled.startswith("blind, interface g: criteria with 75%")
    assert found.probes == (HELPS,)


def test_edits_of_this_round_are_evidence():
    found = attributed(case(BLIND, tried=[refused("c", "blind")]), evidence_ids=["c-blind"])
    assert found is not None
    assert found.overruled


def test_agreement_overrules_nothing_and_needs_no_evidence():
    found = attributed(interface="g")
    assert found is not None
    assert (found.author, found.overruled) == ("model", None)


@pytest.mark.parametrize("evidence", [[], ["rare"]])
@pytest.mark.parametrize("said", [{"interface": "p"}, {"pair_class": "none", "interface": "none"}])
def test_without_something_observed_the_rules_stand_and_the_reason_says_so(evidence, said):
    found = attributed(evidence_ids=evidence, **said)
    assert found is not None
    assert (found.interface, found.author, found.overruled) == ("g", "rules", None)
    assert "without evidence, and is not believed" in found.reason
    healthy = case(["rare alpha", "nothing"] * 2, quality=[1, 0] * 2)
    assert attributed(healthy, evidence_ids=evidence) is None


def test_with_evidence_a_model_may_find_nothing_to_repair():
    assert attributed(pair_class="none", interface="none", evidence_ids=["v0-t"]) is None


@pytest.mark.parametrize(
    "wrong", [{"criterion_ids": ["invented"]}, {"evidence_ids": ["invented"]}, {"evidence_ids": ["v0-t", "probe-quality"]}]
)
def test_invented_ids_are_refused(wrong):
    with pytest.raises(InventedIds, match=r"invented|probe-quality"):
        attributed(**wrong)


def test_the_model_writes_its_reason_before_its_choice():
    assert next(iter(AttributionReply.model_fields)) == "reason"
