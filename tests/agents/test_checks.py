"""Checks that cost no rollout: what is refused, with which sentence, and what is let through."""

import pytest

from agents.checks import Refused, points_range, precheck
from memory.decision import Probe
from memory.edit import (
    AddField,
    CreateCriterion,
    DeleteCriterion,
    MergeCriteria,
    RepriceCriterion,
    RetireField,
    RetireTask,
    RewordCriterion,
    RewriteField,
    RewriteTask,
    SetLevel,
    SplitCriterion,
)
from memory.harness import GuidanceField, Harness
from memory.task import Criterion, Message, Rule
from tests.agents.cases import BLIND, TASK, asking, case, edit_with, guided, llm
from tests.builders import criterion, decision, field_edit
from training.reward.rules import validate


def refusal(operation, *secondary, built=None, replaced=(), **fields) -> str:
    with pytest.raises(Refused) as error:
        precheck(edit_with(operation, *secondary, **fields), built or case(BLIND), replaced, validate)
    return str(error.value)


def passes(operation, *secondary, built=None, replaced=()) -> bool:
    precheck(edit_with(operation, *secondary), built or case(BLIND), replaced, validate)
    return True


def field(text: str, *criterion_ids: str) -> AddField:
    return AddField(field=GuidanceField(id="new", text=text, criterion_ids=criterion_ids))


def create(text: str, points: float = 1, rule: Rule | None = None) -> CreateCriterion:
    return CreateCriterion(criterion=Criterion(id="n", text=text, points=points, kind="rule" if rule else "llm", rule=rule))


def rewrite(text: str, *before: Message, direction="easier") -> RewriteTask:
    return RewriteTask(direction=direction, messages=(*before, Message(role="user", content=text)))


def mentions(*phrases: str) -> Rule:
    return Rule(name="mentions_any", args={"phrases": list(phrases)})


# ---- what changes nothing, ids, ranges ----


def test_an_edit_must_change_something():
    assert "changes nothing" in refusal(RewriteTask(direction="easier", messages=TASK.messages))
    assert "changes nothing" in refusal(RepriceCriterion(criterion_id="rare", points=3))
    assert "changes nothing" in refusal(
        RewordCriterion(criterion_id="rare", text="warns about: GRAPEFRUIT juice", rule=TASK.rubric[0].rule)
    )


def test_an_edit_of_another_task_is_refused():
    other = edit_with(field("Say what to avoid.")).model_copy(update={"task_id": "another"})
    with pytest.raises(Refused, match="is for task 'another'"):
        precheck(other, case(BLIND), (), validate)


@pytest.mark.parametrize("change", [SetLevel(op="lower_level", level=0.5), RetireTask()])
def test_criteria_do_not_ride_on_a_level_change_which_would_not_measure_them(change):
    assert "takes no secondary operations" in refusal(change, create("Names a study"))


def test_a_criterion_that_no_rollout_meets_is_not_deleted_unless_it_cannot_be_met():
    assert "'rare' is the user's and no rollout meets it yet" in refusal(DeleteCriterion(criterion_id="rare"))
    assert "'rare' is the user's" in refusal(
        RepriceCriterion(criterion_id="alpha", points=2), DeleteCriterion(criterion_id="rare")
    )
    assert passes(DeleteCriterion(criterion_id="alpha"))
    for helps, refused in ((False, False), (True, True), (None, True)):
        probe = Probe(kind="full_hint", criterion_ids=("rare",), helps=helps, sentence="x")
        told = case(BLIND).model_copy(update={"probes": (probe,)})
        if refused:
            assert "'rare' is the user's" in refusal(DeleteCriterion(criterion_id="rare"), built=told)
        else:
            assert passes(DeleteCriterion(criterion_id="rare"), built=told)


