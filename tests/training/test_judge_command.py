"""The command ``training.judge``: what it prints, its exit codes, and that it goes on where it was stopped."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.fake_openai import FakeOpenAI, prompt_of, reply
from tests.training.reward.trials.judges import KnownChat
from tests.training.reward.trials.test_audit import HACKS, truth
from tests.training.reward.trials.test_preflight import right, yes
from training.judge import main

MODEL = ["judge.model=fake-judge"]


@pytest.fixture
def judged_by(monkeypatch):
    """Put a judge of known habits in place of the endpoint's; gives it back to look at."""

    def put(answer) -> KnownChat:
        chat = KnownChat(answer)
        monkeypatch.setattr("agents.roles.open_chat", lambda config, role, traffic=None: chat)
        return chat

    return put


@pytest.fixture
def hacks(tmp_path) -> str:
    path = tmp_path / "hacks.jsonl"
    path.write_text("".join(json.dumps(hack.model_dump(mode="json")) + "\n" for hack in HACKS))
    return str(path)


@pytest.fixture
def statements(tmp_path) -> str:
    rows = [
        {"messages": [{"role": "user", "content": "Why?"}], "response": f"r{i // 3}", "criterion": f"says {i}", "met": i % 2 == 0}
        for i in range(60)
    ]
    path = tmp_path / "statements.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def test_check_says_yes_or_no_in_words_and_by_its_exit_code(judged_by, capsys):
    good = judged_by(right)
    assert main(["check", *MODEL]) == 0
    assert "fake-judge (batched)" in (out := capsys.readouterr().out)
    assert "can be trusted" in out
    assert good.closed
    judged_by(yes)
    assert main(["check", *MODEL, "judge.protocol=per_criterion"]) == 1
    assert "cannot be trusted" in capsys.readouterr().out


def test_audit_reports_and_shows_progress(judged_by, hacks, capsys):
    known = truth(HACKS)
    judged_by(lambda r, c: known[r, c])
    assert main(["audit", "--hacks", hacks, *MODEL]) == 0
    captured = capsys.readouterr()
    assert "false credit on attacks: 0 of 60 = 0%" in captured.out
    assert "judged 40/40" in captured.err
    assert "eta" in captured.err


def test_agree_takes_a_file_and_a_limit(judged_by, statements, capsys):
    judged_by(lambda r, c: int(c.split()[1]) % 2 == 0)
    assert main(["agree", "--set", statements, *MODEL]) == 0
    assert "60 criteria on 20 responses" in (out := capsys.readouterr().out)
    assert "1.00 (1.00 to 1.00)" in out
    assert main(["agree", "--set", statements, "--limit", "10", *MODEL]) == 0
    assert "10 criteria on" in capsys.readouterr().out


def test_a_command_that_was_stopped_goes_on_from_its_cache(judged_by, statements, tmp_path, capsys):
    asked: Counter[str] = Counter()

    def answer(response, criterion):
        if len(asked) >= 20 and not resumed:
            raise KeyboardInterrupt
        asked[criterion] += 1
        return True

    resumed = False
    judged_by(answer)
    command = ["agree", "--set", statements, "--cache", str(tmp_path / "cache" / "verdicts.sqlite"), *MODEL]
    one_by_one = ["judge.protocol=per_criterion", "limits.concurrency=1"]
    assert main([*command, *one_by_one]) == 130
    assert "repeat the command to go on" in capsys.readouterr().err
    resumed = True
    assert main([*command, *one_by_one]) == 0
    assert len(asked) == 60
    assert set(asked.values()) == {1}
    capsys.readouterr()
    chat = judged_by(answer)
    assert main([*command, *one_by_one]) == 0
    assert chat.asked == 0


