"""Probes of the frozen policy: when they are made, what they find at known rates, what they cost, and that they leak nothing."""

import json

import pytest

from agents.attribution import RuleAttributor
from agents.checks import Refused, precheck
from agents.probes import full_hint, probe_all, wanted
from agents.symptoms import Symptoms
from memory.edit import AddField, Claim, Edit, RewriteField
from memory.harness import GuidanceField
from memory.task import Criterion, Task
from tests.agents.test_attribution import BLIND, FAILS, FINE, HELPS, LOW, PASSING, case, refused
from tests.builders import SimulatedRehearsal, criterion, decision, field_edit, task
from training.reward.rules import validate

RARE = criterion("rare", points=3)
TASK = task("t", RARE, criterion("alpha"))
ANSWERED = TASK.model_copy(update={"reference": "alpha rare rare rare"})
RATES = {"rare": 0.0, "alpha": 0.5}
BOTH = ("full_hint", "quality")


def rehearsal(rates=None, guided=0.9, of: Task = TASK, **settings) -> SimulatedRehearsal:
    return SimulatedRehearsal({of.id: of}, rates or RATES, guided=guided, **settings)


def probed(built, rehearsing, count=6):
    return probe_all(rehearsing, "probe", [built], count).get(built.task.id, ())


@pytest.mark.parametrize(
    ("built", "kinds"),
    [
        (case(BLIND), BOTH),
        (case(BLIND, tried=[refused("g", "saturated")]), BOTH),
        (case(PASSING), ()),
        (case(["rare alpha", "nothing"] * 2), ()),
        (case(BLIND, probes=[HELPS]), ()),
        (case(BLIND, probes=[FAILS, FINE]), ()),
        (case(BLIND, probes=[FAILS, LOW]), ()),
        (case(BLIND, decisions=[decision(field_edit(), "accepted")]), ()),
        (case(BLIND, ceiling=0), ()),
        (case(BLIND, tried=[decision(field_edit())]), ()),
        (case(BLIND, ceiling=0, of=ANSWERED), ("quality",)),
        (case(BLIND, tried=[decision(field_edit())], of=ANSWERED), ("quality",)),
        (case(BLIND, ceiling=0, of=ANSWERED, tried=[refused("p", "blind"), refused("c", "blind")]), ()),
        (case(BLIND, of=ANSWERED, probes=[HELPS], tried=[decision(field_edit())]), ("quality",)),
    ],
)
def test_probes_are_wanted_only_where_the_rules_would_guess(built, kinds):
    assert wanted(built) == kinds
    if not kinds:
        rehearsing = rehearsal()
        assert probed(built, rehearsing) == ()
        assert rehearsing.rolled_out == 0


def test_a_blind_task_that_another_row_takes_first_is_not_probed():
    of = task("t", criterion("rare"), criterion("alpha", points=2))
    assert Symptoms(case(["alpha"] * 4, of=of)).missed
    assert wanted(case(["alpha"] * 4, of=of)) == ()


def test_without_rollouts_there_is_no_probe_and_the_rules_do_as_before():
    rehearsing = rehearsal()
    assert probe_all(rehearsing, "x", [case(BLIND)], 0) == {}
    assert rehearsing.rolled_out == 0
    found = RuleAttributor().attribute(case(BLIND))
    assert found is not None
    assert found.interface == "g"


def test_a_policy_that_follows_is_given_guidance():
    found = probed(case(BLIND), rehearsal())
    (hint,) = found
    assert (hint.kind, hint.helps, hint.criterion_ids) == ("full_hint", True, ("rare",))
    assert hint.before == 0
    assert hint.after is not None
    assert hint.after > 0.5
    assert hint.rollouts == len(set(hint.rollout_ids)) == 12
    after = RuleAttributor().attribute(case(BLIND, probes=found))
    assert after is not None
    assert (after.interface, after.probes) == ("g", found)


def test_a_policy_that_never_follows_is_not():
    hint, quality = probed(case(BLIND), rehearsal(guided=0.0))
    assert (hint.helps, quality.helps, quality.before) == (False, None, None)
    assert (quality.rollouts, quality.quality_calls) == (0, 0)
    assert "cannot tell" in quality.sentence


@pytest.mark.parametrize(("better", "fine", "interface"), [(True, True, "c"), (False, False, "p")])
def test_the_reference_tells_whether_the_responses_are_low_or_the_criteria_wrong(better, fine, interface):
    def quality(text):
        return 0.0 if (text == ANSWERED.reference) == better else 1.0

    built = case(["nothing"] * 4, of=ANSWERED)
    found = probed(built, rehearsal(guided=0.0, of=ANSWERED, quality=quality, flip_rate=0.0))
    assert [(p.kind, p.helps) for p in found] == [("full_hint", False), ("quality", fine)]
    assert found[1].before == float(better)
    assert (found[1].quality_calls, found[1].rollouts) == (6, 0)
    after = RuleAttributor().attribute(built.model_copy(update={"probes": found}))
    assert after is not None
    assert (after.pair_class, after.interface) == ("blind", interface)


def test_quality_alone_rolls_out_and_counts_its_own_rollouts():
    (quality,) = probed(case(BLIND, ceiling=0, of=ANSWERED), rehearsal(of=ANSWERED))
    assert (quality.kind, quality.rollouts, len(quality.rollout_ids), quality.quality_calls) == ("quality", 6, 6, 6)


