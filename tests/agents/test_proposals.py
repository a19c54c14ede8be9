"""Attribution: the table of rules, and the chat-backed role."""

import pytest

from agents.attribution import ChatAttributor, InventedIds, RuleAttributor
from tests.agents.cases import BLIND, PASSING, Scripted, case
from tests.builders import criterion, decision, field_edit, task


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (case(BLIND), ("blind", "g")),
        (case(BLIND, ceiling=0), ("blind", "p")),
        (case(["alpha", "alpha", "beta", "nothing"], [0, 0, 1, 1], of=task()), ("spurious", "c")),
        (case(["nothing"] * 4, ceiling=0), ("blind", "p")),
        (case(PASSING, [1, 1, 1, 1]), ("saturated", "p")),
        (case(PASSING, [1, 2, 3, 4]), ("saturated", "c")),
    ],
)
def test_the_table_of_rules(built, expected):
    found = RuleAttributor().attribute(built)
    assert found is not None
    assert (found.pair_class, found.interface) == expected
    assert found.evidence == ("v9-t",)
    assert found.reason


def test_healthy_tasks_are_left_alone():
    of = task("t", criterion("alpha"), criterion("beta"))
    assert RuleAttributor().attribute(case(["alpha", "beta", "nothing", "alpha beta"], [1, 1, 0, 2], of=of)) is None


def test_guidance_tried_in_vain_gives_way_to_sampling():
    found = RuleAttributor().attribute(case(["nothing"] * 4, decisions=[decision(field_edit("t"))]))
    assert found is not None
    assert found.interface == "p"


def test_the_chat_attributor_overrules_with_evidence_and_the_disagreement_is_recorded():
    reply = {"reason": "hopeless", "pair_class": "blind", "interface": "p", "criterion_ids": ["rare"], "evidence_ids": ["v9-t"]}
    found = ChatAttributor(Scripted(reply), "model").attribute(case(BLIND))
    assert found is not None
    assert (found.interface, found.author) == ("p", "model")
    assert "the rules say: blind, interface g" in found.reason


@pytest.mark.parametrize("wrong", [{"criterion_ids": ["invented"]}, {"evidence_ids": ["invented"]}])
def test_invented_ids_are_refused(wrong):
    reply = {"reason": "x", "pair_class": "blind", "interface": "g", "criterion_ids": [], "evidence_ids": []} | wrong
    with pytest.raises(InventedIds, match="invented"):
        ChatAttributor(Scripted(reply), "model").attribute(case(BLIND))
