"""HarnessTrainer in this process, with real DeepSpeed: what trains, what does not, and what a rehearsal leaves untouched."""

import hashlib
import pickle
import random

import numpy as np
import pytest
import torch

from agents.rehearsal import RolloutRequest
from memory.harness import GuidanceField, Harness
from memory.rundir import RunDir
from training.config import load_config
from training.run import start_directory
from training.session import Session, prepare_process
from training.tasks.load import load_tasks

SETTINGS = ["evolver.enabled=false", "evaluation.samples=1", "tasks.heldout=[]", "quality.source=off", "checkpoint.every=100"]


@pytest.fixture
def session(tmp_path, request, monkeypatch):
    """A session of two steps of 2 groups x 4; parametrise indirectly with further overrides."""
    monkeypatch.setattr("signal.signal", lambda *_: None)
    small = ["train.steps=2", "train.tasks_per_step=2", "train.group_size=4", "policy.max_completion_tokens=24"]
    config = load_config(None, [*SETTINGS, *small, *getattr(request, "param", [])])
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    prepare_process(config)
    start_directory(run, config, False, 1)
    session = Session(config, run, load_tasks(config.tasks.train, "tasks.train").tasks[:4], [])
    session.open_memory(False)
    yield session
    session.close()
    lock.release()


def guide_everything(session) -> None:
    field = GuidanceField(id="f", text="Keep a diary")
    entries = {
        t.id: Harness().of(t).model_copy(update={"guidance": (field,)}) for t in session.coevolution.sampler.tasks.values()
    }
    session.coevolution.harness = Harness().updated(entries)


def captured_batches(session) -> list[dict]:
    """Train and keep what the loss was given in each step."""
    trainer, batches = session.trainer, []
    original = trainer._generate_and_score_completions
    trainer._generate_and_score_completions = lambda inputs: batches.append(original(inputs)) or dict(batches[-1])
    trainer.train()
    return batches


def test_edited_tasks_are_revisited_and_relevelled_ones_are_not(session):
    co = session.coevolution
    guided, lowered, *_ = sorted(co.sampler.tasks)
    before, credit = co.harness, dict(co.sampler.credit)
    entries = {i: before.of(co.sampler.tasks[i]) for i in (guided, lowered)}
    field = GuidanceField(id="f", text="Keep a diary")
    co.harness = before.updated(
        {
            guided: entries[guided].model_copy(update={"guidance": (field,)}),
            lowered: entries[lowered].model_copy(update={"level": 0.5}),
        }
    )
    co.revisit_edited(before)
    assert {i for i in credit if co.sampler.credit[i] != credit[i]} == {guided}
    co.revisit_edited(co.harness)
    assert co.sampler.credit[guided] == credit[guided] + 1, "an edit counts once"


@pytest.mark.parametrize("session", [["evolver.enabled=true", "evolver.every=2", "train.steps=3"]], indirect=True)
def test_what_a_round_recalls_is_indexed_while_the_step_before_it_is_trained(session, monkeypatch):
    co, waited = session.coevolution, {}
    monkeypatch.setattr(co.round, "run", lambda step, *_: waited.update({step: list(co.memory._unindexed)}))
    session.trainer.train()
    assert waited == {2: []}
    assert co.memory.index.count() > 0


def forced_scores(session, scores) -> None:
    """Give the rollouts of every step these scores, None for unscored."""
    original = session.coevolution.grade

    def grade(step, seats, completions, offset):
        graded = original(step, seats, completions, offset)
        return [r.model_copy(update={"score": s}) for r, s in zip(graded, scores, strict=True)]

    session.coevolution.grade = grade


def parameters(session) -> dict[str, torch.Tensor]:
    model = session.trainer.accelerator.unwrap_model(session.trainer.model_wrapped)
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def fingerprint_of_training(session) -> dict[str, str]:
    """Digests of weights, optimiser state and every random stream that training draws from."""
    engine = session.trainer.model_wrapped
    digest = {name: hashlib.sha256(p.numpy().tobytes()).hexdigest() for name, p in parameters(session).items()}
    optimizer = pickle.dumps({str(k): v for k, v in engine.optimizer.state_dict().items()})
    return digest | {
        "optimizer": hashlib.sha256(optimizer).hexdigest(),
        "torch": hashlib.sha256(torch.get_rng_state().numpy().tobytes()).hexdigest(),
        "numpy": str(np.random.get_state()[1].tolist()),
        "python": str(random.getstate()),
        "sampler": str(session.coevolution.sampler.state()),
        "training mode": str(engine.module.training),
    }


@pytest.mark.parametrize("session", [["evolver.enabled=true"]], indirect=True)
def test_a_rehearsal_leaves_weights_optimiser_and_random_streams_bit_identical(session):
    session.trainer.train()
    session.trainer.model_wrapped.train()
    rehearsal, task = session.coevolution.round.rehearsal, next(iter(session.coevolution.sampler.tasks.values()))
    request = RolloutRequest(task_id=task.id, entry=Harness().of(task), guided=False, count=8)
    before = fingerprint_of_training(session)
    with session.trainer.policy() as generate:
        rehearsal.open(generate, 1)
        (first,) = rehearsal.roll_out("one", [request])
        (again,) = rehearsal.roll_out("one", [request])
        (other,) = rehearsal.roll_out("two", [request])
        rehearsal.close()
    assert fingerprint_of_training(session) == before
    assert [r.text for r in first] == [r.text for r in again], "the same tag gives the same rollouts"
    assert [r.text for r in first] != [r.text for r in other], "another tag gives fresh ones"
    with pytest.raises(RuntimeError, match="open round"):
        rehearsal.roll_out("three", [request])


