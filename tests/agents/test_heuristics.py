"""The heuristic proposer: every operation from evidence, different in kind, never what was refused, always fit to be measured."""

import pytest

from agents.checks import precheck
from agents.heuristics import HeuristicProposer
from agents.heuristics.criteria import parts_of
from agents.heuristics.evidence import cue_texts, cue_words
from agents.heuristics.thresholds import moved
from memory.edit import AddField, CreateCriterion, SetLevel, apply
from memory.harness import Harness
from memory.memory import Neighbour
from memory.task import Criterion, Rule
from tests.agents.cases import ATTRIBUTION, BLIND, PASSING, RARE, TASK, asking, case, guided, judged_by, llm
from tests.builders import criterion, decision, field_edit
from training.reward.rules import validate

SEPARATED = ["Rest well. Alpha.", "Alpha.", "Rest well. Alpha.", "Alpha."]
REPEATING = ["Alpha is good. Alpha is good.", "Alpha is good.", "Alpha is good. Alpha is good.", "Beta."]


def ruled(criterion_id: str, text: str, name: str, points: float = 1.0, **args) -> Criterion:
    return Criterion(id=criterion_id, text=text, points=points, kind="rule", rule=Rule(name=name, args=args))


def proposed(built, interface, pair_class="spurious", ids=("rare",), count=1):
    attribution = ATTRIBUTION.model_copy(update={"interface": interface, "pair_class": pair_class, "criterion_ids": ids})
    return HeuristicProposer().propose(built, attribution, "new", count)


def offered(built, interface, pair_class, ids=("rare",)) -> dict:
    """Operation name -> the edit of that kind that is offered."""
    return {e.operation.op: e for e in proposed(built, interface, pair_class, ids, count=20)}


LONG = ruled("length", "Is of 1 sentence or more", "sentence_count", min=1)
LENGTHS = ["One.", "One. Two.", "One. Two. Three.", "One. Two. Three. Four."]
BOTH = llm("both", "Warns about grapefruit juice and alcohol", points=2)
HINTED = guided(case(["nothing", "alpha", "beware of grapefruit juice. alpha.", "take care of grapefruit juice"]), "juice", 2, 3)
FAILED = guided(case(BLIND, of=TASK), "juice", 2, 3)

EVERY = {
    "add_field": lambda: offered(case(BLIND), "g", "blind"),
    "rewrite_field": lambda: offered(FAILED, "g", "blind"),
    "retire_field": lambda: offered(HINTED, "g", "saturated"),
    "lower_level": lambda: offered(case(PASSING), "p", "saturated"),
    "raise_level": lambda: offered(
        case(BLIND, of=asking(criterion("alpha"), criterion("beta")), entry=Harness().of(TASK).model_copy(update={"level": 0.5})),
        "p",
        "saturated",
        (),
    ),
    "retire_task": lambda: offered(case(PASSING, entry=Harness().of(TASK).model_copy(update={"level": 0.25})), "p", "saturated"),
    "rewrite_task": lambda: offered(case(BLIND), "p", "blind"),
    "create_criterion": lambda: offered(case(SEPARATED, [1, 0, 1, 0]), "c", "saturated", ("alpha",)),
    "reword_criterion": lambda: offered(case(LENGTHS, [0, 1, 2, 3], of=asking(LONG, RARE)), "c", "saturated", ("length",)),
    "reprice_criterion": lambda: offered(case(PASSING), "c", "saturated"),
    "delete_criterion": lambda: offered(case(BLIND), "c", "spurious", ("alpha",)),
    "merge_criteria": lambda: offered(
        judged_by(
            case(["x"] * 4, of=asking(llm("one", "Is polite"), llm("two", "Greets kindly"))),
            {"one": [True, False, True, False], "two": [True, False, True, False]},
        ),
        "c",
        "spurious",
        ("one",),
    ),
    "split_criterion": lambda: offered(
        case(["Avoid grapefruit juice.", "Avoid alcohol.", "Avoid grapefruit juice.", "x"], of=asking(BOTH, RARE)),
        "c",
        "blind",
        ("both",),
    ),
}