def test_unknown_ids_are_refused_wherever_they_stand():
    assert "unknown criterion 'gone'" in refusal(DeleteCriterion(criterion_id="gone"))
    assert "unknown criterion 'gone'" in refusal(field("fruit", "gone"))
    assert "unknown guidance field 'gone'" in refusal(RetireField(field_id="gone"))
    assert "unknown criterion 'gone'" in refusal(create("Is polite"), DeleteCriterion(criterion_id="gone"))
    claimed = edit_with(field("fruit"))
    claimed = claimed.model_copy(update={"claim": claimed.claim.model_copy(update={"criterion_ids": ("gone",)})})
    with pytest.raises(Refused, match="unknown criterion 'gone'"):
        precheck(claimed, case(BLIND), (), validate)


def test_points_stay_in_the_scale_of_the_users_rubric():
    least, most = points_range(TASK)
    assert (least, most) == (1 / 16, 8)
    for points in (most, -most, least):
        assert passes(create("Is polite", points))
    for points in (most * 1.01, -most * 1.01, least / 2):
        assert "out of range" in refusal(create("Is polite", points))
    assert "out of range" in refusal(RepriceCriterion(criterion_id="alpha", points=100))
    assert "out of range" in refusal(DeleteCriterion(criterion_id="rare"), create("Is polite", 100))
    heavy = Harness().of(TASK).model_copy(update={"rubric": (*TASK.rubric, criterion("beta", points=8))})
    assert "out of range" in refusal(create("Is polite", 9), built=case(BLIND, entry=heavy)), "the user's rubric is the measure"


def test_a_criterion_keeps_its_sign():
    assert "keeps the sign" in refusal(RepriceCriterion(criterion_id="rare", points=-3))


def test_rules_and_levels_must_exist_and_a_positive_criterion_must_stay():
    assert "mentions_everything" in refusal(create("x y", rule=Rule(name="mentions_everything", args={})))
    assert "level 0.7 is none of" in refusal(SetLevel(op="lower_level", level=0.7))
    negative = asking(criterion("alpha"), criterion("bad", points=-1))
    assert "positive points" in refusal(DeleteCriterion(criterion_id="alpha"), built=case(["alpha", "bad"], of=negative))
    assert "schedule allows 0" in refusal(field("hint"), built=case(BLIND, ceiling=0))


# ---- what was tried ----


def test_a_near_duplicate_of_a_rejected_edit_is_refused_but_not_of_one_held_back():
    refused = decision(field_edit("t"))
    assert "near-duplicate of the rejected edit 'e1'" in refusal(field("hint words"), built=case(BLIND, decisions=[refused]))
    assert "near-duplicate" in refusal(field("words, HINT"), built=case(BLIND, tried=[refused]))
    held = refused.model_copy(update={"outcome": "inconclusive", "sentence": "Held back: a neighbour was confirmed first."})
    assert passes(field("hint words"), built=case(BLIND, decisions=[held]))
    unsure = held.model_copy(update={"sentence": "Inconclusive: neither."})
    assert "near-duplicate" in refusal(field("hint words"), built=case(BLIND, decisions=[unsure]))


def test_the_same_hint_is_a_duplicate_whether_added_or_rewritten():
    built = guided(case(BLIND, tried=[decision(field_edit("t"))]), "juice", 2, 3)
    assert "near-duplicate" in refusal(RewriteField(field_id="f", text="hint words"), built=built)


def test_a_number_a_negation_a_sign_or_a_check_makes_another_criterion():
    words = "Explains to the reader in plain words that the treatment takes time and rest and much patience and"
    tried = decision(edit_with(create(f"{words} 3 weeks"), edit_id="old"))
    assert "near-duplicate" in refusal(create(f"{words} weeks 3"), built=case(BLIND, tried=[tried]))
    assert passes(create(f"{words} 5 weeks"), built=case(BLIND, tried=[tried]))
    assert passes(create(f"{words} not 3 weeks"), built=case(BLIND, tried=[tried]))
    assert passes(create(f"{words} 3 weeks", -1), built=case(BLIND, tried=[tried]))
    assert passes(create(f"{words} 3 weeks", rule=mentions("three")), built=case(BLIND, tried=[tried]))


def test_a_rejected_edit_with_another_secondary_is_another_edit():
    tried = decision(edit_with(create("Is polite"), edit_id="old"))
    built = case(BLIND, tried=[tried])
    assert "near-duplicate" in refusal(create("Is polite"), built=built)
    assert passes(create("Is polite"), DeleteCriterion(criterion_id="alpha"), built=built)


