"""Accepted edits wait for a person: nothing is applied unasked, nothing rejected is applied, nothing is measured twice."""

import json
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
from langgraph.checkpoint.sqlite import SqliteSaver

from agents.case import Case, RoundResult
from agents.checks import Refused, near_duplicate, rejected, without_history
from agents.config import EvolverBudget, EvolverConfig
from agents.limits import Traffic
from agents.tool import evolver_tool
from memory.approval import PHASE, Answer, append_answer, digest, read_waiting
from memory.decision import Decision
from memory.edit import SetLevel, apply
from memory.errors import ConfigError
from memory.harness import Harness
from memory.journal import RoundRecord, read_journal
from memory.rundir import RunDir
from tests.agents.cases import BLIND, case, edit_with
from tests.agents.test_evolver import TASKS, evolver, memory  # noqa: F401 - a fixture
from tests.builders import criterion, decision, field_edit, task
from tests.command import ENVIRONMENT, ROOT, SMOKE, command
from training.config import load_config
from training.loop.approval import Hold, Unanswered
from training.loop.checkpoint import check_resumable
from training.loop.progress import Progress
from training.loop.round import EvolverRound
from training.loop.spending import Spending

OF = task("t", criterion("alpha"), criterion("beta"))
RECORD = RoundRecord(round=1, task_ids=("t", "u"), rollouts=32, judged=40, quality_calls=7)


def result_of(*outcomes: str) -> RoundResult:
    """A case per outcome, each with one decision; the accepted ones come with their new entries."""
    cases, entries = [], {}
    for k, outcome in enumerate(outcomes):
        edit = field_edit(task_id=f"t{k}", edit_id=f"e{k}")
        taken = outcome == "accepted"
        cases.append(
            Case(
                task_id=edit.task_id,
                status="accepted" if taken else "given_up",
                decisions=(decision(edit, outcome, step=4),),
                accepted=edit if taken else None,
            )
        )
        if taken:
            entries[edit.task_id] = apply(edit, Harness().of(OF))
    return RoundResult(cases=tuple(cases), entries=entries)


class Desk:
    """A person at a clock that only sleeping moves: ``does[seconds]`` is what happens that long after the wait began."""

    def __init__(self, folder: Path, **settings):
        self.run = RunDir(folder)
        self.run.root.mkdir(exist_ok=True)
        self.now, self.does, self.beats, self.said, self.asked_to_stop = 1000.0, {}, [], [], False
        progress = Progress(10, self.run, True)
        progress.say = self.said.append  # type: ignore[method-assign]
        assert progress.heart is not None
        progress.heart.beat = lambda **state: self.beats.append(state)  # type: ignore[method-assign]
        config = EvolverConfig(approval="human", **{"approval_timeout": 100.0, **settings})
        self.hold = Hold(config, self.run, progress, lambda: self.asked_to_stop, lambda: self.now, self.sleep)

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds
        for at in sorted(at for at in self.does if self.now >= 1000 + at):
            self.does.pop(at)()

    def answer(self, edit_id: str, word: str, note: str = "", told: str | None = None) -> None:
        waiting = read_waiting(self.run.waiting)
        assert waiting is not None
        told = told or waiting.held.get(edit_id, "?")
        append_answer(self.run.inbox, Answer.model_validate({"edit_id": edit_id, "digest": told, "answer": word, "note": note}))

    def wait(self, result: RoundResult, record: RoundRecord = RECORD, on_record=()):
        return self.hold.wait(4, "round-1-abc", result, record, on_record)


def by_id(result: RoundResult) -> dict[str, Decision]:
    return {d.edit.id: d for d in result.decisions}


def test_a_person_approves_and_rejects(tmp_path):
    desk = Desk(tmp_path)
    desk.does = {
        5: lambda: desk.answer("e0", "note", "looks odd"),
        9: lambda: desk.answer("e0", "reject", "it gives the answer away"),
        20: lambda: desk.answer("e1", "approve"),
    }
    found, record = desk.wait(result_of("accepted", "accepted", "rejected"))
    no, yes, untouched = (by_id(found)[f"e{k}"] for k in range(3))
    assert (no.outcome, no.approval.granted, no.approval.by) == ("rejected", False, "person")
    assert no.sentence == "Rejected by a person: looks odd / it gives the answer away. The critic had said: because"
    assert (yes.outcome, yes.approval.granted) == ("accepted", True)
    assert yes.sentence == "Approved by a person. The critic had said: because"
    assert untouched == by_id(result_of("accepted", "accepted", "rejected"))["e2"]
    assert list(found.entries) == ["t1"], "only what was approved is applied"
    assert [c.accepted and c.accepted.id for c in found.cases] == [None, "e1", None]
    assert record == RECORD
    assert desk.now < 1025, "the last answer ends the wait"


