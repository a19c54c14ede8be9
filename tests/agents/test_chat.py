"""Whatever an endpoint does, a call ends in one whole valid object or in a failure with the right reason, in time."""

import json
import logging
import subprocess
import sys
import threading
import time
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agents.chat import ChatConfig, ChatFailure, parse_reply
from agents.roles import open_chat
from memory.errors import ConfigError
from tests.fake_openai import FakeOpenAI, body, hang, mode_of, prompt_of, reply, reset, slow, status, trickle

KEY = "key-that-nobody-may-see"
GOOD = '{"reason": "clear", "verdict": "met"}'
VARIABLE = "HARNESSRL_TEST_KEY"


class Answer(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid")
    reason: str
    verdict: Literal["met", "not_met"]


@pytest.fixture
def ask(monkeypatch):
    """``ask(script, **settings)`` gives (value or failure, server, chat) of one call to a server that follows the script."""
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("agents.endpoint.BACKOFF", 0.01, raising=False)
    opened = []

    def call(script, system="be fair", user="judge {this} $x", **settings):
        server = FakeOpenAI(script).__enter__()
        chat = open_chat(config(server, **settings), "judge")
        opened.append((server, chat))
        try:
            return chat.complete(system, user, Answer), server, chat
        except ChatFailure as failure:
            return failure, server, chat

    yield call
    for server, chat in opened:
        chat.close()
        server.__exit__()


def config(server, **settings) -> ChatConfig:
    defaults = {"model": "fake", "base_url": server.url, "api_key_env": VARIABLE, "timeout": 20, "deadline": 30}
    return ChatConfig(**{**defaults, **settings})


def by_mode(**behaviours):
    return lambda request: behaviours[mode_of(request)]


# ---- replies that hold the object ----


def test_a_good_reply_gives_the_object_in_one_request(ask):
    value, server, chat = ask([reply(GOOD)])
    assert value == Answer(reason="clear", verdict="met")
    assert [mode_of(r) for r in server.requests] == ["json_schema"]
    shape = server.requests[0]["response_format"]["json_schema"]
    assert shape["strict"] is True
    assert shape["schema"]["properties"]["verdict"]["enum"] == ["met", "not_met"]
    assert list(shape["schema"]["properties"]) == ["reason", "verdict"]
    assert server.requests[0]["max_completion_tokens"] == 2048
    assert server.keys == [f"Bearer {KEY}"]
    assert chat.downgrade is None
    assert (chat.usage.calls, chat.usage.requests, chat.usage.prompt_tokens, chat.usage.completion_tokens) == (1, 1, 7, 5)
    assert chat.usage.seconds > 0
    assert not chat.usage.failures


def test_the_schema_is_strict_even_where_fields_have_defaults(ask):
    class Loose(BaseModel):
        note: str | None = None
        ids: list[str] = Field(default_factory=list)

    _, server, chat = ask([reply(GOOD), reply('{"note": null, "ids": []}')])
    assert chat.complete("s", "u", Loose) == Loose()
    shape = server.requests[1]["response_format"]["json_schema"]["schema"]
    assert shape["required"] == ["note", "ids"]
    assert shape["additionalProperties"] is False


@pytest.mark.parametrize(
    "text",
    [
        f"<think>it {{looks}} fine</think>\n```json\n{GOOD}\n```\nI hope this helps {{you}}.",
        f"it looks fine</think>{GOOD}",
        f"Sure! {GOOD}",
        f"  \n{GOOD}\n\n  ",
        '{"verdict": "met", "reason": "clear"} and again {"reason": "clear", "verdict": "met"}',
    ],
)
def test_think_blocks_fences_and_prose_are_tolerated(ask, text):
    value, server, _ = ask([reply(text)])
    assert value == Answer(reason="clear", verdict="met")
    assert len(server.requests) == 1


def test_a_raw_line_break_inside_a_text_is_tolerated():
    assert parse_reply(['{"reason": "two\nlines", "verdict": "met"}'], Answer).reason == "two\nlines"


def test_a_tag_inside_the_object_is_text():
    answer = parse_reply(['{"reason": "it says </think> twice</think>", "verdict": "not_met"}'], Answer)
    assert answer.reason == "it says </think> twice</think>"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "met",
        "[]",
        '{"reason": "clear", "verdict": "met"',  # cut
        '{"reason": "cut in the mid',
        '{"reason": "clear"}',
        '{"reason": "clear", "verdict": "probably"}',
        '{"reason": "clear", "verdict": "MET"}',
        '{"reason": "clear", "verdict": true}',
        '{"reason": "clear", "verdict": "met", "score": 1}',
        '{"reason": "clear", "verdict": "met", "verdict": "not_met"}',
        f'{GOOD} or rather {{"reason": "unclear", "verdict": "not_met"}}',
        f"<think>{GOOD}",
        f"<think>{GOOD}</think>",
        '{"reason": NaN, "verdict": "met"}',
        "[" * 100_000,
        '{"reason":' * 100_000,
        '{"' * 100_000,
        '{"a": 1, "a": 2}' * 10_000,
        f'{{"inner": {GOOD}, "cut',
    ],
)
def test_what_is_not_one_whole_valid_object_is_a_parse_failure(text):
    start = time.monotonic()
    with pytest.raises(ChatFailure) as caught:
        parse_reply([text], Answer)
    assert caught.value.reason == "parse"
    assert time.monotonic() - start < 5


