"""How the console bears a long run: writes one (default 5,000 steps of 512 rollouts), then times opening and turning pages.

python -m benchmarks.console FOLDER [--steps 5000] [--groups 32] [--size 16]

Needs about 4 GB in FOLDER for the default. An existing run there is measured as it is. Pages are run by Streamlit's own test
runner, without a browser; the memory is this process's, which holds the reader and every page.
"""

import argparse
import json
import random
import resource
import sys
import time
from pathlib import Path

import yaml
from streamlit.testing.v1 import AppTest

import ui.console
from memory.decision import Attribution, Decision, Guard, Hindsight, Interval, Measurement, ScoreChange
from memory.edit import AddField, Claim, Edit, RewordCriterion, SetLevel
from memory.harness import GuidanceField, Harness
from memory.journal import EvaluationRecord, HarnessRecord, Journal, RoundRecord, RunRecord
from memory.rundir import RunDir
from memory.task import Criterion, Message, Task, Verdict
from memory.visit import CriterionHealth, PairOrder, PairShares, Rollout, Visit
from ui.readers import RunReader

TASKS, CRITERIA, EVERY, EDITS = 2_000, 6, 10, 12
STEP = "step-STEPNO"
"""Stands for the step in the lines that are written once and repeated."""


def write(root: Path, steps: int, groups: int, size: int) -> None:
    """A run of this length, with real records; rollouts and visits of a step repeat with other ids and shares."""
    run = RunDir(root)
    run.rollouts.mkdir(parents=True)
    rng = random.Random(0)
    tasks = [_task(k) for k in range(TASKS)]
    run.tasks.write_text("".join(t.model_dump_json() + "\n" for t in tasks))
    run.config.write_text(
        yaml.safe_dump({"train": {"steps": steps}, "evolver": {"enabled": True, "every": EVERY}, "guidance": {"max_fields": 2}})
    )
    template = "".join(_rollout(k).model_dump_json(exclude_defaults=True) + "\n" for k in range(groups * size))
    journal = Journal(run.journal)
    journal.append(0, RunRecord(seed=0))
    harness = Harness()
    with open(run.metrics, "w") as metrics:
        for step in range(steps):
            if step and step % EVERY == 0:
                harness = _round(journal, step, tasks, harness, rng)
            if step % 100 == 0:
                scores = {f"h{k}": rng.random() for k in range(200)}
                journal.append(step, EvaluationRecord(step=step, score=scores, gold=scores))
            chosen = rng.sample(range(TASKS), groups)
            visits = [_visit(step, k, tasks[t], harness, size, rng) for k, t in enumerate(chosen)]
            for visit in visits:
                journal.append(step, visit)
            text = template.replace(STEP, f"step-{step:06d}")
            for k, t in enumerate(chosen):
                text = text.replace(f'"task_id":"group-{k:03d}"', f'"task_id":"{tasks[t].id}"')
            (run.rollouts / f"step-{step:06d}.jsonl").write_text(text)
            metrics.write(json.dumps({"step": step + 1, "metrics": _metrics(visits, rng), "seconds": {}}) + "\n")
    journal.close()
    run.beat(phase="finished", step=steps, steps=steps, time=time.time())


def _task(number: int) -> Task:
    rubric = tuple(
        Criterion(id=f"c{k}", text=f"Says the {k}. thing that matters about topic {number}", points=5.0 - 2 * (k == 5) * 4)
        for k in range(CRITERIA)
    )
    domain = ("medical", "science", "writing", "role-play", "instruction-following")[number % 5]
    return Task(
        id=f"task-{number:05d}", domain=domain, messages=(Message(role="user", content=f"Topic {number}?"),), rubric=rubric
    )


def _rollout(number: int) -> Rollout:
    verdicts = tuple(Verdict.of(f"c{k}", (number + k) % 3 == 0, "It says so in its second sentence.") for k in range(CRITERIA))
    text = f"Response {number}. " + "It depends on what was asked, and that is told here at some length. " * 4
    return Rollout(
        id=f"{STEP}/{number}",
        task_id=f"group-{number // 16:03d}",
        text=text,
        tokens=80,
        verdicts=verdicts,
        score=(number % 7) / 7,
    )


def _shares(rng: random.Random) -> PairShares:
    parts = [rng.random() for _ in range(4)]
    blind, saturated, spurious, agree = (p / sum(parts) for p in parts)
    return PairShares(blind=blind, saturated=saturated, spurious=spurious, agree=agree, pairs=28.0)


def _visit(step: int, place: int, task: Task, harness: Harness, size: int, rng: random.Random) -> Visit:
    entry = harness.of(task)
    shares = _shares(rng)
    pairs = [(i, j) for j in range(size) for i in range(j)]
    return Visit(
        id=f"v{step}-{place}-{task.id}",
        step=step,
        task_id=task.id,
        domain=task.domain,
        harness_version=harness.version,
        level=entry.level,
        rollout_ids=tuple(f"step-{step:06d}/{place * size + k}" for k in range(size)),
        guided=tuple(bool(entry.guidance) and k % 2 == 1 for k in range(size)),
        guidance_ids=tuple(f.id for f in entry.guidance),
        scores=tuple((place * size + k) % 7 / 7 for k in range(size)),
        lengths=(80,) * size,
        clipped=0,
        shares=shares,
        criteria=tuple(CriterionHealth(criterion_id=c.id, pass_rate=rng.random(), unscored=0, shares=shares) for c in entry.rubric),
        quality=tuple(PairOrder(first=i, second=j, order=1 if rng.random() < 0.5 else -1) for i, j in rng.sample(pairs, min(28, len(pairs)))),
    )  # fmt: skip