def test_the_heartbeat_says_who_is_waited_for_and_until_when(tmp_path):
    desk = Desk(tmp_path)
    desk.does = {5: lambda: desk.answer("e0", "approve")}
    desk.wait(result_of("accepted"))
    waits = [beat for beat in desk.beats if beat["phase"] == PHASE]
    assert len(waits) > 1, "signs of life go on"
    assert {beat["reason"] for beat in waits} == {
        "1 edit waits for a person until 1970-01-01 00:18 UTC; without an answer it is rejected (evolver.approval_default)"
    }
    assert desk.hold.progress._reason is None


@pytest.mark.parametrize("default", ["accept", "reject"])
def test_without_an_answer_the_default_applies_and_says_so(tmp_path, default):
    desk = Desk(tmp_path, approval_default=default)
    desk.does = {5: lambda: desk.answer("e0", "note", "I am not sure"), 8: lambda: desk.answer("e1", "approve")}
    found, _ = desk.wait(result_of("accepted", "accepted"))
    silent = by_id(found)["e0"]
    done = "accepted" if default == "accept" else "rejected"
    assert silent.outcome == done
    assert silent.approval.by == "default"
    assert silent.approval.notes == ("I am not sure",)
    assert silent.sentence == (
        f"{done.capitalize()} by default (evolver.approval_default), since nobody answered within 100 s: I am not sure. "
        "The critic had said: because"
    )
    assert by_id(found)["e1"].approval.by == "person"
    assert ("t0" in found.entries) == (default == "accept")
    assert desk.now == 1100


def test_an_answer_at_the_last_moment_counts(tmp_path):
    desk = Desk(tmp_path)
    desk.does = {100: lambda: desk.answer("e0", "approve")}
    assert by_id(desk.wait(result_of("accepted"))[0])["e0"].approval.by == "person"


def test_a_person_cannot_apply_what_the_critic_did_not_accept(tmp_path):
    desk = Desk(tmp_path)
    before = result_of("rejected", "inconclusive", "accepted")
    for k in (0, 1):
        told = digest(by_id(before)[f"e{k}"])
        append_answer(desk.run.inbox, Answer(edit_id=f"e{k}", digest=told, answer="approve"))
    desk.does = {3: lambda: desk.answer("e2", "reject")}
    found, _ = desk.wait(before)
    assert [d.outcome for d in found.decisions] == ["rejected", "inconclusive", "rejected"]
    assert found.entries == {}


def test_nothing_waits_where_nothing_was_accepted(tmp_path):
    desk = Desk(tmp_path)
    before = result_of("rejected", "inconclusive")
    assert desk.wait(before) == (before, RECORD)
    assert desk.now == 1000
    assert not desk.run.waiting.exists()
    assert desk.beats == []


def test_foreign_lines_are_warned_of_once_and_old_answers_never(tmp_path):
    desk = Desk(tmp_path)
    append_answer(desk.run.inbox, Answer(edit_id="old", digest="d", answer="approve"))
    append_answer(desk.run.inbox, Answer(edit_id="nobody", digest="d", answer="approve"))
    with open(desk.run.inbox, "a") as file:
        file.write("{not json\n")
    desk.does = {5: lambda: desk.answer("e0", "approve", told="another version"), 30: lambda: desk.answer("e0", "reject")}
    found, _ = desk.wait(result_of("accepted"), on_record={"old"})
    assert by_id(found)["e0"].outcome == "rejected", "an answer to another version of the edit is no answer to this one"
    warned = [line for line in desk.said if "inbox.jsonl:" in line]
    assert len(warned) == 1
    assert "line 3" in warned[0]
    assert "1 more" in warned[0]