def test_guided_rollouts_are_trained_under_the_plain_prompt(session):
    guide_everything(session)
    batch = captured_batches(session)[0]
    co = session.coevolution
    seats = session.trainer.seats
    assert [bool(s.guidance) for s in seats[:4]] == [False, False, True, True]
    tokenizer = session.tokenizer
    shown = tokenizer.batch_decode(batch["prompt_ids"])
    assert not any("diary" in text for text in shown)
    assert any("diary" in tokenizer.decode(co.speaker.prompt_ids(s.seen_prompt)) for s in seats)
    assert "old_per_token_logps" not in batch


@pytest.mark.parametrize("session", [["guidance.train_on=guided"]], indirect=True)
def test_guided_context_can_be_chosen(session):
    guide_everything(session)
    shown = session.tokenizer.batch_decode(captured_batches(session)[0]["prompt_ids"])
    assert sum("diary" in text for text in shown) == 4


@pytest.mark.parametrize("session", [["guidance.correction=importance"]], indirect=True)
def test_importance_correction_knows_the_probability_under_the_hint(session):
    guide_everything(session)
    trainer = session.trainer
    compared = []
    original = trainer._only_training_rows

    def compare(output):
        ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
        mask = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
        with torch.no_grad():
            plain = trainer._get_per_token_logps_and_entropies(trainer.model, ids, mask, output["completion_ids"].size(1))[0]
        difference = ((output["old_per_token_logps"] - plain) * output["completion_mask"]).abs().sum(dim=1)
        compared.append([(bool(s.guidance), float(d)) for s, d in zip(trainer.seats, difference, strict=True)])
        return original(output)

    trainer._only_training_rows = compare
    trainer.train()
    assert all(difference < 1e-3 for guided, difference in compared[0] if not guided)
    assert all(difference > 1e-2 for guided, difference in compared[0] if guided)


def test_unscored_rollouts_stay_out_of_baseline_and_loss(session):
    forced_scores(session, [1.0, 0.0, None, None, 0.2, 0.4, 0.6, None])
    session.config.reward.max_unscored = 0.5
    batch = captured_batches(session)[0]
    rows = batch["completion_mask"].sum(dim=1) > 0
    assert rows.tolist() == [True, True, False, False, True, True, True, False]
    advantages = batch["advantages"]
    assert advantages[0] == -advantages[1], "the baseline is the mean of the scored rollouts alone"
    assert abs(float(advantages[4:7].sum())) < 1e-4
    assert batch["num_items_in_batch"] == batch["completion_mask"].sum()


@pytest.mark.parametrize("session", [["train.beta=0.5", "train.learning_rate=1e-2"]], indirect=True)
def test_groups_without_spread_move_nothing_not_even_by_kl(session):
    """With beta > 0 the KL term alone would pull; the first step is at the reference, so look after a step that moved."""
    moved = iter([[1.0, 0.0, 1.0, 0.0] * 2, [0.5] * 8])
    states = []
    original = session.coevolution.grade

    def grade(step, seats, completions, offset):
        states.append(parameters(session))
        return [
            r.model_copy(update={"score": s})
            for r, s in zip(original(step, seats, completions, offset), next(moved), strict=True)
        ]

    session.coevolution.grade = grade
    norms = []
    log = session.trainer.log
    session.trainer.log = lambda logs, *rest: norms.append(logs.get("grad_norm")) or log(logs, *rest)
    session.trainer.train()
    assert any(not states[0][n].equal(states[1][n]) for n in states[0])
    assert norms[0] > 0
    assert norms[1] == 0


def test_a_step_with_nothing_to_learn_is_no_nan(session):
    forced_scores(session, [0.5] * 8)
    before = parameters(session)
    batches = captured_batches(session)
    assert all(b["completion_mask"].sum() == 0 for b in batches)
    assert all(before[n].equal(p) for n, p in parameters(session).items())


def test_a_judge_outage_stops_before_anything_is_trained(session):
    from training.loop.patience import JudgeOutage

    forced_scores(session, [None] * 3 + [0.5] * 5)
    before = parameters(session)
    with pytest.raises(JudgeOutage, match="3 of 8 rollouts are unscored"):
        session.trainer.train()
    assert all(before[n].equal(p) for n, p in parameters(session).items())
    assert not session.coevolution.memory.visits


@pytest.mark.parametrize("session", [["policy.lora={r: 4}", "train.deepspeed=zero3"]], indirect=True)
def test_lora_under_zero3_trains_only_the_adapter(session):
    session.trainer.train()
    names = [n for n, p in session.trainer.model.named_parameters() if p.requires_grad]
    assert names
    assert all("lora" in n for n in names)
    with session.trainer.policy() as generate:
        assert generate([[5, 6, 7]], 0)
