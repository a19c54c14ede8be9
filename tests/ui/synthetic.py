"""A run directory as a training run of some length leaves it: edits of all interfaces and outcomes, unscored rollouts, alerts.

``python -m tests.ui.synthetic FOLDER`` writes one to look at.
"""

import json
import random
import sys
import time
from pathlib import Path
from typing import Any

import yaml

from memory.decision import Attribution, Decision, Guard, Hindsight, Interval, Measurement, Probe, ScoreChange
from memory.edit import (
    AddField,
    Claim,
    CreateCriterion,
    DeleteCriterion,
    Edit,
    MergeCriteria,
    RepriceCriterion,
    RetireField,
    RewordCriterion,
    RewriteTask,
    SetLevel,
    SplitCriterion,
    apply,
)
from memory.harness import GuidanceField, Harness
from memory.journal import AlertRecord, EvaluationRecord, HarnessRecord, Journal, RoundRecord, RunRecord
from memory.pairs import group_shares
from memory.rollouts import RolloutStore
from memory.rundir import RunDir
from memory.task import Criterion, Message, Task, Verdict
from memory.visit import PairOrder, PairShares, Rollout, Visit

STEPS, EVERY, GROUP = 24, 4, 6
COST = 0.05
"""USD that the judge costs a step."""
JUDGE = {"provider": "openai", "model": "judge-1", "base_url": "https://me:hunter2@judge.example/v1", "api_key_env": "JUDGE_KEY"}
CONFIG: dict[str, Any] = {
    "tasks": {"train": ["tasks-of-the-user.jsonl"], "heldout": []},
    "train": {"steps": STEPS, "trl": {"hub_token": "hf-secret"}},
    "sampling": {"levels": [0.5, 1.0, 2.0], "floor": 0.05},
    "guidance": {"max_fields": 2, "until": 0.8},
    "judge": JUDGE,
    "evolver": {"enabled": True, "every": EVERY},
    "budget": {"usd": 5.0},
}
DEFAULTS: dict[str, Any] = {
    **CONFIG,
    "train": {"steps": 120, "trl": {}},
    "judge": {"provider": "heuristic", "model": None, "base_url": None, "api_key_env": "OPENAI_API_KEY"},
    "evolver": {"enabled": True, "every": 10},
    "budget": {"usd": None},
}
TRICKY = "# not a heading <script>alert('x')</script> **not bold** 发烧时多喝水 $x$ :red[not red]"
"""Model text that must show as it is."""


def task(task_id: str, topic: str, domain: str) -> Task:
    texts = {
        "c1": (f"States the main cause of {topic}", 5.0),
        "c2": (
            "Says when to ask a professional for help, and names at least one sign that should not wait until the next day",
            3.0,
        ),
        "c3": ("Answers in at least two sentences", 2.0),
        "c4": ("Invents a number or a source", -4.0),
    }
    rubric = tuple(Criterion(id=i, text=text, points=points) for i, (text, points) in texts.items())
    return Task(id=task_id, domain=domain, messages=(Message(role="user", content=f"Tell me about {topic}."),), rubric=rubric)


TASKS = {
    t.id: t
    for t in (
        task("fever-1", "a fever", "medical"),
        task("tides-2", "the tides", "science"),
        task("letter-3", "a letter of thanks", "writing"),
        task("innkeeper-4", "an old inn, as its keeper", "role-play"),
        task("shirt-5", "ironing a shirt", "instruction-following"),
        task("rash-6", "a rash", "medical"),
    )
}


def interval(estimate: float, half: float = 0.12) -> Interval:
    return Interval(estimate=estimate, low=estimate - half, high=estimate + half, level=0.975)


def criterion(criterion_id: str, text: str, points: float, *parents: str) -> Criterion:
    return Criterion(id=criterion_id, text=text, points=points, parents=parents)