def test_a_request_to_stop_ends_the_wait_and_the_next_one_reads_the_same_inbox(tmp_path):
    desk = Desk(tmp_path)

    def stop() -> None:
        desk.asked_to_stop = True

    desk.does = {5: lambda: desk.answer("e0", "approve"), 9: stop}
    with pytest.raises(Unanswered, match=r"1 accepted edits wait for a person.*--resume"):
        desk.wait(result_of("accepted", "accepted"))
    assert desk.run.waiting.exists()
    again = Desk(tmp_path)
    again.does = {5: lambda: again.answer("e0", "reject"), 7: lambda: again.answer("e1", "approve")}
    found, record = again.wait(result_of("accepted", "accepted"), RoundRecord(round=1, task_ids=("t", "u")))
    assert [d.outcome for d in found.decisions] == ["accepted", "accepted"], "the first word stands, over a kill"
    assert (record.rollouts, record.judged, record.quality_calls) == (32, 40, 7), "what was paid before the kill is on record"
    other = Desk(tmp_path)
    other.does = {1: lambda: other.answer("e0", "approve")}
    fresh = RoundRecord(round=1, task_ids=("t",), rollouts=5)
    assert other.wait(result_of("accepted"), fresh)[1] == fresh, "another round's costs are not this one's"


def test_a_person_is_remembered_as_a_rejection_and_silence_is_not():
    level = edit_with(SetLevel(op="lower_level", level=0.5), pair_class="saturated")
    found = {}
    for by in ("person", "default"):
        told = {"granted": False, "by": by}
        refused = Decision.model_validate({**decision(level, "rejected").model_dump(), "approval": told})
        found[by] = case(BLIND, decisions=(refused,))
    again = level.model_copy(update={"id": "again"})
    assert near_duplicate(again, level)
    assert [len(rejected(found[by])) for by in ("person", "default")] == [1, 0]
    with pytest.raises(Refused, match="near-duplicate of the rejected edit"):
        without_history(again, found["person"])
    without_history(again, found["default"])


def test_settings_are_checked_and_only_the_time_may_change_on_resume():
    with pytest.raises(ConfigError, match=r"evolver\.aproval is not a setting; did you mean 'approval'"):
        load_config(None, ["evolver.aproval=human"])
    with pytest.raises(ConfigError, match=r"evolver\.approval is 'person'"):
        load_config(None, ["evolver.approval=person"])
    with pytest.raises(ConfigError, match=r"evolver\.approval_timeout"):
        load_config(None, ["evolver.approval=human", "evolver.approval_timeout=.inf"])
    old = load_config(None, ["evolver.approval=human"])
    assert old.evolver.approval_default == "reject"
    assert load_config(None).evolver.approval == "none"
    check_resumable(old, load_config(None, ["evolver.approval=human", "evolver.approval_timeout=5"]), None, 1)
    with pytest.raises(Exception, match=r"evolver\.approval_default"):
        check_resumable(old, load_config(None, ["evolver.approval=human", "evolver.approval_default=accept"]), None, 1)


# ---- the real evolver, checkpointer and journal ----


class Dead(BaseException):
    """Stands for a kill: nothing catches it."""


def round_of(memory, desk: Desk | None, tmp_path) -> EvolverRound:  # noqa: F811
    saver = SqliteSaver(sqlite3.connect(tmp_path / "rounds.sqlite", check_same_thread=False))
    built = evolver(memory, checkpointer=saver, every=10)
    counted = built.critic.rehearsal
    counted.rollouts = counted.judged = counted.quality_calls = 0
    counted.open, counted.close = lambda generate, ceiling: None, lambda: None
    roll_out = counted.roll_out

    def counting(tag, requests):
        counted.rollouts += sum(r.count for r in requests)
        return roll_out(tag, requests)

    counted.roll_out = counting
    config = load_config(None, ["evolver.every=10", "train.steps=100", "sampling.levels=[0.25,0.5,1,2]"])
    spending = Spending(EvolverBudget(), counted, Traffic())
    progress = Progress(100, None, False)
    return EvolverRound(config, memory, built, evolver_tool(built), counted, spending, progress, desk.hold if desk else None)


def journal_of(run: RunDir) -> list:
    return [e.record for e in read_journal(run.journal) if e.kind in ("decision", "round", "harness")]