def _metrics(visits: list[Visit], rng: random.Random) -> dict[str, float]:
    scores = [s for v in visits for s in v.scored]
    shares = _shares(rng)
    classes = {f"pairs/{name}": getattr(shares, name) for name in ("blind", "saturated", "spurious", "agree")}
    others = {f"other/{k}": rng.random() for k in range(30)}
    return {"reward": sum(scores) / len(scores), "frac_reward_zero_std": 0.1, "rollouts/unscored": 0.01, **classes, **others}


def _round(journal: Journal, step: int, tasks: list[Task], harness: Harness, rng: random.Random) -> Harness:
    number, made, entries = step // EVERY, [], {}
    for task in rng.sample(tasks, EDITS):
        decision = _decision(step, number, task, rng)
        made.append(decision)
        journal.append(step, decision)
        if decision.outcome == "accepted":
            entry = harness.of(task)
            entries[task.id] = entry.model_copy(update={"level": 2.0 if entry.level == 1.0 else 1.0})
    attributions = tuple(
        Attribution(
            task_id=d.edit.task_id, pair_class="blind", interface=d.edit.interface, reason="62% are blind", author="rules"
        )
        for d in made
    )
    recalled = {d.edit.task_id: (f"r{max(1, number - 1)}-0",) for d in made}
    ids = tuple(d.edit.task_id for d in made)
    journal.append(step, RoundRecord(round=number, task_ids=ids, attributions=attributions, recalled=recalled))
    for d in made:
        if d.outcome == "accepted":
            seen = Hindsight(edit_id=d.edit.id, visit_id="v", pair_class="blind", claimed=0.2, observed=rng.gauss(0.1, 0.1))
            journal.append(step, seen)
    if not entries:
        return harness
    harness = harness.updated(entries)
    accepted = tuple(d.edit.id for d in made if d.outcome == "accepted")
    journal.append(step, HarnessRecord(version=harness.version, edit_ids=accepted, entries=entries))
    return harness


def _decision(step: int, number: int, task: Task, rng: random.Random) -> Decision:
    operation = rng.choice(
        [
            SetLevel(op="lower_level", level=0.5),
            AddField(field=GuidanceField(id="g1", text="Say when to ask for help.")),
            RewordCriterion(criterion_id="c1", text="Names the usual cause in plain words"),
        ]
    )
    claim = Claim(pair_class="blind", reason="fewer blind pairs")
    edit = Edit(id=f"r{number}-{task.id}-1", task_id=task.id, operation=operation, claim=claim, proposer="heuristic")
    gain = rng.gauss(0.1, 0.1)
    effect = Interval(estimate=gain, low=gain - 0.1, high=gain + 0.1)
    guard = Guard(name="agree share", harm=Interval(estimate=0.0, low=-0.1, high=0.1), limit=0.1, holds=True)
    measurement = Measurement(
        edit_id=edit.id, quantity="share not blind", before=_shares(rng), after=_shares(rng), mean_score_before=0.3,
        mean_score_after=0.4, effect=effect, noise=0.08, p_value=0.01, p_needed=0.025, guards=(guard,), rollouts=32,
        change=ScoreChange(by_rollouts=0.1, by_criteria=0.0), quality_calls=60, looks=2,
        rollout_ids=tuple(f"step-{step:06d}/{k}" for k in range(32)),
    )  # fmt: skip
    outcome = "accepted" if gain > 0.1 else rng.choice(["rejected", "inconclusive"])
    return Decision(
        edit=edit, step=step, round=number, outcome=outcome, sentence="It changed the share.", measurement=measurement
    )


def measure(root: Path) -> None:
    """Print seconds to read the run and to open each page, and the peak memory."""
    sys.argv = ["console.py", str(root)]
    start = time.perf_counter()
    view = RunReader(root).refresh()
    journal = RunDir(root).journal.stat().st_size / 1024**2
    print(f"journal {journal:,.0f} MiB, {len(view.visits):,} visits, {len(view.decisions):,} edits")
    print(f"read at first       {time.perf_counter() - start:6.2f} s")
    start = time.perf_counter()
    view.visits.fill()  # beside the first page; here it would take its time from what is measured next
    print(f"numbers of visits   {time.perf_counter() - start:6.2f} s")
    task_id = view.visits.task_ids[0]
    app = AppTest.from_file(Path(ui.console.__file__), default_timeout=120)
    for again in ("opened", "turned"):
        for page in ui.console.PAGES:
            app.query_params["page"] = page
            app.session_state["page"] = page
            if page in ("Tasks", "Rollouts"):
                app.query_params["task"] = task_id
            start = time.perf_counter()
            app.run()
            assert not app.exception, app.exception[0].stack_trace
            print(f"{again} {page:12}{time.perf_counter() - start:6.2f} s")
    print(f"peak memory         {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:6.0f} MiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--groups", type=int, default=32)
    parser.add_argument("--size", type=int, default=16)
    asked = parser.parse_args()
    root = asked.folder / "long"
    if not root.exists():
        write(root, asked.steps, asked.groups, asked.size)
    measure(root)


if __name__ == "__main__":
    main()