def test_text_of_any_kind_arrives_unchanged(ask):
    text = 'braces {0} {x} $y ${z} %s \\ "quotes" \x00 émoji 🙂 <|im_end|>'
    value, server, _ = ask([reply(GOOD)], user=text + " \ud83d")
    assert isinstance(value, Answer)
    assert server.requests[0]["messages"][1] == {"role": "user", "content": text + " ?"}


# ---- how structure is asked for ----


@pytest.mark.parametrize("code", [400, 422, 501])
def test_a_refused_schema_is_found_once_and_remembered(ask, caplog, code):
    with caplog.at_level(logging.WARNING):
        value, server, chat = ask(by_mode(json_schema=status(code), function_calling=status(code), text=reply(GOOD)))
    assert value.verdict == "met"
    assert [mode_of(r) for r in server.requests] == ["json_schema", "function_calling", "text"]
    assert '"enum": ["met", "not_met"]' in prompt_of(server.requests[2])
    assert chat.complete("s", "u", Answer).verdict == "met"
    assert [mode_of(r) for r in server.requests[3:]] == ["text"]
    assert "text" in chat.downgrade
    assert "json_schema" in chat.downgrade
    assert [r.message for r in caplog.records if "json_schema" in r.message] == [chat.downgrade]


@pytest.mark.parametrize("ignored", [reply("The answer is: met."), reply(""), reply(None), reply('{"verdict": "met"}')])
def test_an_ignored_schema_leads_to_a_function_call(ask, ignored):
    value, server, chat = ask(by_mode(json_schema=ignored, function_calling=reply(None, call=GOOD)))
    assert value == Answer(reason="clear", verdict="met")
    assert server.requests[1]["tool_choice"] == {"type": "function", "function": {"name": "Answer"}}
    assert chat._modes[0] == "function_calling"


def test_an_ignored_tool_leads_to_text(ask):
    value, _, chat = ask(
        by_mode(json_schema=status(400), function_calling=reply(None, call='{"reason": "cu'), text=reply(f"```\n{GOOD}```"))
    )
    assert value.verdict == "met"
    assert chat._modes == ("text",)


def test_arguments_of_a_call_are_read_as_tolerantly_as_text(ask):
    value, _, _ = ask([reply(None, call=f"{GOOD} I hope this helps.")], structured="function_calling")
    assert value == Answer(reason="clear", verdict="met")