def test_a_round_killed_in_the_wait_measures_nothing_again_and_applies_once(memory, tmp_path):  # noqa: F811
    run = memory.run
    dying = Desk(run.root)

    def die() -> None:
        raise Dead

    dying.does = {10: die}
    first = round_of(memory, dying, tmp_path)
    with pytest.raises(Dead):
        first.run(10, lambda prompts, seed: [], 2, "weights")
    paid = first.rehearsal.rollouts
    assert paid > 0
    assert journal_of(run) == [], "nothing is on record before a person has spoken"
    assert memory.harness.version == 0
    waiting = read_waiting(run.waiting)
    assert waiting is not None
    assert len(waiting.held) >= 2
    no, *yes = sorted(waiting.held)

    again = Desk(run.root)
    again.answer(no, "reject", "not this one")
    for edit_id in yes:
        again.answer(edit_id, "approve")
    second = round_of(memory, again, tmp_path)
    second.run(10, lambda prompts, seed: [], 2, "weights")
    assert second.rehearsal.rollouts == 0, "nothing is measured twice"
    decisions = {r.edit.id: r for r in journal_of(run) if isinstance(r, Decision)}
    assert [r.rollouts for r in journal_of(run) if isinstance(r, RoundRecord)] == [paid]
    assert decisions[no].outcome == "rejected"
    assert "not this one" in decisions[no].sentence
    versions = [r for r in journal_of(run) if hasattr(r, "edit_ids")]
    assert [sorted(v.edit_ids) for v in versions] == [yes]
    assert decisions[no].edit.task_id not in versions[0].entries
    assert memory.harness.version == 1
    assert not run.waiting.exists()


def test_without_a_hold_the_same_round_is_recorded_at_once(memory, tmp_path):  # noqa: F811
    plain = round_of(memory, None, tmp_path)
    plain.run(10, lambda prompts, seed: [], 2, "weights")
    assert memory.harness.version == 1
    assert all(r.approval is None for r in journal_of(memory.run) if isinstance(r, Decision))
    assert not memory.run.waiting.exists()


# ---- the command ----

HELD_RUN = [
    *SMOKE, "train.steps=3", "train.deepspeed=null", "evolver.approval=human", "tasks.heldout=[]",
    "evolver.critic.acceptance=mean", "evolver.critic.rollouts=[4]", "evolver.revisions=0", "evolver.critic.guard_limit=1",
]  # fmt: skip


def test_a_run_killed_while_it_waits_goes_on_with_the_answers(tmp_path):
    """Killed with SIGKILL in the first round's wait; a person answers meanwhile; the resumed run applies what was approved."""
    run = RunDir(tmp_path / "held")
    started = command(*HELD_RUN, "--run-dir", str(run.root))
    process = subprocess.Popen(started, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    deadline = time.monotonic() + 200
    try:
        while not run.waiting.exists() or json.loads(run.heartbeat.read_text())["phase"] != PHASE:
            assert process.poll() is None, process.stdout.read().decode()
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    waiting = read_waiting(run.waiting)
    assert waiting is not None
    assert not any(isinstance(e.record, Decision) for e in read_journal(run.journal))
    measured = {p.name: p.stat().st_mtime_ns for p in run.rollouts.glob(f"round-{waiting.round.round:04d}-*")}
    assert measured
    no, *yes = sorted(waiting.held)
    for edit_id, word in ((no, "reject"), *((i, "approve") for i in yes)):
        append_answer(run.inbox, Answer.model_validate({"edit_id": edit_id, "digest": waiting.held[edit_id], "answer": word}))

    resumed = command("--resume", str(run.root), "evolver.approval_timeout=0.5")
    done = subprocess.run(resumed, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {p.name: p.stat().st_mtime_ns for p in run.rollouts.glob(f"round-{waiting.round.round:04d}-*")} == measured
    records = [e.record for e in read_journal(run.journal)]
    held = {r.edit.id: r for r in records if isinstance(r, Decision) and r.edit.id in waiting.held}
    assert {i: (d.outcome, d.approval.by) for i, d in held.items()} == {
        no: ("rejected", "person"),
        **dict.fromkeys(yes, ("accepted", "person")),
    }
    applied = [i for r in records if hasattr(r, "edit_ids") for i in r.edit_ids]
    assert sorted(i for i in applied if i in waiting.held) == yes
    (record,) = [r for r in records if isinstance(r, RoundRecord) and r.round == waiting.round.round]
    assert record.rollouts == waiting.round.rollouts > 0
    later = [r for r in records if isinstance(r, Decision) and r.approval is not None and r.edit.id not in waiting.held]
    assert all((d.outcome, d.approval.by) == ("rejected", "default") for d in later)
    assert not run.waiting.exists()
    assert json.loads(run.heartbeat.read_text())["phase"] == "finished"
