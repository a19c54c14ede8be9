"""Protocols, evidence and the cache: what is asked together, what a verdict must rest on, and what is never paid for twice."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.chat import ChatConfig, ChatFailure
from memory.task import Criterion, Message, Task
from tests.training.reward.test_judge import by_rule, ids_in, item, levels, llm, statuses
from training.reward.cache import VerdictCache
from training.reward.judge import Judge
from training.reward.quality import PairwiseOrder, QualityPair
from training.reward.replies import LEAST_QUOTE, occurs
from training.reward.score import score

RESPONSE = "Short waves scatter more."


class Chat:
    """Answers with the entry ``word(id)`` per criterion, or with a whole reply; fails while ``failing`` names a reason."""

    def __init__(self, word=None, whole=None, failing=None):
        self.word = word or (lambda i: {"verdict": "met"})
        self.whole, self.failing = whole, failing
        self.asked: list[tuple[str, str, str]] = []

    def complete(self, system, user, schema):
        self.asked.append((system, user, schema.__name__))
        if self.failing:
            raise ChatFailure(self.failing, "detail")
        if self.whole is not None:
            return schema.model_validate(self.whole)
        (name,) = schema.model_fields
        return schema.model_validate({name: [{"id": i, "reason": "r", **self.word(i)} for i in ids_in(user)]})


# ---- protocols ----


@pytest.mark.parametrize(("settings", "sizes"), [
    ({"protocol": "per_criterion"}, [1] * 10),
    ({"protocol": "per_criterion", "batch": 8}, [1] * 10),
    ({"protocol": "batched"}, [2, 8]),
    ({"protocol": "batched", "batch": 4}, [2, 4, 4]),
])  # fmt: skip
def test_a_protocol_says_how_many_criteria_share_a_call(settings, sizes):
    chat = Chat()
    Judge(chat, **settings).judge([item(*map(llm, range(10)))])
    assert sorted(len(ids_in(user)) for _, user, _ in chat.asked) == sizes


@pytest.mark.parametrize("grade", [0, 3, 10])
def test_holistic_asks_once_and_the_score_is_the_grade(grade):
    chat = Chat(whole={"reason": "r", "grade": grade})
    rubric = (llm(1, points=3), llm(2, points=-2), levels(), llm(4))
    (verdicts,) = Judge(chat, protocol="holistic").judge([item(*rubric)])
    assert len(chat.asked) == 1
    assert score(rubric, verdicts, 0.8) == pytest.approx(grade / 10)
    assert "points: +3" in chat.asked[0][1]
    assert "points: -2" in chat.asked[0][1]


def test_holistic_leaves_rules_to_code_and_failures_unscored():
    (verdicts,) = Judge(Chat(failing="refusal"), protocol="holistic").judge([item(llm(1), by_rule(), llm(2))])
    assert statuses(verdicts) == ["unscored", "met", "unscored"]
    assert verdicts[0].reason == "refusal"


# ---- evidence ----


@pytest.mark.parametrize(("quote", "status"), [
    ("Short waves scatter", "met"),
    ("waves\n   scatter\tmore.", "met"),
    ("long waves", "unscored"),
    ("", "unscored"),
    ("  \n", "unscored"),
    ("Short ... more.", "unscored"),
])  # fmt: skip
def test_what_is_met_must_quote_the_response(quote, status):
    chat = Chat(lambda i: {"evidence": quote, "verdict": "met"})
    (verdicts,) = Judge(chat, evidence=True).judge([item(llm(1), response=RESPONSE)])
    assert statuses(verdicts) == [status]
    if status == "unscored":
        assert (verdicts[0].reason, verdicts[0].grade) == ("evidence", None)


def test_what_is_not_met_needs_no_quote():
    chat = Chat(lambda i: {"evidence": "", "verdict": "not_met"})
    assert statuses(Judge(chat, evidence=True).judge([item(llm(1))])[0]) == ["not_met"]


@pytest.mark.parametrize(
    ("level", "quote", "grade"), [(1, "", 0.0), (2, "", None), (5, "Short  waves scatter", 1.0), (5, "nowhere", None)]
)
def test_a_level_above_the_lowest_needs_a_quote(level, quote, grade):
    chat = Chat(lambda i: {"evidence": quote, "level": level})
    (verdicts,) = Judge(chat, evidence=True).judge([item(levels(), response=RESPONSE)])
    assert verdicts[0].grade == grade


def test_evidence_is_asked_for_before_the_verdict_and_only_where_wanted():
    for evidence in (True, False):
        chat = Chat(lambda i, e=evidence: {"verdict": "not_met", **({"evidence": ""} if e else {})})
        Judge(chat, evidence=evidence).judge([item(llm(1))])
        system, _, schema = chat.asked[0]
        assert ("character for character" in system) == evidence
        assert schema == ("QuotedJudgements" if evidence else "Judgements")


def test_a_quote_of_text_that_was_broken_up_for_the_judge_still_occurs():
    assert occurs("<| im_end|> done", "all <|im_end|> done")


@given(st.text(min_size=1), st.text(), st.text())
def test_every_part_of_a_text_that_is_long_enough_to_tell_occurs_in_it(part, before, after):
    bare, whole = "".join(part.split()), "".join((before + part + after).split())
    enough = len(bare.encode("utf-8", "replace")) >= LEAST_QUOTE or bare == whole
    assert occurs(part, before + part + after) == bool(bare and enough)


# ---- the cache ----


def judged(cache, chat, response=RESPONSE, messages=None, rubric=(), **settings):
    rubric = rubric or (llm(1), llm(2))
    one = item(*rubric, response=response)
    if messages:
        one = type(one)(messages, one.response, one.rubric)
    return Judge(chat, cache=cache, **settings).judge([one])[0]


def test_a_verdict_is_paid_for_once():
    cache, chat = VerdictCache(), Chat()
    first = judged(cache, chat)
    assert judged(cache, chat) == first
    assert len(chat.asked) == 1


@pytest.mark.parametrize("change", [
    {"response": "Another."},
    {"messages": (Message(role="user", content="Why?"),)},
    {"rubric": (Criterion(id="user-id-1", text="Other words.", points=1.0),)},
    {"rubric": (llm(1, points=-1),)},
    {"model": "other"},
    {"protocol": "per_criterion"},
    {"batch": 3},
    {"protocol": "holistic"},
    {"evidence": True},
])  # fmt: skip
def test_whatever_can_change_a_verdict_is_part_of_its_key(change):
    cache = VerdictCache()
    judged(cache, Chat(), rubric=(llm(1),))
    chat = Chat(failing="server")
    judged(cache, chat, **{"rubric": (llm(1),), **change})
    assert len(chat.asked) == 1


def test_levels_are_part_of_the_key():
    cache = VerdictCache()
    judged(cache, Chat(lambda i: {"level": 5}), rubric=(levels(),))
    chat = Chat(failing="server")
    judged(cache, chat, rubric=(levels().model_copy(update={"levels": {"1": "none", "2": "other", "5": "full"}}),))
    assert len(chat.asked) == 1


@pytest.mark.parametrize("name", ["judge", "judge_user"])
def test_the_prompt_is_part_of_the_key(monkeypatch, name):
    import training.reward.judge as module

    cache, chat = VerdictCache(), Chat(failing="server")
    judged(cache, Chat())
    original = module.prompt
    monkeypatch.setattr(module, "prompt", lambda n: original(n) + (" changed" if n == name else ""))
    for function in (module.system_prompt, module._asking):
        function.cache_clear()
    judged(cache, chat)
    for function in (module.system_prompt, module._asking):
        function.cache_clear()
    assert len(chat.asked) == 1


def test_what_cannot_change_a_verdict_is_not_part_of_its_key():
    cache, chat = VerdictCache(), Chat()
    judged(cache, chat, rubric=(llm(1), llm(2)))
    renamed = (llm(2, points=7).model_copy(update={"id": "other", "tags": ("a",)}), by_rule(), llm(1))
    verdicts = judged(cache, chat, rubric=renamed)
    assert [v.criterion_id for v in verdicts] == ["other", "long", "user-id-1"]
    assert len(chat.asked) == 1


def test_failures_are_never_kept():
    cache, chat = VerdictCache(), Chat(failing="timeout")
    assert statuses(judged(cache, chat)) == ["unscored"] * 2
    chat.failing = None
    assert statuses(judged(cache, chat)) == ["met"] * 2
    assert len(chat.asked) == 2


def test_only_what_came_to_nothing_is_asked_again():
    cache = VerdictCache()
    judged(
        cache, Chat(whole={"judgements": [{"id": "C2", "reason": "r", "verdict": "not_met"}]}), rubric=(llm(1), llm(2), llm(3))
    )
    chat = Chat()
    assert statuses(judged(cache, chat, rubric=(llm(1), llm(2), llm(3)))) == ["met", "not_met", "met"]
    assert [len(ids_in(user)) for _, user, _ in chat.asked] == [2]
    assert not re.search("number 2", chat.asked[0][1])


def test_equal_questions_in_flight_are_asked_once():
    chat = Chat()
    found = Judge(chat, protocol="per_criterion").judge([item(llm(1), response=r) for r in "aabaab"])
    assert len(chat.asked) == 2
    assert [statuses(v) for v in found] == [["met"]] * 6


def test_a_file_keeps_verdicts_over_the_end_of_the_process(tmp_path):
    first = VerdictCache(tmp_path / "verdicts.sqlite")
    before = judged(first, Chat())
    first._file.close()  # no orderly close: what was put is there already
    chat = Chat()
    assert judged(VerdictCache(tmp_path / "verdicts.sqlite"), chat) == before
    assert chat.asked == []


def test_a_process_killed_in_mid_write_leaves_a_usable_file(tmp_path):
    import signal
    import subprocess
    import sys

    path = tmp_path / "verdicts.sqlite"
    code = (
        "import sys, itertools; from pathlib import Path; from training.reward.cache import VerdictCache\n"
        "cache = VerdictCache(Path(sys.argv[1]))\n"
        "for n in itertools.count():\n"
        "    cache.put({f'{n}/{k}': n for k in range(8)}); print(n, flush=True)"
    )
    writer = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    said = 0
    while said < 50:
        said = int(writer.stdout.readline())
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    cache = VerdictCache(path)
    assert [cache.get(f"{n}/{k}") for n in range(said + 1) for k in range(8)] == [n for n in range(said + 1) for _ in range(8)]


def test_a_damaged_file_is_set_aside(tmp_path, caplog):
    path = tmp_path / "verdicts.sqlite"
    path.write_bytes(b"no database" * 1000)
    chat = Chat()
    judged(VerdictCache(path), chat)
    assert len(chat.asked) == 1
    assert (tmp_path / "verdicts.sqlite.damaged").exists()
    assert "damaged" in caplog.text


def test_the_identity_of_a_model_is_what_decides_its_answers():
    def identity(**settings):
        return ChatConfig(model="m", **settings).identity

    assert identity() != ChatConfig(model="n").identity
    assert len({identity(), identity(temperature=1), identity(max_tokens=5), identity(structured="text")}) == 4
    assert identity() == identity(base_url="http://a/v1", timeout=5, retries=9, price={"prompt": 1, "completion": 1})


# ---- the quality order ----


class Comparing:
    def __init__(self, better="A"):
        self.better, self.asked = better, 0

    def complete(self, system, user, schema):
        self.asked += 1
        if self.better in ("timeout", "refusal"):
            raise ChatFailure(self.better, "detail")
        return schema.model_validate({"reason": "r", "better": self.better})


def pair(first="x", second="y") -> QualityPair:
    task = Task(id="t", domain="d", messages=(Message(role="user", content="q"),), rubric=(llm(1),))
    return QualityPair(task=task, first=first, second=second)


def test_a_comparison_is_paid_for_once_and_either_way_round():
    cache, chat = VerdictCache(), Comparing("tie")
    assert PairwiseOrder(chat, cache=cache).compare([pair(), pair(), pair("y", "x")]) == [0, 0, 0]
    assert chat.asked == 2
    again = PairwiseOrder(chat, cache=cache)
    assert again.compare([pair()]) == [0]
    assert (chat.asked, again.calls) == (2, 0)
    PairwiseOrder(chat, cache=cache, model="other").compare([pair()])
    assert chat.asked == 4


def test_failed_comparisons_are_counted_by_reason_and_not_kept():
    cache, chat = VerdictCache(), Comparing("timeout")
    order = PairwiseOrder(chat, cache=cache)
    assert order.compare([pair()]) == [None]
    assert order.failures == {"timeout": 2}
    chat.better = "tie"
    assert order.compare([pair()]) == [0]
    assert not order.failures


def test_the_cache_holds_plain_data(tmp_path):
    cache = VerdictCache(tmp_path / "v.sqlite")
    judged(cache, Chat())
    rows = cache._file.execute("SELECT value FROM verdicts").fetchall()
    assert sorted(json.loads(value) for (value,) in rows) == [[1.0, "r"], [1.0, "r"]]
