"""The chat proposer: several candidates, wrong ones dropped one by one with the reason, good ones typed and checked."""

import json

import pytest

from agents.chat import ChatFailure, parse_reply
from agents.chat_proposer import MOST_CANDIDATES, ChatProposer, ProposalReply, Proposals
from agents.checks import precheck
from agents.config import EvolverConfig
from memory.edit import INTERFACE_OF_OP, AddField, apply
from memory.errors import EditError
from memory.harness import GuidanceField
from tests.agents.cases import ATTRIBUTION, BLIND, Scripted, case, guided
from tests.builders import decision, field_edit
from training.reward.rules import validate

HINT = {"op": "add_field", "text": "think of fruit", "criterion_ids": ["rare"]}
POLITE = {"op": "create_criterion", "text": "Says so kindly", "points": 2}


def full(reply: dict) -> dict:
    return {"reason": "because", "claimed_class": "blind", **reply}


def answered(*replies: dict, interface="g", count=2, built=None, proposer=None) -> Proposals:
    attribution = ATTRIBUTION.model_copy(update={"interface": interface})
    proposer = proposer or ChatProposer(Scripted({}), "model")
    proposer.chat.reply = {"candidates": [full(r) for r in replies]}
    return proposer.propose(built or case(BLIND), attribution, "new", count)


def test_candidates_become_typed_edits_in_the_order_of_the_reply():
    first, second = answered({"op": "delete_criterion", "criterion_ids": ["alpha"]}, POLITE, interface="c")
    assert [first.operation.op, second.operation.op] == ["delete_criterion", "create_criterion"]
    assert [first.id, second.id] == ["newa", "newb"]
    assert second.operation.criterion.id == "newb"
    (edit,) = answered(HINT)
    assert edit.operation == AddField(field=GuidanceField(id="newa", text="think of fruit", criterion_ids=("rare",)))
    assert edit.evidence == ("v9-t",)
    assert edit.proposer == "model"


def test_nothing_worth_measuring_is_an_answer():
    assert answered() == []
    assert answered({"op": "none"}) == []
    assert [e.operation.op for e in answered({"op": "none"}, HINT)] == ["add_field"]


def test_one_candidate_without_a_list_is_understood():
    reply = parse_reply([json.dumps(full(HINT))], ProposalReply)
    assert [c.op for c in reply.candidates] == ["add_field"]


def test_no_more_than_asked_for_and_as_many_as_the_config_allows():
    many = [POLITE, {"op": "delete_criterion", "criterion_ids": ["rare"]}, {"op": "reprice_criterion", "criterion_ids": ["rare"]}]
    assert len(answered(*many, interface="c", count=1)) == 1
    limit = EvolverConfig.model_fields["proposals"].metadata[1].le
    assert limit == MOST_CANDIDATES


WRONG = [
    ({"op": "add_field"}, "add_field needs text"),
    ({"op": "add_field", "text": "  "}, "add_field needs text"),
    ({"op": "delete_criterion", "criterion_ids": ["rare"]}, "does not belong to the interface g"),
    ({"op": "add_field", "text": "x", "evidence_ids": ["made up"]}, "invented ids: made up"),
    ({"op": "add_field", "text": "x", "criterion_ids": ["nowhere"]}, "invented ids: nowhere"),
    ({"op": "rewrite_field", "text": "x"}, "needs field_id"),
    ({"op": "rewrite_field", "text": "x", "field_id": "gone"}, "invented ids: gone"),
    ({"op": "abolish_everything"}, "malformed candidate: op"),
    ({"op": "add_field", "text": "x" * 5000}, "malformed candidate: text"),
    ({"op": "add_field", "text": "x", "secondary": [{"op": "add_field"}]}, "malformed candidate: secondary.0.op"),
]
WRONG_CRITERIA = [
    ({"op": "create_criterion", "text": "x", "points": 0}, "points must be a non-zero"),
    ({"op": "create_criterion", "text": "x", "points": float("inf")}, "malformed candidate: points"),
    ({"op": "create_criterion", "text": "x"}, "needs points"),
    ({"op": "create_criterion", "text": "x", "points": 1, "rule_name": "r", "rule_args": "{"}, "not JSON"),
    ({"op": "create_criterion", "text": "x", "points": 1, "rule_name": "r", "rule_args": "[1]"}, "not a JSON object"),
    ({"op": "split_criterion", "criterion_ids": ["rare"]}, "needs parts"),
    ({"op": "split_criterion", "criterion_ids": ["rare"], "parts": [{"text": "a", "points": 1}]}, "criteria"),
    ({"op": "merge_criteria", "criterion_ids": ["rare"], "text": "x", "points": 1}, "criterion_ids"),
    ({"op": "delete_criterion", "criterion_ids": ["rare", "alpha"]}, "takes one criterion id"),
    ({"op": "reprice_criterion", "points": 1}, "needs criterion_ids"),
    ({**POLITE, "secondary": [{"op": "delete_criterion", "criterion_ids": ["gone"]}]}, "invented ids: gone"),
    ({**POLITE, "secondary": [{"op": "reword_criterion", "criterion_ids": ["rare"]}]}, "reword_criterion needs text"),
]


