"""Which tasks a round looks at, and when a person is told."""

from types import SimpleNamespace

import pytest

from memory.embedding import HashingEmbedding
from memory.memory import Memory
from memory.rundir import RunDir
from tests.builders import decision, field_edit, task, visit
from training.config import parse_config
from training.evaluate import paired_difference
from training.loop.alerts import Alerts
from training.loop.round import EvolverRound, flag_tasks, need, rested

GOOD, BLIND = ["alpha beta", "nothing"], ["nothing", "nothing"]
TASKS = {i: task(i) for i in ("blind", "good", "old")}


@pytest.fixture
def memory(tmp_path):
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, TASKS, HashingEmbedding())
    yield memory
    memory.close()
    lock.release()


def seen(memory, task_id, texts, step, quality=(1, 0)):
    memory.record(step, visit(TASKS[task_id], texts, list(quality), step)[0])


def test_tasks_most_in_need_come_first_and_stale_ones_wait(memory):
    seen(memory, "old", BLIND, 1)
    seen(memory, "good", GOOD, 12)
    seen(memory, "blind", BLIND, 13)
    config = parse_config({"evolver": {"every": 10}})
    assert flag_tasks(memory, 20, config) == ["blind", "good"]
    assert flag_tasks(memory, 20, parse_config({"evolver": {"every": 10, "max_tasks": 1}})) == ["blind"]


def test_a_round_that_is_not_held_leaves_the_rehearsal_closed(memory):
    """The policy is frozen in a round alone, so nothing may roll out afterwards."""
    said, state = [], []
    rehearsal = SimpleNamespace(open=lambda *_: state.append("open"), close=lambda: state.append("closed"))
    for reason in ("evolver.budget.run.rollouts=1 is used up (1 spent)", None):
        spending = SimpleNamespace(begin_round=lambda _: None, reached=lambda reason=reason: reason)
        held = EvolverRound(parse_config({}), memory, None, None, rehearsal, spending, SimpleNamespace(say=said.append))
        held.run(10, None, 2, "weights")
    assert state == ["open", "closed"] * 2
    assert len(said) == 1


def test_a_task_that_lost_its_signal_is_more_in_need_than_one_that_never_had_it():
    never = [visit(TASKS["good"], BLIND, [1, 0], s)[0] for s in range(2)]
    lost = [visit(TASKS["good"], GOOD, [1, 0], 0)[0], never[1]]
    assert need(lost, 4) > need(never, 4) > need([lost[0]], 4)


def test_tasks_edited_in_vain_rest_longer():
    visits = [visit(TASKS["blind"], BLIND, [1, 0], s)[0] for s in (10, 12)]
    in_vain = [decision(field_edit("blind"), step=10, number=1)]
    assert rested(visits, in_vain)
    assert not rested(visits[:1], in_vain)
    twice = [*in_vain, decision(field_edit("blind"), step=11, number=2)]
    assert not rested(visits, twice)
    assert rested(visits, [*twice, decision(field_edit("blind"), "accepted", step=11, number=3)])


def metrics(**changes):
    return {"rollouts/unscored": 0.0, **changes}


def test_alerts_are_said_once_until_they_have_passed(tmp_path):
    alerts = Alerts(tmp_path, 64)
    clipped = visit(TASKS["good"], GOOD)[0].model_copy(update={"clipped": 2})
    fine = visit(TASKS["good"], GOOD)[0]
    said = [[a.name for a in alerts.look([v], metrics())] for v in (clipped, clipped, clipped, clipped, fine, clipped)]
    assert said == [[], [], ["clipped"], [], [], []]
    assert "raise policy.max_completion_tokens, for example to 128" in str(
        [Alerts(tmp_path, 64).look([clipped], metrics()) or a for a in [alerts.look([clipped], metrics()) for _ in range(2)][1:]]
    )


def test_unscored_and_flat_groups_are_reported(tmp_path):
    alerts = Alerts(tmp_path, 64)
    flat = visit(TASKS["good"], BLIND)[0]
    first = alerts.look([flat], metrics(**{"rollouts/unscored": 0.3}))
    assert [a.name for a in first] == ["unscored"]
    assert "30%" in first[0].text
    alerts.look([flat], metrics())
    assert [a.name for a in alerts.look([flat], metrics())] == ["flat"]


def test_a_nearly_full_disk_is_reported(tmp_path, monkeypatch):
    from collections import namedtuple

    usage = namedtuple("usage", "total used free")(100, 99, 1024**3)
    monkeypatch.setattr("training.loop.alerts.shutil.disk_usage", lambda _: usage)
    assert [a.name for a in Alerts(tmp_path, 64).look([visit(TASKS["good"], GOOD)[0]], metrics())] == ["disk"]


def test_the_paired_difference_uses_only_what_both_sides_have():
    found = paired_difference({"a": 0.1, "b": 0.2, "x": 0.9}, {"a": 0.3, "b": 0.4, "y": 0.0})
    assert found is not None
    assert found.estimate == pytest.approx(0.2)
    assert found.low <= found.estimate <= found.high
    assert paired_difference({"a": 0.1}, {"b": 0.1}) is None
