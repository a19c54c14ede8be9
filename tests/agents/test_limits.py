"""What the models of a run share: limits hold over all of them, a dead endpoint is asked no more, the budget is a hard stop."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from agents.chat import ChatConfig, ChatFailure
from agents.limits import BURST, Bucket, BudgetSettings, BudgetSpent, LimitSettings, Traffic
from agents.roles import open_chat
from tests.fake_openai import FakeOpenAI, reply, reset, slow, status

GOOD = reply('{"word": "yes"}')


class Answer(BaseModel):
    word: str


@pytest.fixture
def shared(monkeypatch):
    """``shared(script, roles, limits, budget)`` opens a model per role at one server, over one ``Traffic``."""
    monkeypatch.setenv("HARNESSRL_TEST_KEY", "any")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("agents.endpoint.BACKOFF", 0.01)
    opened = []

    def build(script, roles=("judge",), limits=None, budget=None, **settings):
        server = FakeOpenAI(script).__enter__()
        traffic = Traffic(limits, budget)
        defaults = {"model": "m", "base_url": server.url, "api_key_env": "HARNESSRL_TEST_KEY", "timeout": 20, "deadline": 30}
        chats = [open_chat(ChatConfig(**{**defaults, **settings}), role, traffic) for role in roles]
        opened.append((server, traffic, chats))
        return server, traffic, chats

    yield build
    for server, traffic, chats in opened:
        for chat in chats:
            chat.close()
        traffic.close()
        server.__exit__()


def asked(chat) -> str:
    try:
        return chat.complete("s", "u", Answer).word
    except ChatFailure as failure:
        return failure.reason


def asked_together(chats) -> list[str]:
    found = [""] * len(chats)

    def ask(k):
        found[k] = asked(chats[k])

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(len(chats))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


# ---- limits ----


def test_concurrency_is_one_limit_over_all_roles(shared):
    server, _, chats = shared([slow(0.1, GOOD)], ("judge", "quality.chat"), LimitSettings(concurrency=3))
    assert asked_together(chats * 6) == ["yes"] * 12
    assert server.most_at_once == 3


def test_waiting_for_a_turn_is_no_part_of_the_deadline(shared):
    _, _, (chat,) = shared([slow(0.4, GOOD)], limits=LimitSettings(concurrency=1), deadline=1.0, timeout=1.0)
    assert asked_together([chat] * 6) == ["yes"] * 6


@given(st.lists(st.tuples(st.floats(0, 3), st.floats(0.1, 50)), min_size=1, max_size=40), st.floats(1, 600))
def test_a_bucket_never_lets_more_pass_than_its_rate(requests, per_minute):
    bucket, now, sent = Bucket(per_minute), 1000.0, []
    for pause, amount in requests:
        now += pause
        sent.append((now + bucket.take(amount, now), amount))
    for k, (start, _) in enumerate(sent):
        for last in range(k, len(sent)):
            end, passed = sent[last][0], sum(amount for _, amount in sent[k:last])
            assert passed <= (end - start + BURST) * per_minute / 60 + 1e-6


def test_a_bucket_counts_what_was_really_used():
    bucket = Bucket(60)
    assert bucket.take(1, 100.0) == 0
    bucket.settle(9)
    assert bucket.take(1, 100.0) == pytest.approx(9)


def test_requests_wait_for_their_rate(shared):
    _, _, (chat,) = shared([GOOD], limits=LimitSettings(requests_per_minute=240))
    start = time.monotonic()
    assert asked_together([chat] * 8) == ["yes"] * 8
    assert time.monotonic() - start >= 0.7  # four at once, the others at four a second


def test_tokens_wait_for_their_rate(shared):
    _, _, (chat,) = shared([GOOD], limits=LimitSettings(tokens_per_minute=720))
    start = time.monotonic()
    assert [asked(chat) for _ in range(3)] == ["yes"] * 3  # 12 tokens each, as the server counts them
    assert time.monotonic() - start >= 0.9


def test_processes_share_the_limits():
    whole = LimitSettings(concurrency=9, requests_per_minute=100)
    assert whole.share(4) == LimitSettings(concurrency=2, requests_per_minute=25)
    assert whole.share(20).concurrency == 1


@pytest.mark.parametrize("wrong", [{"concurrency": 0}, {"requests_per_minute": 0}, {"rate": 1}])
def test_a_limit_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValidationError):
        LimitSettings(**wrong)


# ---- endpoints that are down ----


@pytest.mark.parametrize(("failing", "reason"), [(reset, "connection"), (status(500), "server")])
def test_an_endpoint_that_fails_again_and_again_is_asked_no_more(shared, monkeypatch, failing, reason):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 5)
    server, _, (chat,) = shared([failing], retries=0, structured="text")
    assert [asked(chat) for _ in range(9)] == [reason] * 9
    assert len(server.requests) == 5
    assert chat.down


def test_calls_that_wait_for_their_turn_when_an_endpoint_goes_down_are_not_made(shared, monkeypatch):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 3)
    server, _, (chat,) = shared([reset], limits=LimitSettings(concurrency=1), retries=0)
    assert asked_together([chat] * 8) == ["connection"] * 8
    assert len(server.requests) == 3


@pytest.mark.parametrize("alive", [status(429), status(404), reply("no object"), reply("{", finish="length")])
def test_an_endpoint_that_answers_is_not_down(shared, monkeypatch, alive):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 2)
    _, _, (chat,) = shared([alive], retries=0)
    for _ in range(4):
        asked(chat)
    assert not chat.down


def test_a_lack_that_shows_as_a_500_does_not_break_the_search_for_a_mode(shared, monkeypatch):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 2)
    no_schema = status(500, "type not accepted in response_format")
    _, _, (chat,) = shared(lambda body: no_schema if "response_format" in body else GOOD)
    assert asked_together([chat] * 6) == ["yes"] * 6


def test_one_success_between_failures_keeps_an_endpoint_up(shared, monkeypatch):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 3)
    _, _, (chat,) = shared([reset, reset, GOOD, reset, reset, GOOD], retries=0)
    assert [asked(chat) for _ in range(6)] == ["connection", "connection", "yes"] * 2


def test_one_probe_finds_out_that_an_endpoint_is_back_and_the_others_wait_for_it(shared, monkeypatch):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 3)
    monkeypatch.setattr("agents.limits.COOLDOWN", 0.3)
    server, _, (first, second) = shared([reset, reset, reset, slow(0.3, GOOD)], ("judge", "quality.chat"), retries=0)
    assert [asked(first) for _ in range(4)] == ["connection"] * 4
    assert second.down, "an endpoint is known to all roles"
    time.sleep(0.35)
    assert asked_together([first, second] * 4) == ["yes"] * 8
    assert len(server.requests) == 3 + 8


def test_a_probe_that_fails_keeps_the_endpoint_down(shared, monkeypatch):
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 3)
    monkeypatch.setattr("agents.limits.COOLDOWN", 0.3)
    server, _, (chat,) = shared([reset], retries=0)
    for _ in range(3):
        asked(chat)
    time.sleep(0.35)
    assert asked_together([chat] * 6) == ["connection"] * 6
    assert len(server.requests) == 4


# ---- the budget ----


def test_a_spent_budget_lets_no_further_request_out(shared):
    server, traffic, chats = shared([GOOD], ("judge", "quality.chat"), budget=BudgetSettings(tokens=25))
    assert [asked(chat) for chat in (*chats, chats[0])] == ["yes"] * 3  # 12 tokens each: the third passes the bound
    with pytest.raises(BudgetSpent, match=r"budget\.tokens=25 is used up \(36 spent\)"):
        asked(chats[1])
    assert len(server.requests) == 3
    assert traffic.spent() == (0.0, 36)


def test_money_is_counted_by_the_price_and_with_what_was_spent_elsewhere(shared):
    _, traffic, (chat,) = shared([GOOD], budget=BudgetSettings(usd=0.02), price={"prompt": 1000, "completion": 200})
    asked(chat)
    assert chat.usage.usd == pytest.approx(7 * 1000e-6 + 5 * 200e-6)
    asked(chat)
    traffic.elsewhere = (0.01, 0)
    with pytest.raises(BudgetSpent, match=r"budget\.usd"):
        asked(chat)