@pytest.mark.parametrize("op", EVERY)
def test_every_operation_is_offered_from_evidence(op):
    found = EVERY[op]()
    assert op in found, list(found)


@pytest.mark.parametrize("op", EVERY)
def test_candidates_differ_in_kind_and_have_ids_of_their_own(op):
    edits = list(EVERY[op]().values())
    assert [e.id for e in edits] == [f"new{letter}" for letter in "abcdefghijkl"[: len(edits)]]
    assert len({e.operation.op for e in edits}) == len(edits)


@pytest.mark.parametrize(
    ("interface", "pair_class", "built"),
    [
        ("g", "blind", case(BLIND)),
        ("g", "blind", FAILED),
        ("g", "saturated", HINTED),
        ("c", "spurious", case(REPEATING, [0, 1, 0, 1])),
        ("c", "saturated", case(SEPARATED, [1, 0, 1, 0])),
        ("c", "blind", case(SEPARATED, [1, 0, 1, 0])),
        ("p", "blind", case(BLIND)),
        ("p", "blind", HINTED),
        ("p", "saturated", case(PASSING)),
    ],
)
def test_whatever_was_tried_the_next_is_new_and_passes_every_check(interface, pair_class, built):
    """Propose, reject, propose again until nothing is left: it ends, and no edit comes twice."""
    seen: list = []
    while edits := proposed(built.model_copy(update={"tried": tuple(map(decision, seen))}), interface, pair_class, count=3):
        for edit in edits:
            precheck(edit, built, (), validate)
            assert edit.content() not in [e.content() for e in seen]
        seen += edits
        assert len(seen) < 60
    assert seen


def test_an_edit_that_was_held_back_is_offered_again():
    first = proposed(case(BLIND), "g", "blind")[0]
    refused = decision(first)
    held = refused.model_copy(update={"outcome": "inconclusive", "sentence": "Held back: another edit was confirmed first."})
    again = proposed(case(BLIND, decisions=[held]), "g", "blind")[0]
    other = proposed(case(BLIND, decisions=[refused]), "g", "blind")
    assert again.content() == first.content()
    assert not other or other[0].content() != first.content()


# ---- guidance ----


def test_cue_words_point_without_quoting():
    assert cue_words(case(BLIND), RARE) == ["grapefruit", "beware", "juice"]


def test_cues_carry_no_numbers_and_too_few_words_to_give_a_criterion_away():
    five = llm("c", "Explains potassium rises during two kidney failures")
    words = cue_texts(case(BLIND, of=asking(five)), five)
    assert all(len(w.split()) <= 3 for w in words)
    assert "two" not in " ".join(words)


def test_chinese_criteria_give_chinese_cues():
    zh = llm("c", "提醒用户避免阳光直射")
    built = case(["你好"] * 4, of=asking(zh, prompt="晒伤了怎么办？"))
    built = judged_by(built, {"c": [False] * 4})
    (edit,) = proposed(built, "g", "blind", ("c",))
    assert edit.operation.field.text == "阳光直射"
    rewrite = offered(built, "p", "blind", ("c",))["rewrite_task"]
    assert rewrite.operation.messages[-1].content == "晒伤了怎么办？请提到阳光直射。"


def test_guidance_that_worked_elsewhere_comes_first_unless_its_gain_has_gone():
    other = decision(field_edit("o", "juice grapefruit"), "accepted")

    def first(hindsight):
        near = Neighbour(decision=other, similarity=0.9, hindsight=hindsight)
        return proposed(case(BLIND, neighbours=[near]), "g", "blind")[0].operation.field.text

    assert first(None) == first(0.2) == "juice grapefruit"
    assert first(-0.1) != "juice grapefruit"