def test_a_level_refused_at_an_earlier_visit_may_be_asked_for_again():
    lower = decision(edit_with(SetLevel(op="lower_level", level=0.5), edit_id="old"))
    assert passes(SetLevel(op="lower_level", level=0.5), built=case(BLIND, decisions=[lower]))
    assert "near-duplicate" in refusal(SetLevel(op="lower_level", level=0.5), built=case(BLIND, tried=[lower]))


OLD = Harness().of(TASK)
TWO_FIELDS = tuple(GuidanceField(id=i, text=f"hint {i}") for i in ("one", "other"))
REVERSALS = {
    "level": ({"level": 0.5}, SetLevel(op="raise_level", level=1.0)),
    "field": ({"guidance": TWO_FIELDS}, RetireField(field_id="one")),
    "criterion": ({"rubric": (*TASK.rubric, llm("new", "Is polite"))}, DeleteCriterion(criterion_id="new")),
    "points": (
        {"rubric": (TASK.rubric[0].model_copy(update={"points": 1}), TASK.rubric[1])},
        RepriceCriterion(criterion_id="rare", points=3),
    ),
    "text": (
        {"messages": (Message(role="user", content="Tell me about it. Be brief."),)},
        RewriteTask(direction="harder", messages=TASK.messages),
    ),
}


@pytest.mark.parametrize("part", REVERSALS)
@pytest.mark.parametrize("reverses", [None, "earlier"])
def test_undoing_a_recent_change_is_refused_also_as_a_declared_reversal(part, reverses):
    changed, back = REVERSALS[part]
    built = case(BLIND, entry=OLD.model_copy(update=changed))
    assert "undoes a change" in refusal(back, built=built, replaced=[OLD], reverses=reverses)
    assert passes(back, built=built), "an older change may be undone"


def test_a_reversal_is_found_among_secondary_operations_and_behind_other_changes():
    changed = OLD.model_copy(update={"rubric": (*TASK.rubric, llm("new", "Is polite")), "level": 0.5})
    built = case(BLIND, entry=changed)
    assert "undoes a change" in refusal(field("fruit"), DeleteCriterion(criterion_id="new"), built=built, replaced=[OLD])
    assert "undoes a change" in refusal(SetLevel(op="raise_level", level=1.0), built=built, replaced=[OLD])
    reworded = RewordCriterion(criterion_id="new", text="Is polite and warm")
    assert passes(reworded, built=built, replaced=[OLD]), "to go on is not to go back"


# ---- what guidance may not say ----


@pytest.mark.parametrize(
    "text", ["say it 3 times", "give three reasons", "mention it twice", "说出三个原因", "写满百分之五十", "第二步"]
)
def test_guidance_carries_no_numbers_in_digits_or_words(text):
    assert "numbers" in refusal(field(text))


@pytest.mark.parametrize("text", ["mind vitamin B12", "name one of the fruits", "一般来说要小心"])
def test_what_only_looks_like_a_number_is_let_through(text):
    assert passes(field(text))


@pytest.mark.parametrize(
    ("criterion_text", "hint"),
    [
        ("Explains clearly that potassium rises during kidney failure", "potassium rises kidney failure explains clearly"),
        ("Warns about grapefruit juice", "a good answer warns about grapefruit juice"),
        ("明确提醒患者避免阳光直射并及时补充水分", "记得提醒患者避免阳光直射，及时补充水分"),
    ],
)
def test_guidance_gives_no_criterion_away(criterion_text, hint):
    of = asking(criterion("alpha", text=criterion_text))
    assert "gives away the text of criterion 'alpha'" in refusal(field(hint), built=case(["alpha", "x"], of=of))
    gone = Harness().of(of).model_copy(update={"rubric": (llm("beta", "Is polite"),)})
    assert "gives away" in refusal(field(hint), built=case(["alpha", "x"], of=of, entry=gone)), "c_0 stays secret too"
    assert passes(field("potassium"), built=case(["alpha", "x"], of=of))
    assert passes(field("注意防晒"), built=case(["alpha", "x"], of=of))


