"""Drafted rubrics: always marked, never half, and nothing is paid for twice."""

import json

import pytest

from agents.chat import ChatFailure
from memory.errors import TaskError
from tests.fake_openai import FakeOpenAI, reply
from training.tasks.__main__ import main
from training.tasks.drafts import Drafts, draft_rubrics, read_asks
from training.tasks.inspect import describe, inspect
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

GOOD = [{"text": f"States fact {k}", "points": 3} for k in range(4)] + [{"text": "Invents a fact", "points": -5}]


class Drafter:
    """Answers each prompt by what its text holds."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    def complete(self, system, user, schema):
        self.asked.append(user)
        for word, answer in self.answers.items():
            if word in user:
                if isinstance(answer, Exception):
                    raise answer
                return Drafts.model_validate({"criteria": answer})
        return Drafts.model_validate({"criteria": GOOD})


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    rows = [
        {"id": name, "domain": "writing", "prompt": [{"role": "user", "content": f"Write of {name}."}]}
        for name in ("rust", "moss", "salt")
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    return path


def asks(path):
    return read_asks([TaskSource(path=str(path))])


def test_every_criterion_is_marked_and_stays_marked(prompts, tmp_path):
    out = tmp_path / "drafted.jsonl"
    result = draft_rubrics(asks(prompts), Drafter(), out)
    assert (result.written, result.failed) == (3, {})
    tasks = load_tasks([TaskSource(path=str(out))], "tasks.train").tasks
    assert [t.id for t in tasks] == ["prompts-rust", "prompts-moss", "prompts-salt"]
    assert all(c.drafted for t in tasks for c in t.rubric)
    assert main(["convert", str(out), "--out", str(tmp_path / "again.jsonl")]) == 0
    again = load_tasks([TaskSource(path=str(tmp_path / "again.jsonl"))], "tasks.train").tasks
    assert again == tasks
    assert "read by nobody: 15" in describe(inspect([TaskSource(path=str(out))])[0])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (ChatFailure("timeout", "slow"), "timeout"),
        (GOOD[:2], "fewer than 4 or more than 10 criteria"),
        (GOOD * 3, "fewer than 4 or more than 10 criteria"),
        ([*GOOD, {"text": "states  FACT 0", "points": 1}], "a criterion twice"),
        ([*GOOD, {"text": " \u200b", "points": 1}], "an empty criterion"),
        ([{**c, "points": -abs(c["points"])} for c in GOOD], "points of 0, or none that are positive"),
        ([*GOOD, {"text": "x", "points": 0}], "points of 0, or none that are positive"),
    ],
)
def test_a_draft_that_is_no_rubric_is_counted_and_left_out(prompts, tmp_path, answer, reason):
    out = tmp_path / "drafted.jsonl"
    result = draft_rubrics(asks(prompts), Drafter(moss=answer), out)
    assert result.failed == {reason: 1}
    assert [json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()] == ["prompts-rust", "prompts-salt"]


def test_a_second_run_asks_only_for_what_is_missing_and_mends_a_cut_line(prompts, tmp_path):
    out = tmp_path / "drafted.jsonl"
    draft_rubrics(asks(prompts), Drafter(moss=ChatFailure("timeout", "slow")), out)
    whole = out.read_text(encoding="utf-8")
    out.write_text(whole[:-20], encoding="utf-8")
    again = Drafter()
    result = draft_rubrics(asks(prompts), again, out)
    assert (result.kept, result.written, len(again.asked)) == (1, 2, 2)
    assert {json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()} == {
        f"prompts-{n}" for n in ("rust", "moss", "salt")
    }
    other = tmp_path / "other.jsonl"
    other.write_text("no tasks\n", encoding="utf-8")
    with pytest.raises(TaskError, match="something else than drafted tasks"):
        draft_rubrics(asks(prompts), again, other)


def test_the_command_drafts_with_an_endpoint(prompts, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DRAFT_KEY", "k")
    out = tmp_path / "drafted.jsonl"
    with FakeOpenAI(lambda body: reply(json.dumps({"criteria": GOOD}))) as server:
        arguments = [
            "draft-rubrics",
            str(prompts),
            "--out",
            str(out),
            "--model",
            "m",
            "--base-url",
            server.url,
            "--api-key-env",
            "DRAFT_KEY",
        ]
        assert main(arguments) == 0
        calls = len(server.requests)
        assert main(arguments) == 0
        assert len(server.requests) == calls
    assert "no person has read these criteria" in capsys.readouterr().out