def test_llmbar_asks_the_quality_judge(judged_by, tmp_path, capsys):
    (tmp_path / "Natural.json").write_text(
        json.dumps([{"input": f"Do {i}", "output_1": f"good {i}", "output_2": f"bad {i}", "label": 1} for i in range(12)])
    )
    judged_by(lambda a, b: "A" if a.startswith("good") else "B")
    assert main(["agree", "--set", "llmbar", "--data", str(tmp_path), "quality.source=pairwise", "quality.chat.model=m"]) == 0
    assert "| all | 12 | 0 | 0 | 12 of 12 = 100%" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check"], "judge.provider is 'heuristic', so there is no model to check: set judge.model"),
        (["check", *MODEL, "judge.protocol=holistic", "evolver.enabled=false"], "judge.protocol is 'holistic'"),
        (["check", "judge.modle=x"], "judge.modle is not a setting; did you mean 'model'?"),
        (["check", *MODEL, "judge.api_key_env=NO_SUCH_KEY"], "the environment variable NO_SUCH_KEY is not set"),
        (["check", "--config", "nix.yaml"], "--config: nix.yaml does not exist"),
        (["audit", "--hacks", "nix.jsonl", *MODEL], "--hacks: nix.jsonl does not exist"),
        (["agree", "--set", "kqa", *MODEL], "--data is missing: --set kqa needs the folder"),
        (["agree", "--set", "nix.jsonl", *MODEL], "--set: nix.jsonl does not exist"),
        (["agree", "--set", "llmbar", "--data", ".", *MODEL], "quality.source is 'gold', but --set llmbar measures"),
    ],
)
def test_a_mistake_gets_one_sentence_and_exit_code_2(arguments, message, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("limit", ["0", "-3", "many"])
def test_a_limit_that_is_none_is_refused(limit, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["agree", "--set", "kqa", "--limit", limit])
    assert stop.value.code == 2
    assert f"must be a whole number of at least 1, got '{limit}'" in capsys.readouterr().err


def test_a_cache_in_use_or_unusable_is_one_sentence(judged_by, hacks, tmp_path, capsys):
    judged_by(yes)
    assert main(["audit", "--hacks", hacks, "--cache", str(tmp_path), *MODEL]) == 2
    assert f"--cache: cannot use {tmp_path}" in capsys.readouterr().err


def test_a_spent_budget_says_how_to_go_on(hacks, tmp_path, monkeypatch, capsys):
    from agents.limits import BudgetSpent

    class Broke(KnownChat):
        def complete(self, *_):
            raise BudgetSpent("spent")

    monkeypatch.setattr("agents.roles.open_chat", lambda *_: Broke(yes))
    cache = tmp_path / "cache.sqlite"
    assert main(["audit", "--hacks", hacks, "--cache", str(cache), *MODEL]) == 2
    assert (
        f"budget is used up; raise it: what was judged is kept, repeat the command to go on (--cache {cache})"
        in capsys.readouterr().err
    )


def test_a_real_endpoint_is_checked_over_http(monkeypatch, capsys):
    """A server that finds everything met, and then one that is gone."""
    monkeypatch.setenv("FAKE_KEY", "k")

    def everything_met(body):
        ids = re.search(r"their ids are (.*):\n", prompt_of(body))[1].split(", ")
        if "level 1:" in prompt_of(body):
            return reply(json.dumps({"gradings": [{"id": i, "reason": "r", "level": 4} for i in ids]}))
        return reply(json.dumps({"judgements": [{"id": i, "reason": "r", "verdict": "met"} for i in ids]}))

    with FakeOpenAI(everything_met) as server:
        endpoint = [
            *MODEL,
            f"judge.base_url={server.url}",
            "judge.api_key_env=FAKE_KEY",
            "judge.retries=0",
            "limits.concurrency=4",
        ]
        assert main(["check", *endpoint]) == 1
        assert len(server.requests) == 25
    assert "worth nothing" in (out := capsys.readouterr().out)
    assert "Calls 25, tokens 300" in out
    assert main(["check", *endpoint]) == 1
    assert "- connection: " in (out := capsys.readouterr().out)
    assert "it gave no verdict on 70 of 70 criteria" in out


def test_the_page_names_every_subcommand_and_threshold():
    from training.reward.trials.preflight import RIGHT_ON_ANSWERS, RIGHT_ON_WORTHLESS

    page = (Path(__file__).parents[2] / "docs" / "judge.md").read_text()
    for command in ("check", "audit", "agree"):
        assert f"python -m training.judge {command}" in page
    for threshold in (RIGHT_ON_ANSWERS, RIGHT_ON_WORTHLESS):
        assert f"{threshold:.0%}".replace("%", " %") in page
