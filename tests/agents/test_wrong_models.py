"""Models that are wrong in every way: the harness gets no worse than the critic's error rate allows, and every round ends.

The policy is simulated, so that the true worth of every edit that was accepted is known: it is measured again on many rollouts.
"""

import itertools

import pytest

from agents.attribution import InventedIds
from agents.chat_attributor import AttributionReply, ChatAttributor
from agents.chat_proposer import ChatProposer
from agents.checkpoints import open_checkpoints
from agents.config import CriticConfig, EvolverConfig
from agents.context import RoundContext
from agents.critic import Critic
from agents.evolver import HarnessEvolver
from agents.sample import Candidate
from benchmarks.wrong_models import WrongModel
from memory.embedding import HashingEmbedding
from memory.journal import HarnessRecord, read_journal
from memory.memory import Memory
from memory.pairs import group_shares
from memory.rundir import RunDir
from memory.task import Verdict
from memory.visit import Rollout
from tests.builders import SimulatedRehearsal, criterion, orders, task, visit
from training.reward.rules import check, validate
from training.reward.score import score

SEEDS = 20
ROUNDS = 5
TASKS = {
    t.id: t
    for t in (
        task("blind", criterion("rare", points=3), criterion("alpha")),
        task("easy", criterion("sure"), criterion("certain")),
        task("noisy", criterion("long", points=3), criterion("alpha")),
    )
}
RATES = {"rare": 0.02, "alpha": 0.5, "sure": 0.98, "certain": 0.97, "long": 0.5}


def quality(text: str) -> float:
    return float("rare" in text) + float("alpha" in text)


class Judged(SimulatedRehearsal):
    """Judges criteria without a rule, too: met when a word of theirs is said."""

    def grade(self, requests):
        return [tuple(self._graded(q.rubric, r) for r in q.rollouts) for q in requests]

    def _graded(self, rubric, rollout):
        verdicts = tuple(
            Verdict.of(c.id, check(c.rule, rollout.text) if c.rule else any(w in rollout.text for w in c.text.split()))
            for c in rubric
        )
        return rollout.model_copy(update={"verdicts": verdicts, "score": score(rubric, verdicts, 0.8)})


def see(memory: Memory, rehearsal: Judged, step: int) -> None:
    """One plain group of every task, into memory."""
    for of in TASKS.values():
        entry = memory.harness.of(of)
        says = [" ".join(w for w, rate in RATES.items() if rehearsal.rng.random() < rate) or "nothing" for _ in range(8)]
        current = of.model_copy(update={"rubric": entry.rubric})
        made = [Rollout(id=f"{of.id}-{step}/{k}", task_id=of.id, text=t, tokens=len(t.split())) for k, t in enumerate(says)]
        rollouts = [rehearsal._graded(current.rubric, r) for r in made]
        pairs = orders([quality(t) for t in says])
        shares, criteria = group_shares(rollouts, current.rubric, pairs)
        plain = visit(task(of.id), says, step=step, entry=entry)[0]
        scores = tuple(r.score for r in rollouts)
        seen = plain.model_copy(update={"shares": shares, "criteria": criteria, "quality": pairs, "scores": scores})
        memory.rollouts.write(f"{of.id}-{step}", rollouts)
        memory.record(step, seen.model_copy(update={"rollout_ids": tuple(r.id for r in rollouts)}))


def true_gain(candidate: Candidate) -> float:
    rehearsal = Judged(TASKS, RATES, quality=quality, flip_rate=0.0, seed=99)
    config = CriticConfig(rollouts=(200,), quality_pairs=10_000, guard_tasks=0, acceptance="each")
    (finding,) = Critic(config, rehearsal).measure("truth", [candidate])
    return finding.measurement.effect.estimate


