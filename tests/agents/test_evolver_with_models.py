"""The evolver with models behind a real OpenAI-protocol server: good replies make edits, bad ones make counted no-ops."""

import json

import pytest

from agents.chat import ChatConfig
from agents.roles import open_attributor, open_proposer
from tests.agents.test_evolver import CONTEXT, evolver, memory, outcome_of
from tests.fake_openai import FakeOpenAI, hang, prompt_of, reply, reset, status

__all__ = ["memory"]  # a fixture

ATTRIBUTED = {
    "reason": "rare is never said",
    "pair_class": "blind",
    "interface": "g",
    "criterion_ids": ["rare"],
    "evidence_ids": [],
}
PROPOSED = {"reason": "hint", "op": "add_field", "text": "rare", "criterion_ids": ["rare"], "claimed_class": "blind"}


def by_role(attributor, proposer):
    """A server that plays both roles, told apart by what they are asked."""
    return lambda body: attributor if "which class is the trouble" in prompt_of(body) else proposer


def good(answer: dict):
    return reply(json.dumps(answer))


@pytest.fixture
def ask(memory, monkeypatch):
    monkeypatch.setenv("FAKE_KEY", "sk-not-shown")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("agents.endpoint.BACKOFF", 0.01)

    def run(attributor, proposer):
        with FakeOpenAI(by_role(attributor, proposer)) as server:
            settings = {
                "model": "m",
                "base_url": server.url,
                "api_key_env": "FAKE_KEY",
                "timeout": 0.5,
                "deadline": 1.5,
                "retries": 1,
            }
            roles = open_attributor(ChatConfig(**settings)), open_proposer(ChatConfig(**settings))
            try:
                return evolver(memory, attributor=roles[0], proposer=roles[1]).run(CONTEXT, ["blind"], "t")
            finally:
                for role in roles:
                    role.chat.close()

    return run


def test_good_replies_become_a_measured_edit(ask):
    result = ask(good(ATTRIBUTED), good(PROPOSED))
    case = outcome_of(result, "blind")
    assert case.status == "accepted"
    assert case.decisions[-1].edit.proposer == "m"
    assert case.decisions[-1].measurement is not None
    assert result.entries["blind"].guidance[0].text == "rare"


BAD = [
    (reply('{"reason": "cut'), "parse"),
    (reply("I would rather talk about something else."), "parse"),
    (reply('{"reason": "cut', finish="length"), "length"),
    (reply(None, refusal="I cannot help with that."), "refusal"),
    (status(500), "server"),
    (status(429), "rate_limit"),
    (hang, "timeout"),
    (reset, "connection"),
    (good({**ATTRIBUTED, "criterion_ids": ["invented"]}), "ids"),
]


@pytest.mark.parametrize(("behaviour", "reason"), BAD, ids=lambda v: v if isinstance(v, str) else "")
def test_a_misbehaving_attributor_is_a_counted_no_op(ask, behaviour, reason):
    result = ask(behaviour, good(PROPOSED))
    case = outcome_of(result, "blind")
    assert case.status == "failed"
    assert case.failure is not None
    assert case.failure.startswith(reason)
    assert result.entries == {}


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [*BAD[:4], (good({**PROPOSED, "op": "delete_criterion"}), "edit"), (good({**PROPOSED, "text": ""}), "edit")],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_misbehaving_proposer_is_a_counted_no_op(ask, behaviour, reason):
    result = ask(good(ATTRIBUTED), behaviour)
    case = outcome_of(result, "blind")
    assert case.status == "failed"
    assert case.failure is not None
    assert case.failure.startswith(reason)
    assert result.entries == {}