@pytest.mark.parametrize(("reply", "word", "interface"), [*((*w, "g") for w in WRONG), *((*w, "c") for w in WRONG_CRITERIA)])
def test_a_wrong_candidate_costs_only_itself(reply, word, interface):
    good = HINT if interface == "g" else {"op": "reword_criterion", "criterion_ids": ["alpha"], "text": "Says alpha"}
    proposer = ChatProposer(Scripted({}), "model")
    found = answered(reply, good, interface=interface, proposer=proposer)
    assert [e.operation.op for e in found] == [good["op"]]
    assert [e.id for e in found] == ["newa"]
    assert len(found.dropped) == sum(proposer.dropped.values()) == 1
    assert word in found.dropped[0]


@pytest.mark.parametrize(("reply", "word"), WRONG)
def test_a_reply_of_nothing_but_wrong_candidates_is_an_error_with_the_first_reason(reply, word):
    with pytest.raises(EditError, match=word):
        answered(reply, {"op": "rewrite_field"})


def test_a_second_candidate_of_one_kind_is_dropped():
    found = answered(HINT, {**HINT, "text": "another"})
    assert len(found) == 1
    assert "must differ in op" in found.dropped[0]


def test_a_reply_that_is_no_list_of_candidates_is_no_reply():
    with pytest.raises(ChatFailure, match="parse"):
        parse_reply(['{"candidates": "many"}'], ProposalReply)
    with pytest.raises(ChatFailure, match="parse"):
        parse_reply([json.dumps({"candidates": [full(HINT)] * (MOST_CANDIDATES + 1)})], ProposalReply)


REPLIES = {
    "raise_level": {"level": 2.0},
    "lower_level": {"level": 0.5},
    "retire_task": {},
    "rewrite_task": {"text": "Tell me about it. Mention fruit.", "direction": "easier"},
    "add_field": {"text": "think of fruit", "criterion_ids": ["rare"]},
    "rewrite_field": {"field_id": "f", "text": "think of fruit"},
    "retire_field": {"field_id": "f"},
    "create_criterion": {"text": "x", "points": -2, "rule_name": "repeats_sentence"},
    "reword_criterion": {
        "criterion_ids": ["rare"],
        "text": "Warns of it",
        "rule_name": "mentions_any",
        "rule_args": '{"phrases": ["beware"]}',
    },
    "reprice_criterion": {"criterion_ids": ["rare"], "points": 1},
    "merge_criteria": {"criterion_ids": ["rare", "alpha"], "text": "Says both", "points": 2},
    "split_criterion": {"criterion_ids": ["rare"], "parts": [{"text": "Is a", "points": 1}, {"text": "Is b", "points": 1}]},
    "delete_criterion": {"criterion_ids": ["alpha"]},
}


@pytest.mark.parametrize("op", INTERFACE_OF_OP)
def test_every_operation_can_be_proposed_and_passes_the_checks(op):
    built = guided(case(BLIND), "juice", 2, 3)
    (edit,) = answered({"op": op, **REPLIES[op]}, interface=INTERFACE_OF_OP[op], built=built)
    assert edit.operation.op == op
    precheck(edit, built, (), validate)


def test_secondary_criterion_operations_ride_along():
    (edit,) = answered(
        {
            **POLITE,
            "secondary": [
                {"op": "delete_criterion", "criterion_ids": ["alpha"]},
                {
                    "op": "split_criterion",
                    "criterion_ids": ["rare"],
                    "parts": [{"text": "Is a", "points": 1}, {"text": "Is b", "points": 1}],
                },
            ],
        },
        interface="c",
    )
    after = precheck(edit, case(BLIND), (), validate)
    assert [c.id for c in after.rubric] == ["newa", "newa-s2-1", "newa-s2-2"]
    assert apply(edit, case(BLIND).entry) == after


def test_an_edit_of_this_round_may_be_cited():
    tried = decision(field_edit("t"))
    (edit,) = answered({**HINT, "evidence_ids": ["e1", "v9-t"]}, built=case(BLIND, tried=[tried]))
    assert edit.evidence == ("e1", "v9-t")
    assert edit.revision_of == "e1"


def test_the_prompt_keeps_to_the_budget_and_says_how_many_are_wanted():
    proposer = ChatProposer(Scripted({}), "model", evidence_tokens=500)
    answered(HINT, count=1, built=case(["alpha beta " * 3000] * 4), proposer=proposer)
    _, text = proposer.chat.asked[0]
    assert len(text) <= 2000
    assert "At most 1 candidate," in text


def test_the_reason_is_written_before_the_choice():
    schema = ProposalReply.model_json_schema()
    assert list(schema["$defs"]["CandidateReply"]["properties"])[:2] == ["reason", "op"]