def test_a_500_that_names_the_schema_is_not_repeated(ask):
    value, server, _ = ask(by_mode(json_schema=status(500, "type not accepted in response_format"), function_calling=reply(GOOD)))
    assert value.verdict == "met"
    assert [mode_of(r) for r in server.requests] == ["json_schema", "function_calling"]


def test_a_bare_500_is_first_repeated_and_then_taken_for_a_lack(ask):
    value, server, _ = ask(by_mode(json_schema=status(500), function_calling=reply(GOOD)), retries=1)
    assert value.verdict == "met"
    assert [mode_of(r) for r in server.requests] == ["json_schema", "json_schema", "function_calling"]


def test_endless_whitespace_under_a_schema_leads_to_a_lower_mode(ask):
    value, server, _ = ask(by_mode(json_schema=reply("{" + " " * 900, finish="length"), function_calling=reply(GOOD)))
    assert value.verdict == "met"
    assert [(mode_of(r), r["max_completion_tokens"]) for r in server.requests] == [
        ("json_schema", 2048), ("json_schema", 4096), ("function_calling", 4096),
    ]  # fmt: skip


def test_an_endpoint_that_refuses_everything_is_not_downgraded(ask):
    failure, server, chat = ask([status(400, "unknown parameter")])
    assert failure.reason == "server"
    assert "unknown parameter" in failure.detail
    assert len(server.requests) == 3
    assert chat.downgrade is None
    assert len(chat._modes) == 3


def test_one_bad_reply_does_not_unseat_a_mode_that_has_worked(ask):
    _, server, chat = ask([reply(GOOD), reply("hm"), reply(GOOD)])
    assert chat.complete("s", "u", Answer).verdict == "met"
    assert {mode_of(r) for r in server.requests} == {"json_schema"}
    assert chat.downgrade is None


@pytest.mark.parametrize("mode", ["json_schema", "function_calling", "text"])
def test_a_configured_mode_is_the_only_one_used(ask, mode):
    failure, server, _ = ask([reply("no object")], structured=mode)
    assert failure.reason == "parse"
    assert [mode_of(r) for r in server.requests] == [mode] * 3


# ---- misbehaviour ----

CASES = {
    "cut": ([reply('{"reason": "cl', finish="length")], "length"),
    "cut thinking": ([reply("<think>so", finish="length")], "length"),
    "whole but cut": ([reply(GOOD, finish="length")], "length"),
    "empty": ([reply("")], "parse"),
    "null": ([reply(None)], "parse"),
    "prose": ([reply("The answer is met, 1.0 of 1.0.")], "parse"),
    "refusal": ([reply(None, refusal="I cannot judge this")], "refusal"),
    "content filter": ([reply("", finish="content_filter")], "refusal"),
    "429": ([status(429)], "rate_limit"),
    "429 with Retry-After": ([status(429, retry_after="0.01")], "rate_limit"),
    "500": ([status(500)], "server"),
    "503": ([status(503, retry_after="0.01")], "server"),
    "401": ([status(401, f"wrong key {KEY}")], "server"),
    "404": ([status(404, "no such model")], "server"),
    "400": ([status(400)], "server"),
    "context of vLLM": ([status(400, "This model's maximum context length is 4096 tokens.")], "length"),
    "context": ([status(400, "context_length_exceeded")], "length"),
    "reset": ([reset], "connection"),
    "html": ([body("<html>busy</html>", "text/html")], "server"),
    "not json": ([body("{")], "server"),
    "no choices": ([body('{"choices": []}')], "server"),
    "null choices": ([body('{"choices": null}')], "server"),
    "error in a 200": ([body('{"error": "overloaded"}')], "server"),
}


@pytest.mark.parametrize("structured", ["json_schema", "text", "auto"])
@pytest.mark.parametrize("case", CASES)
def test_misbehaviour_ends_in_its_reason(ask, case, structured):
    script, reason = CASES[case]
    failure, server, chat = ask(script, structured=structured, retries=1)
    assert isinstance(failure, ChatFailure)
    assert failure.reason == reason
    assert chat.usage.failures == {reason: 1}
    assert chat.usage.requests == len(server.requests) <= 8
    assert KEY not in failure.detail + str(failure) + repr(failure)
    assert KEY not in "".join(traceback.format_exception(failure))