def test_a_field_that_does_not_help_is_rewritten_and_one_that_helps_is_kept():
    assert offered(FAILED, "g", "blind")["rewrite_field"].operation.text != "juice"
    assert "rewrite_field" not in offered(HINTED, "g", "blind")


def test_a_rewritten_field_may_quote_what_the_policy_said_where_it_passed():
    texts = ["nothing", "alpha", "Please beware of grapefruit juice. alpha.", "none", "none", "none"]
    built = guided(case(texts), "juice", 2, 3, 4, 5)
    text = offered(built, "g", "blind")["rewrite_field"].operation.text
    assert text == "Please beware of grapefruit juice."


# ---- criteria ----


def test_repetition_that_q_dislikes_is_punished():
    (edit,) = proposed(case(REPEATING, [0, 1, 0, 1]), "c")
    assert isinstance(edit.operation, CreateCriterion)
    assert edit.operation.criterion.points < 0
    assert edit.operation.criterion.rule == Rule(name="repeats_sentence")


def test_what_separates_the_better_answers_becomes_a_criterion():
    (edit,) = proposed(case(SEPARATED, [1, 0, 1, 0]), "c", "saturated", ("alpha",))
    assert edit.operation.criterion.rule.args == {"phrases": ["Rest well"]}
    assert edit.operation.criterion.points > 0


def test_free_text_is_told_apart_by_words():
    texts = ["Keep hydrated.", "Go away now.", "Stay hydrated please.", "Leave it.", "Being hydrated matters.", "Wait."]
    edit = offered(case(texts, [1, 0, 1, 0, 1, 0]), "c", "saturated", ("alpha",))["create_criterion"]
    assert edit.operation.criterion.rule.args == {"phrases": ["hydrated"]}


@pytest.mark.parametrize(
    ("asked", "texts", "quality", "argument", "expected"),
    [
        (LONG, LENGTHS, [0, 1, 2, 3], "min", 3),
        (ruled("c", "Stays below 70 words", "word_count", max=70), LENGTHS, [3, 2, 1, 0], "max", 2),
        (
            ruled("c", "Uses 3 of a, b, c", "mentions_several", phrases=["red", "blue", "green"], min=3),
            ["red blue green", "red blue", "red", "grey"],
            [1, 1, 0, 0],
            "min",
            2,
        ),
        (
            ruled("c", "Repeats 4 times", "repeats_sentence", points=-1, n=4),
            ["A. A.", "A. B.", "C. C.", "D. E."],
            [0, 1, 0, 1],
            "n",
            2,
        ),
    ],
)
def test_a_threshold_moves_to_where_responses_separate_as_q_orders_them(asked, texts, quality, argument, expected):
    text, rule = moved(case(texts, quality, of=asking(asked, RARE)), asked)
    assert rule.args[argument] == expected
    assert str(expected) in text
    validate(rule)


def test_a_threshold_stays_where_q_says_nothing_or_the_contrary():
    assert moved(case(LENGTHS, of=asking(LONG, RARE)), LONG) is None
    assert moved(case(LENGTHS, [3, 2, 1, 0], of=asking(LONG, RARE)), LONG) is None


def test_an_llm_criterion_is_qualified_once_in_its_own_language():
    for text, word in (("Is polite", "detail"), ("语气礼貌", "具体")):
        of = asking(llm("c", text))
        edit = offered(judged_by(case(["x"] * 4, of=of), {"c": [True] * 4}), "c", "saturated", ("c",))["reword_criterion"]
        assert edit.operation.text.startswith(text)
        assert word in edit.operation.text
        entry = apply(edit, Harness().of(of))
        again = offered(judged_by(case(["x"] * 4, of=of, entry=entry), {"c": [True] * 4}), "c", "saturated", ("c",))
        assert "reword_criterion" not in again