def test_quality_that_is_off_is_not_asked():
    rehearsing = rehearsal(guided=0.0, of=ANSWERED)
    rehearsing.quality_source = "off"
    _, quality = probed(case(BLIND, of=ANSWERED), rehearsing)
    assert (quality.helps, quality.quality_calls) == (None, 0)


def test_unscored_rollouts_tell_nothing():
    rehearsing = rehearsal()
    rehearsing.grade = lambda requests: [q.rollouts for q in requests]
    hint, *_ = probed(case(BLIND), rehearsing)
    assert (hint.before, hint.after, hint.helps) == (None, None, None)
    after = RuleAttributor().attribute(case(BLIND, probes=[hint]))
    assert after is not None
    assert after.interface == "g", "what could not be told counts as not tried"


def test_all_cases_share_one_batch_of_each_kind():
    tasks = {i: ANSWERED.model_copy(update={"id": i}) for i in ("one", "two", "three")}
    cases = [case(BLIND, of=of) for of in tasks.values()] + [case(PASSING)]
    rehearsing = SimulatedRehearsal(tasks, RATES, guided=0.0)
    sizes: dict[str, list[int]] = {}

    def counting(name, original):
        def call(*args):
            sizes.setdefault(name, []).append(len(args[-1]))
            return original(*args)

        return call

    for name in ("roll_out", "grade", "order"):
        setattr(rehearsing, name, counting(name, getattr(rehearsing, name)))
    found = probe_all(rehearsing, "x", cases, 4)
    assert sizes == {"roll_out": [6], "grade": [6], "order": [3]}
    assert set(found) == set(tasks)
    for task_id, of_task in found.items():
        assert all(p.rollouts in (8, 0) for p in of_task)
        assert RuleAttributor().attribute(case(BLIND, of=tasks[task_id], probes=of_task)) is not None


def helps_in(seeds: int, rate: float, guided: float) -> int:
    built = case(BLIND)
    return sum(bool(probed(built, rehearsal({**RATES, "rare": rate}, guided, seed=s))[0].helps) for s in range(seeds))


@pytest.mark.parametrize(("rate", "most"), [(0.0, 0), (0.02, 35), (0.1, 79)])
def test_how_often_a_policy_that_ignores_hints_seems_to_follow(rate, most):
    """A policy that passes a single criterion at ``rate``, hinted or not, seems to follow in 0, 10.2 and 29.1 % of probes of six
    rollouts: that of 200 at most so many do holds with more than 99.9 %. Guidance for nothing is what the critic then refuses."""
    assert helps_in(200, rate, guided=rate) <= most


@pytest.mark.parametrize(("guided", "least"), [(0.3, 161), (0.9, 200)])
def test_how_often_a_policy_that_follows_is_recognised(guided, least):
    """88.2 % of probes recognise a hint that lifts a criterion from nothing to 30 %; of 200, 161 and more do with 99.9 %."""
    assert helps_in(200, 0.0, guided) >= least


LLM = Criterion(id="llm", text="Warns about grapefruit juice with statins", points=2)
LEVELS = Criterion(id="lev", text="Tone of the answer", points=1, kind="levels", levels={"0": "cold", "1": "kind"})
RULE = criterion("rule", phrase="see a doctor", text="Refers to somebody qualified")


def test_the_full_hint_states_all_that_is_wanted():
    text = full_hint([LLM, LEVELS, RULE])
    for words in (LLM.text, "Tone of the answer: kind", "Refers to somebody qualified: see a doctor"):
        assert words in text


@pytest.mark.parametrize("criteria", [[LLM], [LEVELS], [RULE], [RARE], [LLM, LEVELS, RULE, RARE]])
def test_no_probe_text_can_become_an_edit(criteria):
    of = task("t", *criteria, criterion("alpha"))
    field = GuidanceField(id="old", text="think", criterion_ids=())
    built = case(BLIND, of=task("t", RARE, criterion("alpha"))).model_copy(update={"task": of})
    built = built.model_copy(update={"entry": built.entry.model_copy(update={"rubric": of.rubric, "guidance": (field,)})})
    text = full_hint(criteria)
    for operation in (AddField(field=GuidanceField(id="new", text=text)), RewriteField(field_id="old", text=text)):
        edit = Edit(id="e", task_id="t", operation=operation, claim=Claim(pair_class="blind", reason="r"), proposer="x")
        with pytest.raises(Refused):
            precheck(edit, built, (), validate)


def test_a_probe_holds_no_text_of_the_hint():
    built = case(BLIND)
    found = probed(built, rehearsal(guided=0.0))
    assert found
    told = json.dumps([p.model_dump(mode="json", exclude={"criterion_ids"}) for p in found])
    assert "rare" not in told
    assert full_hint([RARE]) not in told


def test_the_hint_is_mounted_alone_and_the_entry_is_left_as_it_was():
    field = GuidanceField(id="f", text="beta", criterion_ids=("rare",))
    built = case(BLIND, guidance=(field,))
    rehearsing = rehearsal()
    asked = []
    original = rehearsing.roll_out
    rehearsing.roll_out = lambda tag, requests: asked.extend(requests) or original(tag, requests)
    probed(built, rehearsing)
    plain, hinted = asked
    assert (plain.guided, hinted.guided) == (False, True)
    assert [f.text for f in hinted.entry.guidance] == [full_hint([RARE])]
    assert built.entry.guidance == (field,)


def test_only_missed_criteria_are_hinted():
    of = task("t", RARE, criterion("alpha"), criterion("beta", points=-1))
    (hint,) = probed(case(BLIND, of=of), rehearsal(of=of))
    assert hint.criterion_ids == ("rare",)