@pytest.mark.parametrize("code", [401, 403, 404])
def test_what_waiting_cannot_mend_is_asked_once(ask, code):
    failure, server, _ = ask([status(code)])
    assert failure.reason == "server"
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hang, trickle, slow(30, reply(GOOD))])
def test_the_deadline_ends_every_wait(ask, behaviour):
    start = time.monotonic()
    failure, server, _ = ask([behaviour], timeout=0.4, deadline=1.0, retries=50)
    assert failure.reason == "timeout"
    assert time.monotonic() - start < 10
    assert 2 <= len(server.requests) <= 4


def test_one_attempt_may_not_outlive_the_deadline(ask):
    start = time.monotonic()
    failure, server, _ = ask([hang], timeout=60, deadline=0.5)
    assert failure.reason == "timeout"
    assert time.monotonic() - start < 10
    assert len(server.requests) == 1


@pytest.mark.parametrize("behaviour", [hang, trickle, reset, status(500), status(429), body("<p>")])
def test_a_passing_trouble_is_survived(ask, behaviour):
    value, server, chat = ask([behaviour, reply(GOOD)], timeout=1.0)
    assert value.verdict == "met"
    assert len(server.requests) == 2
    assert chat.downgrade is None
    assert not chat.usage.failures


def test_an_unreachable_endpoint_is_a_connection_failure(monkeypatch):
    monkeypatch.setenv(VARIABLE, KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with FakeOpenAI([reply(GOOD)]) as server:
        gone = config(server, retries=0)
    chat = open_chat(gone, "judge")
    with pytest.raises(ChatFailure) as caught:
        chat.complete("s", "u", Answer)
    chat.close()
    assert caught.value.reason == "connection"


def test_retry_after_is_waited_for(ask):
    start = time.monotonic()
    value, _, _ = ask([status(429, retry_after="1"), reply(GOOD)])
    assert value.verdict == "met"
    assert time.monotonic() - start >= 1


def test_retry_after_beyond_the_deadline_fails_without_waiting(ask):
    start = time.monotonic()
    failure, server, _ = ask([status(429, retry_after="3600")], deadline=30)
    assert failure.reason == "rate_limit"
    assert time.monotonic() - start < 15
    assert len(server.requests) == 1


def test_retry_after_is_read_as_seconds_or_date():
    from agents.endpoint import retry_after

    assert retry_after("2.5") == 2.5
    assert 50 < retry_after(format_datetime(datetime.now(UTC) + timedelta(minutes=1), usegmt=True)) <= 60
    past = format_datetime(datetime.now(UTC) - timedelta(minutes=1), usegmt=True)
    assert [retry_after(text) for text in (None, "", "soon", "-3", "nan", "inf", past)] == [0.0] * 7


def test_a_cut_reply_is_asked_for_once_more_with_twice_the_budget(ask):
    value, server, _ = ask([reply('{"rea', finish="length"), reply(GOOD)], max_tokens=100)
    assert value.verdict == "met"
    assert [r["max_completion_tokens"] for r in server.requests] == [100, 200]
    assert [mode_of(r) for r in server.requests] == ["json_schema"] * 2


def test_a_doubled_budget_the_endpoint_refuses_is_still_a_cut_reply(ask):
    failure, _, _ = ask([reply("{", finish="length"), status(400, "max_tokens too large")])
    assert failure.reason == "length"


def test_a_mode_refused_after_a_cut_reply_gives_way_to_the_next(ask):
    value, _, _ = ask(by_mode(json_schema=reply("prose", finish="length"), function_calling=status(400), text=reply(GOOD)))
    assert value.verdict == "met"


def test_tokens_of_failed_calls_are_counted(ask):
    _, _, chat = ask([reply("{", finish="length")], structured="json_schema")
    assert (chat.usage.requests, chat.usage.prompt_tokens, chat.usage.completion_tokens) == (2, 14, 10)


# ---- threads, closing, secrets, configuration ----


def test_calls_from_many_threads_are_in_flight_together(ask):
    _, server, chat = ask([reply(GOOD), slow(0.3, reply(GOOD))])
    values = []
    threads = [threading.Thread(target=lambda: values.append(chat.complete("s", "u", Answer))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(values) == 8
    assert server.most_at_once > 1
    assert chat.usage.calls == 9


def test_two_models_at_one_endpoint_do_not_share_connections(ask):
    _, server, first = ask([reply(GOOD)])
    second = open_chat(first.config, "proposer")
    for chat in (second, first, second):
        assert chat.complete("s", "u", Answer).verdict == "met"
    assert not {id(c._client) for c in first._clients} & {id(c._client) for c in second._clients}
    second.close()
    assert first.complete("s", "u", Answer).verdict == "met"
    assert len(server.requests) == 5


def test_closing_cancels_what_is_in_flight(ask):
    _, server, chat = ask([reply(GOOD), hang])
    failures = []

    def call():
        try:
            chat.complete("s", "u", Answer)
        except ChatFailure as failure:
            failures.append(failure.reason)

    thread = threading.Thread(target=call)
    thread.start()
    while len(server.requests) < 2:
        time.sleep(0.01)
    chat.close()
    thread.join(timeout=10)
    call()
    assert failures == ["cancelled", "cancelled"]
    assert chat.usage.failures == {"cancelled": 2}


def test_the_key_is_in_no_representation_and_no_log(ask, caplog):
    with caplog.at_level(logging.DEBUG):
        failure, _, chat = ask([status(500, f"echo {KEY}")])
    seen = [
        repr(chat),
        str(chat),
        repr(chat.config),
        repr(chat._clients),
        repr(failure),
        caplog.text,
        json.dumps(chat.usage.failures),
    ]
    assert failure.reason == "server"
    assert "***" in failure.detail
    assert not [text for text in seen if KEY in text]


@pytest.mark.parametrize("value", [None, "", "  "])
def test_a_missing_key_is_one_sentence(monkeypatch, value):
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(ConfigError, match=rf"evolver\.proposer\.api_key_env.*{VARIABLE}.*any value"):
        open_chat(ChatConfig(model="m", api_key_env=VARIABLE), "evolver.proposer")


def test_a_key_in_the_wrong_place_is_not_repeated():
    with pytest.raises(ConfigError) as caught:
        open_chat(ChatConfig(model="m", api_key_env="sk-12345"), "judge")
    assert "judge.api_key_env" in str(caught.value)
    assert "12345" not in str(caught.value)


def test_a_key_no_header_can_carry_is_refused_without_showing_it(monkeypatch):
    monkeypatch.setenv(VARIABLE, "first\nsecond")
    with pytest.raises(ConfigError) as caught:
        open_chat(ChatConfig(model="m", api_key_env=VARIABLE), "judge")
    assert "second" not in str(caught.value)


def test_a_model_alone_selects_the_provider():
    assert ChatConfig().provider == "heuristic"
    assert ChatConfig(model="m").provider == "openai"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"provider": "openai"}, "needs 'model'"),
        ({"provider": "heuristic", "model": "m"}, "set provider to 'openai'"),
        ({"model": "m", "base_url": "localhost:8000"}, "http"),
        ({"model": "m", "base_url": "http://user:secret@host/v1"}, "user name or password"),
        ({"modell": "m"}, "modell"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_a_wrong_configuration_says_what_is_wrong(settings, words):
    with pytest.raises(ValidationError, match=words):
        ChatConfig(**settings)


def test_importing_the_seam_loads_no_client():
    code = "import sys, agents.chat; sys.exit(bool({'openai', 'langchain_openai', 'langchain_core'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
