"""p and g: who is drawn, who is guided, who trains."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.harness import GuidanceField, Harness
from memory.task import Message
from tests.builders import task
from training.config import GuidanceSettings, parse_config
from training.loop.groups import seat_step, trains
from training.loop.guidance import ceiling_at, guidance_text, mount
from training.loop.sampling import TaskSampler

TASKS = [task(f"t{i}") for i in range(10)]


def with_levels(**levels: float) -> Harness:
    return Harness().updated({i: Harness().of(task(i)).model_copy(update={"level": v}) for i, v in levels.items()})


def drawn(sampler: TaskSampler, harness: Harness, steps: int, count: int = 4) -> Counter:
    return Counter(t.id for _ in range(steps) for t in sampler.draw(harness, count))


def test_every_task_is_drawn_within_one_pass():
    """No eligible task is left out: 10 tasks, 4 a step, all seen after 3 steps, whatever the seed."""
    for seed in range(20):
        assert len(drawn(TaskSampler(TASKS, 0.05, seed), Harness(), 3)) == 10


def test_draws_are_distinct_and_follow_the_levels():
    sampler = TaskSampler(TASKS, 0.05, 1)
    counts = drawn(sampler, with_levels(t0=2.0, t1=0.25, t2=0.0), 1000)
    per_weight = 4000 / (2 + 0.25 + 0.05 + 7)
    for task_id, weight in (("t0", 2), ("t1", 0.25), ("t2", 0.05), ("t5", 1)):
        assert counts[task_id] == pytest.approx(weight * per_weight, rel=0.05, abs=2)
    assert all(len({t.id for t in sampler.draw(Harness(), 10)}) == 10 for _ in range(5))


def test_without_a_floor_a_retired_task_is_gone_and_comes_back_when_raised():
    sampler = TaskSampler(TASKS, 0.0, 1)
    assert drawn(sampler, with_levels(t0=0.0), 50)["t0"] == 0
    assert drawn(sampler, Harness(), 10)["t0"] > 0


def test_where_every_task_is_retired_all_are_drawn():
    tasks = [task(i) for i in "abc"]
    sampler = TaskSampler(tasks, floor=0.0, seed=0)
    harness = Harness(entries={t.id: Harness().of(t).model_copy(update={"level": 0.0}) for t in tasks})
    assert {t.id for t in sampler.draw(harness, 3)} == set("abc")


def test_a_task_brought_forward_is_drawn_at_the_next_step_and_nobody_is_left_out():
    for seed in range(20):
        sampler = TaskSampler(TASKS, 0.05, seed)
        first = {t.id for t in sampler.draw(Harness(), 4)}
        edited = sorted(first)[:2]
        sampler.bring_forward(edited)
        assert set(edited) <= {t.id for t in sampler.draw(Harness(), 4)}
        assert len(drawn(sampler, Harness(), 4) + Counter(first)) == 10


def test_fewer_tasks_than_seats_are_repeated():
    assert [t.id for t in TaskSampler(TASKS[:2], 0.05, 0).draw(Harness(), 5)].count("t0") in (2, 3)


def test_a_restored_sampler_draws_the_same_although_json_sorts_its_keys():
    one, two = TaskSampler(TASKS, 0.05, 3), TaskSampler(TASKS, 0.05, 99)
    drawn(one, Harness(), 7)
    two.restore(json.loads(json.dumps(one.state(), sort_keys=True)))
    for _ in range(20):
        assert [t.id for t in one.draw(Harness(), 4)] == [t.id for t in two.draw(Harness(), 4)]


def test_the_ceiling_falls_to_zero_for_the_last_fifth():
    settings = GuidanceSettings(max_fields=3)
    ceilings = [ceiling_at(step, 100, settings) for step in range(100)]
    assert ceilings[0] == 3
    assert ceilings == sorted(ceilings, reverse=True)
    assert ceilings[79] == 1
    assert set(ceilings[80:]) == {0}
    assert {ceiling_at(s, 100, GuidanceSettings(max_fields=0)) for s in range(100)} == {0}


FIELDS = (GuidanceField(id="a", text="old"), GuidanceField(id="b", text="new {x} %s"))


def test_guidance_is_mounted_as_data_in_the_system_message():
    messages = (Message(role="user", content="ask"),)
    assert mount(messages, None) == messages
    text = guidance_text(FIELDS, 1)
    assert text == "Keep in mind:\n- new {x} %s"
    assert guidance_text(FIELDS, 0) is None
    assert guidance_text((), 2) is None
    assert [m.role for m in mount(messages, text)] == ["system", "user"]
    with_system = (Message(role="system", content="Be kind."), *messages)
    assert mount(with_system, text)[0].content == f"Be kind.\n\n{text}"
    assert len(mount(with_system, text)) == 2


def seats_at(step: int, **guidance):
    config = parse_config({"train": {"steps": 100, "tasks_per_step": 4, "group_size": 6}, "guidance": guidance})
    entries = {t.id: Harness().of(t).model_copy(update={"guidance": FIELDS}) for t in TASKS[:5]}
    return seat_step(TaskSampler(TASKS, 0.05, 0), Harness().updated(entries), step, config)


def test_at_most_half_of_a_group_is_guided_and_the_update_sees_the_plain_prompt():
    seats = seats_at(0)
    for start in range(0, len(seats), 6):
        group = seats[start : start + 6]
        assert len({s.task.id for s in group}) == 1
        guided = [s for s in group if s.guidance]
        assert len(guided) == (3 if group[0].entry.guidance else 0)
        assert all(s.plain_prompt == s.task.messages for s in group)
        assert all(s.seen_prompt != s.plain_prompt for s in guided)


def test_nobody_is_guided_once_the_ceiling_is_zero():
    assert not any(s.guidance for s in seats_at(80))


def test_flat_groups_and_unscored_rollouts_do_not_train():
    scores = [0.5, 0.5, 0.5, 0.1, None, 0.9, None, None, None, None, 0.3, None]
    assert trains(scores, 3) == [False, False, False, True, False, True, False, False, False, False, False, False]


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), min_size=4, max_size=4))
def test_what_trains_is_scored_and_has_spread(scores):
    flags = trains(scores, 4)
    trained = [s for s, f in zip(scores, flags, strict=True) if f]
    assert None not in trained
    assert not trained or max(trained) > min(trained)