def test_guidance_may_quote_what_the_policy_said_itself():
    of = asking(criterion("alpha", text="Explains clearly that potassium rises during kidney failure"))
    own = "Potassium rises during kidney failure, clearly."
    hint = f"You know: {own} Say so."
    assert "gives away" in refusal(field(own), built=case(["alpha", "x"], of=of))
    assert passes(field(own), built=case([f"Well. {own}", "x"], of=of))
    assert passes(field(hint.split(": ")[1]), built=case([f"Well. {own}", "x"], of=of))


def test_guidance_does_not_speak_of_the_grading_unless_the_task_does():
    assert "grading" in refusal(field("the rubric wants fruit"))
    about = asking(criterion("alpha"), prompt="Write a grading rubric for my class.")
    assert passes(field("a rubric has rows"), built=case(["alpha", "x"], of=about))


def test_a_field_that_says_what_another_says_is_refused():
    assert "says this already" in refusal(field("JUICE"), built=guided(case(BLIND), "juice", 2, 3))


# ---- what criteria may not say ----


@pytest.mark.parametrize(
    "text", ["Answers as hinted", "Follows the hint", "Uses the guidance", "按照提示作答", "包含提示中的内容"]
)
def test_a_criterion_does_not_name_the_guidance(text):
    assert "must not name the guidance" in refusal(create(text))
    parts = (llm("n-1", text), llm("n-2", "Is polite"))
    assert "must not name the guidance" in refusal(SplitCriterion(criterion_id="rare", criteria=parts))
    assert "must not name the guidance" in refusal(field("fruit"), create(text))


def test_a_word_that_the_task_uses_itself_is_its_subject():
    of = asking(criterion("alpha"), prompt="Give me guidance on my diet.")
    assert passes(create("Gives guidance that fits the diet"), built=case(["alpha", "x"], of=of))
    assert passes(create("提示患者及时就医"))


def test_a_criterion_does_not_repeat_a_mounted_field():
    built = guided(case(BLIND), "think of tropical fruit salad", 2, 3)
    assert "repeats the guidance field 'f'" in refusal(create("Says to think of tropical fruit salad"), built=built)
    assert passes(create("Is polite"), built=built)


def test_what_a_criterion_repeated_before_it_may_repeat_when_reworded():
    built = guided(case(BLIND), "beware grapefruit juice", 2, 3)
    reworded = RewordCriterion(criterion_id="rare", text="Warns against grapefruit juice", rule=mentions("beware of the juice"))
    assert passes(reworded, built=built)


@pytest.mark.parametrize(
    ("reference", "quote", "own"),
    [
        (
            "You should take the tablets with water in the morning and avoid grapefruit juice for the whole week.",
            "Says to take the tablets with water in the morning",
            "Says when the tablets are best taken",
        ),
        ("请在早晨用温水送服药片，并且整周避免饮用西柚汁。", "说明在早晨用温水送服药片", "说明何时服药"),
    ],
)
def test_a_criterion_does_not_quote_the_reference(reference, quote, own):
    built = case(["alpha", "x"], of=asking(criterion("alpha"), reference=reference))
    assert "quotes the task's reference" in refusal(create(quote), built=built)
    hidden = create("Says it", rule=mentions("water", quote))
    assert "quotes the task's reference" in refusal(hidden, built=built), "nor do the phrases of its rule"
    assert passes(create(own), built=built)


def test_the_users_own_criteria_and_text_may_come_back_whatever_they_say():
    own = llm("own", "Says as hinted to take the tablets with water in the morning")
    of = asking(own, criterion("alpha"), reference="You should take the tablets with water in the morning.", prompt=ASKED)
    entry = (
        Harness()
        .of(of)
        .model_copy(update={"rubric": of.rubric[1:], "messages": (Message(role="user", content=f"{ASKED} Mention lentils."),)})
    )
    built = case(["alpha", "x"], of=of, entry=entry)
    assert passes(CreateCriterion(criterion=own), built=built)
    assert passes(RewriteTask(direction="harder", messages=of.messages), built=built)