def test_wrong_models_make_the_harness_no_worse_than_the_stated_error_rate(tmp_path):
    worthless = measured = accepted = 0
    for seed in range(SEEDS):
        run = RunDir(tmp_path / f"run{seed}")
        lock = run.claim()
        memory, model = Memory(run, TASKS, HashingEmbedding()), WrongModel(seed)
        rehearsal = Judged(TASKS, RATES, quality=quality, seed=seed)
        config = EvolverConfig(revisions=1, critic=CriticConfig(rollouts=(12, 24)))
        evolver = HarnessEvolver(
            config, memory, ChatAttributor(model, "wrong"), ChatProposer(model, "wrong"), Critic(config.critic, rehearsal), validate,
            saver := open_checkpoints(run.rounds),
        )  # fmt: skip
        for number in range(1, ROUNDS + 1):
            see(memory, rehearsal, 10 * number - 1)
            context = RoundContext(round=number, step=10 * number, steps=100, guidance_ceiling=2, levels=(0.25, 0.5, 1.0, 2.0))
            result = evolver.run(context, list(TASKS), f"round-{number}")
            evolver.forget(f"round-{number}")
            for decision in result.decisions:
                assert decision.sentence
                measured += decision.measurement is not None
                if decision.outcome == "accepted":
                    assert decision.measurement is not None
                    accepted += 1
                    before = memory.harness.of(TASKS[decision.edit.task_id])
                    candidate = Candidate(edit=decision.edit, before=before, after=result.entries[decision.edit.task_id])
                    worthless += true_gain(candidate) <= 0
            memory.record(10 * number, *result.decisions)
            if result.entries:
                ids = tuple(d.edit.id for d in result.decisions if d.outcome == "accepted")
                memory.record(
                    10 * number, HarnessRecord(version=memory.harness.version + 1, edit_ids=ids, entries=result.entries)
                )
        memory.close()
        saver.conn.close()
        lock.release()
        assert len(list(read_journal(run.journal))) == memory.journal.seq, "every record loads again"
    assert measured >= 50, "the bag holds enough sensible replies for this to show anything"
    # At 5 % of what was accepted, and a round in 20 with one by chance: three times what is expected.
    assert worthless <= max(2, 3 * 0.05 * accepted)


def test_endless_models_end(tmp_path):
    """A model that always has another useless idea costs no more calls than the config allows."""
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, TASKS, HashingEmbedding())
    rehearsal = Judged(TASKS, RATES, quality=quality)
    see(memory, rehearsal, 9)
    words = ("apple", "bread", "cloud", "dune", "elm", "fog", "glass", "hill")
    ideas = itertools.count()

    class Endless(WrongModel):
        def complete(self, system, user, reply):
            self.calls += 1
            if reply is AttributionReply:
                found = self._attribution(["rare"], []) | {
                    "interface": "g",
                    "pair_class": "blind",
                    "criterion_ids": [],
                    "evidence_ids": ["v9-blind"],
                }
                return reply.model_validate(found)
            idea = f"{words[next(ideas) % 8]} {words[next(ideas) // 8 % 8]}"
            one = {"reason": "r", "op": "add_field", "text": idea, "criterion_ids": ["rare"], "claimed_class": "blind"}
            return reply.model_validate({"candidates": [one]})

    model, config = Endless(0), EvolverConfig(revisions=3)
    evolver = HarnessEvolver(
        config, memory, ChatAttributor(model, "m"), ChatProposer(model, "m"), Critic(config.critic, rehearsal), validate
    )
    context = RoundContext(round=1, step=10, steps=100, guidance_ceiling=2, levels=(0.5, 1.0, 2.0))
    result = evolver.run(context, ["blind"], "t")
    assert result.cases[0].status == "given_up"
    assert model.calls <= 2 * (1 + config.revisions)
    memory.close()
    lock.release()


@pytest.mark.parametrize("answer", [{"criterion_ids": ["invented"]}, {"evidence_ids": ["invented"]}])
def test_invented_ids_are_never_believed(answer):
    from tests.agents.cases import BLIND, case

    class One(WrongModel):
        def complete(self, system, user, reply):
            base = {"reason": "r", "pair_class": "blind", "interface": "p", "criterion_ids": [], "evidence_ids": []}
            return reply.model_validate(base | answer)

    with pytest.raises(InventedIds):
        ChatAttributor(One(0), "m").attribute(case(BLIND))