def test_a_compound_is_split_into_whole_statements_of_equal_points():
    edit = EVERY["split_criterion"]()["split_criterion"]
    assert [c.text for c in edit.operation.criteria] == ["Warns about grapefruit juice", "Warns about alcohol"]
    assert [c.points for c in edit.operation.criteria] == [1, 1]
    assert [c.id for c in edit.operation.criteria] == [f"{edit.id}-1", f"{edit.id}-2"]
    assert [p.text for p in parts_of(llm("c", "提醒避免阳光直射，并建议多喝水"))] == ["提醒避免阳光直射", "建议多喝水"]
    assert parts_of(llm("c", "Is clear")) == []


def test_a_compound_whose_parts_no_response_tells_apart_stays_whole():
    texts = ["Avoid grapefruit juice and alcohol."] * 4
    assert "split_criterion" not in offered(case(texts, of=asking(BOTH, RARE)), "c", "blind", ("both",))


def test_criteria_with_the_same_verdicts_are_merged_and_count_once():
    one, two = ruled("a", "At least 2 words", "word_count", 3, min=2), ruled("b", "At least 3 words", "word_count", 2, min=3)
    built = case(["a", "a b c", "a", "a b c"], of=asking(one, two, RARE))
    edit = offered(built, "c", "spurious", ("a",))["merge_criteria"]
    assert edit.operation.criterion.rule == two.rule
    assert edit.operation.criterion.points == 3
    apart = case(["a", "a b", "a", "a b c"], of=asking(one, two, RARE))
    assert "merge_criteria" not in offered(apart, "c", "spurious", ("a",))


def test_what_separates_may_come_in_exchange_for_what_does_not():
    built = case(SEPARATED, [1, 0, 1, 0])
    seen = []
    while edits := proposed(built.model_copy(update={"tried": tuple(map(decision, seen))}), "c", "spurious", ("alpha",), count=3):
        seen += edits
    exchange = next(e for e in seen if e.secondary)
    assert [o.op for o in (exchange.operation, *exchange.secondary)] == ["create_criterion", "delete_criterion"]
    assert exchange.secondary[0].criterion_id == "alpha"


def test_repricing_ends_at_the_scale_of_the_users_rubric():
    entry = Harness().of(TASK)
    for _ in range(9):
        edit = offered(case(PASSING, entry=entry), "c", "saturated", ("rare",)).get("reprice_criterion")
        if edit is None:
            break
        entry = apply(edit, entry)
    assert entry.criterion("rare").points >= 1 / 16


# ---- sampling ----


def test_levels_move_one_step_and_end_in_retirement():
    entry = Harness().of(TASK)
    for level, expected in ((1.0, 0.5), (0.5, 0.25)):
        (edit,) = proposed(case(PASSING, entry=entry.model_copy(update={"level": level})), "p", "saturated")
        assert edit.operation == SetLevel(op="lower_level", level=expected)
    (edit,) = proposed(case(PASSING, entry=entry.model_copy(update={"level": 0.25})), "p", "saturated")
    assert edit.operation.op == "retire_task"


@pytest.mark.parametrize(
    ("built", "pair_class", "direction", "word"),
    [
        (case(BLIND), "blind", "easier", "grapefruit"),
        (HINTED, "blind", "clearer", "grapefruit"),
        (case(SEPARATED, [1, 0, 1, 0]), "saturated", "harder", "rest"),
        (case(["One. Two. Three. Four."] * 4), "saturated", "harder", "at most 2 sentences"),
    ],
)
def test_a_task_becomes_easier_clearer_or_harder_by_what_the_visit_shows(built, pair_class, direction, word):
    edit = offered(built, "p", pair_class)["rewrite_task"]
    assert edit.operation.direction == direction
    assert edit.operation.messages[-1].content.startswith(TASK.messages[-1].content)
    assert word in edit.operation.messages[-1].content


def test_the_first_choices_are_those_that_promise_most():
    assert isinstance(proposed(case(BLIND), "g", "blind")[0].operation, AddField)
    assert proposed(case(BLIND), "c", "spurious", ("alpha",))[0].operation.op == "delete_criterion"
    assert proposed(case(PASSING), "p", "saturated")[0].operation.op == "lower_level"