def test_what_is_asked_already_is_not_asked_again():
    assert "'rare' asks for this already" in refusal(create("Says so", rule=TASK.rubric[0].rule))
    of = asking(criterion("alpha"), llm("polite", "Is polite and warm"))
    assert "'polite' asks for this already" in refusal(create("is warm and polite"), built=case(["alpha", "x"], of=of))
    twins = (llm("n-1", "Is kind"), llm("n-2", "Is kind"))
    assert "asks for this already" in refusal(SplitCriterion(criterion_id="rare", criteria=twins))
    assert passes(create("is warm and polite"), DeleteCriterion(criterion_id="polite"), built=case(["polite", "x"], of=of))
    merged = MergeCriteria(criterion_ids=("alpha", "polite"), criterion=llm("n", "Is polite and warm"))
    assert passes(merged, built=case(["alpha", "x"], of=of)), "a merged criterion may say what one of its parents said"


# ---- what a rewritten task may not change ----

ASKED = "List five cheap vegetarian dinners for busy parents, without nuts."
TURNS = asking(criterion("alpha", text="Explains clearly why lentils keep children full"), prompt=ASKED, system="You are a cook.")
SYSTEM = TURNS.messages[0]


def rewriting(text: str, *before: Message, entry=None) -> str:
    return refusal(rewrite(text, *(before or (SYSTEM,))), built=case(["alpha", "x"], of=TURNS, entry=entry))


def test_a_rewrite_keeps_what_is_asked():
    assert "keeps" in rewriting("Tell me a story about dragons, without five nuts.")
    assert "lost five" in rewriting(ASKED.replace("five ", ""))
    assert "lost without" in rewriting(ASKED.replace("without", "with"))
    assert "another script" in rewriting("请列出五种适合忙碌父母的便宜素食晚餐，不含坚果。")
    assert "empty" in rewriting("  ")
    assert "characters" in rewriting(ASKED + " Please." * 60)
    assert "last message alone" in rewriting(ASKED + " Thanks.", Message(role="system", content="You are a poet."))
    assert "last message alone" in rewriting(ASKED + " Thanks.", SYSTEM, Message(role="assistant", content="Yes?"))


def test_a_rewrite_gives_nothing_away_and_does_not_speak_of_the_grading():
    assert "gives away the text of criterion 'alpha'" in rewriting(f"{ASKED} Explain clearly why lentils keep children full.")
    assert "grading" in rewriting(f"{ASKED} A grader reads it.")
    assert "guidance" in rewriting(f"{ASKED} Follow the hint.")


def test_a_rewrite_may_name_a_point_and_add_a_limit():
    built = case(["alpha", "x"], of=TURNS)
    assert passes(rewrite(f"{ASKED} Mention lentils.", SYSTEM), built=built)
    assert passes(rewrite(f"{ASKED} Answer in at most 3 sentences.", SYSTEM, direction="harder"), built=built)
    chinese = asking(criterion("alpha"), prompt="晒伤了怎么办？请简单说明。")
    assert passes(rewrite("晒伤了怎么办？请简单说明，并提到防晒霜。"), built=case(["alpha", "x"], of=chinese))
    assert "keeps" in refusal(rewrite("如何做一道好吃的红烧肉？"), built=case(["alpha", "x"], of=chinese))


def test_rewrites_are_held_to_the_users_text_and_cannot_drift():
    """Each step keeps most of the step before; the user's text is lost all the same, and that is seen."""
    steps = [
        "List five cheap vegetarian dinners for busy people, without nuts.",
        "List five cheap dinners for people, without nuts.",
        "List five dinners, without nuts.",
    ]
    entry = Harness().of(TURNS)
    outcomes = []
    for text in steps:
        messages = (SYSTEM, Message(role="user", content=text))
        try:
            precheck(edit_with(rewrite(text, SYSTEM)), case(["alpha", "x"], of=TURNS, entry=entry), (), validate)
            outcomes.append("passes")
        except Refused as refused:
            outcomes.append(str(refused))
        entry = entry.model_copy(update={"messages": messages})
    assert outcomes[0] == "passes"
    assert "of the words of the user's text" in outcomes[-1]
