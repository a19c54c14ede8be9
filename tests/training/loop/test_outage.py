"""An endpoint that fails in mid-run: the run waits and comes to the same result, or stops with everything saved."""

import hashlib
import json
import math
import re
import threading
import time
from pathlib import Path

import pytest
import torch

from memory.errors import UserError
from memory.journal import read_journal, read_lines
from memory.rundir import RunDir
from memory.task import Criterion
from tests.fake_openai import FakeOpenAI, prompt_of, reply, reset, status
from training.config import load_config
from training.loop.ledger import read_costs
from training.loop.patience import JudgeOutage
from training.run import start_directory, train_and_report
from training.session import Session, prepare_process
from training.tasks.load import load_tasks
from training.tasks.source import TaskSource

SETTINGS = [
    "train.steps=3", "train.tasks_per_step=2", "train.group_size=4", "policy.max_completion_tokens=48", "checkpoint.every=100",
    "evaluation.samples=1", "evolver.enabled=false", "judge.model=m", "judge.api_key_env=HARNESSRL_TEST_KEY", "judge.retries=0",
    "judge.timeout=20", "judge.price={prompt: 1000, completion: 1000}", "reward.retry_every=0.1", "quality.source=pairwise",
    "quality.chat={model: q, api_key_env: HARNESSRL_TEST_KEY, retries: 0, price: {prompt: 0, completion: 0}}",
]  # fmt: skip


def coin(*texts: str) -> bool:
    return hashlib.sha256("/".join(texts).encode()).digest()[0] % 2 == 0


def verdicts(body):
    """A judge whose answers depend on what it is asked and on nothing else."""
    prompt = prompt_of(body)
    texts = dict(re.findall(r"<<<\w{16} (\w+)\n(.*?)\n\w{16}>>>", prompt, re.DOTALL))
    if "B" in texts:
        better = "tie" if texts["A"] == texts["B"] else "A" if texts["A"] < texts["B"] else "B"
        return reply(json.dumps({"reason": "r", "better": better}))
    ids = re.findall(r"<<<\w{16} (C\d+)\n", prompt)
    given = [{"id": i, "reason": "r", "verdict": "met" if coin(texts["response"], texts[i]) else "not_met"} for i in ids]
    return reply(json.dumps({"judgements": given}))


class Endpoint:
    """``verdicts`` for the first ``good`` requests; then an outage of ``seconds``, in which requests fail as ``failing``."""

    def __init__(self, good: float = math.inf, seconds: float = math.inf, failing=reset):
        self.good, self.seconds, self.failing = good, seconds, failing
        self.answered, self.began = 0, None
        self._lock = threading.Lock()

    def __call__(self, body):
        with self._lock:
            if self.answered >= self.good and self.began is None:
                self.began = time.monotonic()
            if self.began is not None and time.monotonic() < self.began + self.seconds:
                return self.failing
            self.answered += 1
            return verdicts(body)