class SyntheticRun:
    """Writes one run; the attributes say what a reader must find."""

    def __init__(self, root: Path, steps: int = STEPS):
        self.run = RunDir(root)
        self.run.rollouts.mkdir(parents=True)
        self.steps = steps
        self.rng = random.Random(3)
        self.harness = Harness()
        self.decisions: list[Decision] = []
        self.rewards: list[float] = []
        self.visits: list[Visit] = []
        self.last_visit: dict[str, str] = {}
        self.run.tasks.write_text("".join(t.model_dump_json() + "\n" for t in TASKS.values()))
        self.journal = Journal(self.run.journal)
        self.journal.append(0, RunRecord(seed=0))

    def write(self, beat_age: float = 5.0, phase: str = "update") -> "SyntheticRun":
        self.run.config.write_text(yaml.safe_dump({**CONFIG, "train": {**CONFIG["train"], "steps": self.steps}}))
        self.run.defaults.write_text(yaml.safe_dump(DEFAULTS))
        spent = {"requests": self.steps, "prompt_tokens": 1000 * self.steps, "completion_tokens": 0, "usd": COST * self.steps}
        self.run.usage.write_text(json.dumps({"judge": spent}))
        self.evaluate(0)
        for step in range(self.steps):
            if step and step % EVERY == 0:
                self.round(step)
            self.step(step)
            if step + 1 in (self.steps // 2, self.steps):
                self.evaluate(step + 1)
        self.journal.append(7, AlertRecord(name="clipped", text="70% of responses were cut at 24 tokens for 3 steps; raise it"))
        self.journal.close()
        self.run.beat(phase=phase, step=self.steps, steps=self.steps, time=time.time() - beat_age)
        return self

    def evaluate(self, step: int) -> None:
        gold = {f"h{k}": min(1.0, 0.3 + 0.4 * step / self.steps + 0.02 * k) for k in range(5)}
        score = {i: g + 0.1 for i, g in gold.items()}
        self.journal.append(step, EvaluationRecord(step=step, score=score, gold=gold))

    def step(self, step: int) -> None:
        chosen = self.rng.sample(sorted(TASKS), 4)
        rollouts, visits = [], []
        for place, task_id in enumerate(chosen):
            group = [self.rollout(step, task_id, place * GROUP + k, k) for k in range(GROUP)]
            rollouts += group
            visits.append(self.visit(step, place, task_id, group))
        self.visits += visits
        RolloutStore(self.run.rollouts).write(f"step-{step:06d}", rollouts)
        for visit in visits:
            for hindsight in self.hindsights(visit):
                self.journal.append(step, hindsight)
            self.journal.append(step, visit)
            self.last_visit[visit.task_id] = visit.id
        scores = [s for v in visits for s in v.scored]
        reward = sum(scores) / len(scores)
        self.rewards.append(reward)
        pairs = sum(v.shares.pairs for v in visits)
        metrics = {
            "reward": reward,
            "reward/plain": reward - 0.01,
            "frac_reward_zero_std": sum(len(set(v.scored)) == 1 for v in visits) / 4,
            "rollouts/unscored": 1 - len(scores) / (4 * GROUP),
            "completions/clipped_ratio": sum(v.clipped for v in visits) / (4 * GROUP),
            "rollouts/guided": sum(g for v in visits for g in v.guided) / (4 * GROUP),
            "entropy": 1.2 - 0.02 * step,
            "harness/version": float(self.harness.version),
        }
        if any(any(v.guided) for v in visits):
            metrics["reward/guided"] = reward + 0.08
        for name in ("blind", "saturated", "spurious", "agree"):
            metrics[f"pairs/{name}"] = sum(getattr(v.shares, name) * v.shares.pairs for v in visits) / pairs
        seconds = {"step_time": 2.0, "rollout": 2.0 * (step + 1), "evolve": 9.0 * (step // EVERY)}
        usage = {"usage/judge/usd": COST * (step + 1), "usage/judge/prompt_tokens": 1000.0 * (step + 1)}
        with open(self.run.metrics, "a") as file:
            file.write(json.dumps({"step": step + 1, "metrics": metrics, "seconds": seconds, "usage": usage}) + "\n")

    def measured_on(self, step: int, edit_id: str) -> tuple[str, ...]:
        """Fresh rollouts of the frozen policy, in a file of their own."""
        name = f"round-{step:04d}-{edit_id}"
        task_id = edit_id.split("-", 1)[1].rsplit("-", 1)[0]
        made = [self.rollout(step, task_id, k, k).model_copy(update={"id": f"{name}/{k}"}) for k in range(4)]
        RolloutStore(self.run.rollouts).write(name, made)
        return tuple(r.id for r in made)

    def rollout(self, step: int, task_id: str, number: int, seat: int) -> Rollout:
        entry = self.harness.of(TASKS[task_id])
        skill = 0.15 + 0.6 * step / self.steps
        verdicts = []
        for k, c in enumerate(entry.rubric):
            if self.rng.random() < 0.02:
                verdicts.append(Verdict.unscored(c.id, "timeout"))
            else:
                met = self.rng.random() < (skill if k == 0 else 0.2 if c.points < 0 else 0.5)
                verdicts.append(Verdict.of(c.id, met, f"It {'does' if met else 'does not'}."))
        positive = sum(c.points for c in entry.rubric if c.points > 0)
        won = sum(c.points for c, v in zip(entry.rubric, verdicts, strict=True) if v.status == "met")
        unscored = sum(v.status == "unscored" for v in verdicts)
        guided = bool(entry.guidance) and seat % 2 == 1
        text = TRICKY if number == 0 else f"It often comes from a virus. Rest and drink. ({task_id}, step {step}, seat {seat})"
        return Rollout(
            id=f"step-{step:06d}/{number}",
            task_id=task_id,
            text=text,
            tokens=20 + seat,
            clipped=seat == 5,
            guidance="Keep in mind:\n- " + entry.guidance[-1].text if guided else None,
            verdicts=tuple(verdicts),
            score=None if unscored else max(0.0, min(1.0, won / positive)),
        )

    def visit(self, step: int, place: int, task_id: str, group: list[Rollout]) -> Visit:
        entry = self.harness.of(TASKS[task_id])
        orders = tuple(
            PairOrder.model_validate({"first": i, "second": j, "order": self.rng.choice([-1, 0, 1])})
            for j in range(GROUP)
            for i in range(j)
        )
        shares, health = group_shares(group, entry.rubric, orders)
        return Visit(
            id=f"v{step}-{place}-{task_id}",
            step=step,
            task_id=task_id,
            domain=TASKS[task_id].domain,
            harness_version=self.harness.version,
            level=entry.level,
            rollout_ids=tuple(r.id for r in group),
            guided=tuple(r.guidance is not None for r in group),
            guidance_ids=tuple(f.id for f in entry.guidance),
            scores=tuple(r.score for r in group),
            lengths=tuple(r.tokens for r in group),
            clipped=1,
            shares=shares,
            criteria=health,
            quality=orders,
        )

    def hindsights(self, visit: Visit) -> list[Hindsight]:
        """Of edits accepted since the task's last visit; only those of the first rounds are looked back on here."""
        return [
            Hindsight(
                edit_id=d.edit.id, visit_id=visit.id, pair_class=d.edit.claim.pair_class, claimed=0.3, observed=0.12, visits=2
            )
            for d in self.decisions
            if d.outcome == "accepted" and d.edit.task_id == visit.task_id and visit.step - d.step < 2 and d.round < 4
        ]

    def round(self, step: int) -> None:
        """The edits of one round from a fixed script, so that every operation and outcome occurs."""
        number = step // EVERY
        made = [self.decision(step, number, *spec) for spec in SCRIPT.get(number, ())]
        accepted = {
            d.edit.task_id: apply(d.edit, self.harness.of(TASKS[d.edit.task_id])) for d in made if d.outcome == "accepted"
        }
        for d in made:
            self.journal.append(step, d)
        task_ids = tuple(dict.fromkeys(d.edit.task_id for d in made))
        last = self.last_visit
        attributions = tuple(
            Attribution(
                task_id=d.edit.task_id,
                pair_class=d.edit.claim.pair_class,
                interface=d.edit.interface,
                criterion_ids=("c1",),
                reason=f"62% of pairs of {d.edit.task_id} are {d.edit.claim.pair_class}",
                evidence=(last[d.edit.task_id],) if d.edit.task_id in last else (),
                probes=(PROBE,) if d.edit.interface == "g" else (),
                overruled="saturated, through p: the group is easy" if d.edit.id == "r1-fever-1-1" else None,
                author="rules",
            )
            for d in made
        )
        recalled = {i: (*(d.edit.id for d in self.decisions[-2:]), "v0-0-unknown") for i in task_ids}
        cost = {"rollouts": 16 * len(made), "quality_calls": 40 * len(made), "failures": {"proposer timeout": 1}}
        record = RoundRecord(round=number, task_ids=task_ids, attributions=attributions, recalled=recalled, **cost)
        self.journal.append(step, record)
        if accepted:
            ids = tuple(d.edit.id for d in made if d.outcome == "accepted")
            self.harness = self.harness.updated(accepted)
            self.journal.append(step, HarnessRecord(version=self.harness.version, edit_ids=ids, entries=accepted))
        self.decisions += made

    def decision(self, step, number, task_id, operation, pair_class, outcome, gain, revision=0, secondary=()) -> Decision:
        cited = (self.last_visit[task_id],) if task_id in self.last_visit else ()
        edit = Edit(
            evidence=cited,
            id=f"r{number}-{task_id}-{revision + 1}",
            task_id=task_id,
            operation=operation,
            secondary=secondary,
            claim=Claim(pair_class=pair_class, reason=f"fewer {pair_class} pairs"),
            proposer="heuristic",
        )
        measurement = None
        sentence = "Refused before measuring: it reverses r1-fever-1-1 within two visits."
        if gain is not None:
            sentence = f"{outcome.capitalize()}: the share changed by {gain:+.2f} (97.5% interval) on 16 fresh rollouts."
            harm = 0.22 if gain < -0.1 else 0.03
            measurement = Measurement(
                edit_id=edit.id,
                quantity="useful share (agree - spurious)" if edit.interface == "c" else f"share not {pair_class}",
                before=PairShares(blind=0.5, saturated=0.1, spurious=0.3, agree=0.1, pairs=1),
                after=PairShares(blind=0.3, saturated=0.15, spurious=0.1, agree=0.45, pairs=1),
                mean_score_before=0.31,
                mean_score_after=0.44,
                effect=interval(gain),
                noise=0.11,
                p_value=0.002 if outcome == "accepted" else 0.2,
                p_needed=0.0125,
                change=ScoreChange(by_rollouts=0.02, by_criteria=0.13),
                guards=(
                    Guard(name="agree share", harm=interval(harm, 0.08), limit=0.1, holds=harm < 0.1),
                    Guard(name="rank agreement with Q", harm=interval(-0.05, 0.1), limit=0.1, holds=True),
                    Guard(name="score", task_id="rash-6", harm=interval(0.01, 0.05), limit=0.05, holds=True),
                ),
                rollouts=16,
                quality_calls=40,
                looks=2,
                rollout_ids=self.measured_on(step, edit.id),
            )
        return Decision(
            edit=edit, step=step, round=number, outcome=outcome, sentence=sentence, measurement=measurement, revision=revision
        )


PROBE = Probe(
    kind="full_hint",
    criterion_ids=("c1",),
    before=0.1,
    after=0.7,
    helps=True,
    rollouts=4,
    sentence="Told all of what the criterion wants, the policy meets it.",
)
HINT = GuidanceField(id="g1", text="Name the sign that should not wait.", criterion_ids=("c2",))
EASIER = (Message(role="user", content="Tell me about the tides.\nStart with the moon."),)
SCRIPT: dict[int, tuple] = {
    1: (
        ("fever-1", RewordCriterion(criterion_id="c1", text="Names infection as the usual cause of a fever"), "spurious", "accepted", 0.3),
        ("tides-2", SetLevel(op="lower_level", level=0.5), "saturated", "inconclusive", 0.04),
        ("rash-6", AddField(field=HINT), "blind", "accepted", 0.28),
    ),
    2: (
        ("letter-3", RepriceCriterion(criterion_id="c3", points=0.5), "saturated", "rejected", -0.2),
        ("letter-3", CreateCriterion(criterion=criterion("n1", "Thanks for something specific", 2)), "saturated", "accepted", 0.22, 1),
        ("shirt-5", RewriteTask(direction="clearer", messages=EASIER), "blind", "rejected", 0.01),
    ),
    3: (
        ("tides-2", SplitCriterion(criterion_id="c1", criteria=(criterion("s1", "Names the moon", 3), criterion("s2", "Names gravity", 2))), "blind", "accepted", 0.18),
        ("fever-1", RewordCriterion(criterion_id="c1", text="States the main cause of a fever"), "spurious", "rejected", None),
        ("innkeeper-4", DeleteCriterion(criterion_id="c3"), "saturated", "accepted", 0.35, 0, (RepriceCriterion(criterion_id="c2", points=4),)),
    ),
    4: (("shirt-5", SetLevel(op="raise_level", level=2), "saturated", "accepted", 0.15), ("rash-6", RetireField(field_id="g1"), "saturated", "rejected", -0.15)),
    5: (("letter-3", MergeCriteria(criterion_ids=("c2", "c3"), criterion=criterion("m1", "Is whole", 4)), "spurious", "inconclusive", 0.08),),
}  # fmt: skip


if __name__ == "__main__":
    for name, phase, age in (("lab-now", "update", 3), ("lab-done", "finished", 4000), ("lab-silent", "judge", 600)):
        SyntheticRun(Path(sys.argv[1]) / name).write(age, phase)