@pytest.fixture
def trained(tmp_path, monkeypatch):
    """``trained(name, endpoint, *settings)`` runs in process to its end and gives its directory, or raises what stopped it."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    monkeypatch.setattr("agents.limits.COOLDOWN", 0.4)
    monkeypatch.setattr("agents.limits.BREAK_AFTER", 4)
    monkeypatch.setenv("HARNESSRL_TEST_KEY", "any")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def train(name: str, endpoint, *settings: str, resume: bool = False, watch=None) -> RunDir:
        with FakeOpenAI(endpoint) as server:
            at = [f"judge.base_url={server.url}", f"quality.chat.base_url={server.url}"]
            config = load_config(None, [*SETTINGS, *at, *settings])
            run = RunDir(tmp_path / name)
            lock = run.claim()
            try:
                prepare_process(config)
                checkpoint, rewound = start_directory(run, config, resume, 1)
                tasks = [judged_by_model(t) for t in load_tasks([TaskSource(suite="lab")], "tasks.train").tasks[:6]]
                session = Session(config, run, tasks[:4], tasks[4:])
                session.open_memory(rewound)
                if watch is not None:
                    watch(session)
                train_and_report(session, checkpoint)
            finally:
                lock.release()
        return run

    return train


def judged_by_model(task):
    rubric = tuple(Criterion(id=f"c{k}", text=f"Says {k}.", points=1 + k) for k in range(3))
    return task.model_copy(update={"rubric": rubric})


def result(run: RunDir):
    """All that a run has learned and remembers."""
    from safetensors.torch import load_file

    journal = [(e.step, e.kind, e.record) for e in read_journal(run.journal)]
    metrics = [(line["step"], line["metrics"]) for _, line in read_lines(run.metrics)]
    return journal, metrics, load_file(run.policy / "model.safetensors")


def same(one, other) -> bool:
    assert one[0] == other[0]
    assert one[1] == other[1]
    return all(one[2][name].equal(other[2][name]) for name in one[2])


@pytest.fixture
def whole(trained):
    endpoint = Endpoint()
    run = trained("whole", endpoint)
    return result(run), endpoint.answered, run


def test_an_outage_pauses_the_run_and_changes_nothing(trained, whole):
    heard: list[dict] = []

    def listen(session):
        original = session.run.beat

        def beat(**state):
            heard.append(state)
            original(**state)

        session.run.beat = beat

    expected, requests, _ = whole
    endpoint = Endpoint(good=requests // 2, seconds=1.5)
    run = trained("outage", endpoint, watch=listen)
    assert same(result(run), expected)
    pauses = [state for state in heard if state["phase"] == "paused"]
    assert pauses
    assert all("connection" in state["reason"] for state in pauses)
    assert not any("reason" in state for state in heard if state["phase"] != "paused")
    assert endpoint.answered == requests, "only what failed was asked again"


@pytest.mark.parametrize("failing", [status(503), status(429)], ids=["503", "429"])
def test_a_pause_waits_for_any_trouble_of_the_endpoint(trained, whole, failing):
    expected, requests, _ = whole
    run = trained("outage", Endpoint(good=requests // 3, seconds=1.0, failing=failing), "reward.max_unscored=0")
    assert same(result(run), expected)


@pytest.mark.parametrize("share", [0.3, 0.6, 0.9])
def test_a_pause_that_lasts_too_long_stops_with_a_checkpoint_and_nothing_is_lost(trained, whole, share):
    expected, requests, _ = whole
    good = int(requests * share)
    with pytest.raises(JudgeOutage, match=r"unscored \(\d+ connection.*--resume"):
        trained("stopped", Endpoint(good=good), "reward.max_pause=0.0001")
    directory = Path(whole[2].root).with_name("stopped")
    assert json.loads((directory / "heartbeat.json").read_text())["phase"] == "stopped"
    steps = len(list(read_lines(directory / "metrics.jsonl")))
    assert [p.name for p in directory.glob("checkpoints/*")] == ([f"checkpoint-{steps}"] if steps else [])
    endpoint = Endpoint()
    run = trained("stopped", endpoint, resume=True)
    assert same(result(run), expected)
    assert endpoint.answered == requests - good, "no verdict is paid for twice"


@pytest.mark.parametrize("settings", [("evaluation.every=1",), ("checkpoint.every=1",)], ids=["evaluations", "checkpoints"])
def test_an_evaluation_that_was_stopped_is_made_up_for(trained, settings):
    """Large steps, so that every evaluation sees new responses; the last requests of the run are those of the last one."""
    settings = (*settings, "train.learning_rate=1e-2")
    endpoint = Endpoint()
    expected, requests = result(trained("whole", endpoint, *settings)), endpoint.answered
    with pytest.raises(JudgeOutage):
        trained("stopped", Endpoint(good=requests - 1), "reward.max_pause=0.0001", *settings)
    endpoint = Endpoint()
    assert same(result(trained("stopped", endpoint, *settings, resume=True)), expected)
    assert endpoint.answered == 1


EVOLVING = (
    "evolver.enabled=true", "evolver.every=1", "evolver.max_tasks=1", "evolver.revisions=0", "evolver.critic.rollouts=[4]",
    "evolver.critic.quality_pairs=6", "evolver.proposals=1", "evolver.probe_rollouts=0", "evolver.critic.guard_tasks=0",
    "reward.max_unscored=0",
)  # fmt: skip


@pytest.mark.parametrize("share", [0.5, 0.8])
def test_rounds_wait_too_and_are_not_held_twice(trained, share):
    endpoint = Endpoint()
    expected, requests = result(trained("whole", endpoint, *EVOLVING)), endpoint.answered
    assert any(kind == "round" for _, kind, _ in expected[0])
    good = int(requests * share)
    assert same(result(trained("outage", Endpoint(good=good, seconds=1.0), *EVOLVING)), expected)
    with pytest.raises(JudgeOutage):
        trained("stopped", Endpoint(good=good), "reward.max_pause=0.0001", *EVOLVING)
    endpoint = Endpoint()
    assert same(result(trained("stopped", endpoint, *EVOLVING, resume=True)), expected)
    assert endpoint.answered == requests - good


def test_a_person_can_end_a_pause(trained):
    def ask_to_stop(session):
        session.patience.stop = lambda: True

    with pytest.raises(JudgeOutage):
        trained("stopped", Endpoint(good=40), watch=ask_to_stop)


def test_an_endpoint_that_rejects_the_run_from_the_start_is_not_waited_for(trained):
    with pytest.raises(JudgeOutage, match=r"HTTP 401.*no such key"):
        trained("rejected", Endpoint(good=0, failing=status(401, "no such key")))


def test_a_judge_that_answers_uselessly_is_not_waited_for(trained):
    with pytest.raises(JudgeOutage, match="8 of 8 rollouts are unscored \\(refusal\\)"):
        trained("refused", Endpoint(good=0, failing=reply(None, refusal="no")), "tasks.heldout=[]")


# ---- the budget and the bill ----


def test_a_spent_budget_stops_with_a_checkpoint_and_a_larger_one_goes_on(trained, whole):
    expected, requests, run = whole
    tokens = sum(c["prompt_tokens"] + c["completion_tokens"] for c in read_costs(run.usage).values())
    assert tokens == 12 * requests
    with pytest.raises(UserError, match=r"budget\.tokens=\d+ is used up.*--resume"):
        trained("poor", Endpoint(), f"budget.tokens={tokens // 2}", "limits.concurrency=1")
    endpoint = Endpoint()
    resumed = trained("poor", endpoint, f"budget.tokens={tokens}", resume=True)
    assert same(result(resumed), expected)
    costs = read_costs(resumed.usage)
    assert sum(c["requests"] for c in costs.values()) == requests, "what was spent before the stop is still on the bill"


def test_costs_are_in_metrics_and_summary(trained, capsys):
    run = trained("billed", Endpoint())
    costs = read_costs(run.usage)
    assert costs["judge"]["usd"] == pytest.approx(12e-3 * costs["judge"]["requests"])
    last = [line for _, line in read_lines(run.metrics)][-1]
    assert 0 < last["usage"]["judge/usd"] <= costs["judge"]["usd"]
    assert last["usage"]["quality.chat/latency"] > 0
    assert not any(name.startswith("usage") for name in last["metrics"])
    assert f"| judge | {costs['judge']['requests']} |" in capsys.readouterr().out


def test_unscored_verdicts_are_counted_by_reason(trained):
    refusing = Endpoint()

    def some_refuse(body):
        prompt = prompt_of(body)
        return reply(None, refusal="no") if "Says 2." in prompt and coin(prompt[-400:-200]) else refusing(body)

    run = trained("some", some_refuse, "judge.protocol=per_criterion", "reward.max_unscored=1", "tasks.heldout=[]")
    found = [line["metrics"].get("unscored/refusal", 0) for _, line in read_lines(run.metrics)]
    rollouts = [rollout for path in run.rollouts.iterdir() for _, rollout in read_lines(path)]
    assert sum(found) == sum(v["reason"] == "refusal" for rollout in rollouts for v in rollout["verdicts"]) > 0
    assert read_costs(run.usage)["judge"]["failures"].keys() == {"refusal"}
    assert torch.isfinite(torch.tensor([line["metrics"]["loss"] for _, line in read_lines(run.metrics)])).all()
