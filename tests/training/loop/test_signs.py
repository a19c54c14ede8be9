"""Signs of hacking reach visit, metrics, evidence and alerts; the reward does not know of them."""

import pytest

from agents.attribution import RuleAttributor
from agents.prompts import case_text
from memory.embedding import HashingEmbedding
from memory.harness import Harness
from memory.memory import Memory
from memory.rundir import RunDir
from memory.visit import Rollout, Sign
from tests.agents.cases import case
from tests.builders import criterion, task, visit
from training.loop.alerts import Alerts
from training.loop.groups import Seat
from training.loop.signs import readings_of, samples_of, signs_of
from training.loop.visits import make_visits
from training.reward.signals import Reading


def group(texts, of=None, step=0, guidance=None):
    of = of or task("t", criterion("alpha"))
    seat = Seat(of, Harness().of(of), guidance)
    return seat, [
        Rollout(id=f"step-{step:06d}/{k}", task_id=of.id, text=t, tokens=len(t.split()), score=0.5, guidance=guidance)
        for k, t in enumerate(texts)
    ]


LOOP = "we say the same words again and again " * 6
PLAIN = "Rayleigh scattering favours short waves, hence a blue zenith; at dusk long paths leave reds."


def test_a_group_that_repeats_itself_shows_it_in_its_visit():
    looping, honest = (make_visits([group([text] * 4)], [()], 0, 0)[0] for text in (LOOP, PLAIN))
    assert looping.signs["repetition"].shows
    assert not any(sign.shows for sign in honest.signs.values())


def test_what_a_response_was_given_is_what_it_can_echo():
    hint = "Mention that short waves scatter more strongly than long waves do in clean air"
    seen, unseen = (samples_of(group([hint], guidance=g))[0] for g in (hint, None))
    assert hint in seen.told
    assert hint not in unseen.told
    assert signs_of(group([hint] * 2, guidance=hint))["echo"].shows


def test_thoughts_are_no_part_of_it():
    (sample,) = samples_of(group(["<think>hm</think>Yes."]))
    assert sample.text.strip() == "Yes."


def test_a_phrase_that_spreads_is_held_against_the_first_step(tmp_path):
    tasks = {f"t{i}": task(f"t{i}", criterion("alpha")) for i in range(8)}
    run = RunDir(tmp_path / "run")
    lock = run.claim()
    memory = Memory(run, tasks, HashingEmbedding())
    phrase = "it is very important to always note that "
    groups = [group([f"{phrase}{i} {i * 7}"] * 2, of=t) for i, t in enumerate(tasks.values())]
    assert readings_of(groups, memory)["boilerplate"].value == pytest.approx(1.0)
    first = [group([f"{phrase}{i}"] * 2, of=t) for i, t in enumerate(tasks.values())]
    rollouts = [r.model_copy(update={"id": f"step-000000/{k}"}) for k, r in enumerate(r for _, rs in first for r in rs)]
    memory.rollouts.write("step-000000", rollouts)
    memory.record(0, *make_visits([(seat, rollouts[2 * k : 2 * k + 2]) for k, (seat, _) in enumerate(first)], [()] * 8, 0, 0))
    assert readings_of(groups, memory)["boilerplate"].value < 0.25
    memory.close()
    lock.release()


def test_an_alert_names_the_sign_its_value_and_what_it_means(tmp_path):
    alerts = Alerts(tmp_path, 64)
    seen = [visit(task("t", criterion("alpha")), ["alpha", "beta"])[0]]
    readings = {"echo": Reading(0.8, "4 responses"), "self_praise": Reading(0.0), "length": Reading(None)}
    assert alerts.look(seen, {}, readings) == alerts.look(seen, {}, readings) == []
    told = alerts.look(seen, {}, readings)
    assert [a.name for a in told] == ["signal_echo"]
    assert "echo 0.80" in told[0].text
    assert alerts.look(seen, {}, readings) == []
    assert alerts.look(seen, {}, {**readings, "echo": Reading(0.0)}) == []
    assert alerts.look(seen, {}, readings) == []


def test_a_score_that_rises_alone_is_told(tmp_path):
    alerts = Alerts(tmp_path, 64)
    names = []
    for step in range(20):
        of = task("t", criterion("alpha"))
        scores = [0.1 + 0.04 * step, 0.1]
        seen, _ = visit(of, ["alpha", "nothing"], quality=[0.0, 1.0] if step % 2 else [1.0, 0.0])
        seen = seen.model_copy(update={"scores": tuple(scores)})
        names += [a.name for a in alerts.look([seen], {}, {})]
    assert "signal_drift" in names


def test_evidence_and_reasons_name_the_signs():
    built = case(["alpha", "alpha", "beta", "nothing"], [0, 0, 1, 1], of=task())
    signs = {"echo": Sign(value=0.5, threshold=0.3), "repetition": Sign(value=0.1, threshold=0.3)}
    seen = built.evidence.last.model_copy(update={"signs": signs})
    built = built.model_copy(update={"evidence": built.evidence.model_copy(update={"visits": (seen,)})})
    text = case_text(built)
    assert "echo 0.50 (a sign from 0.3)" in text
    assert "repetition 0.10" not in text
    found = RuleAttributor().attribute(built)
    assert found is not None
    assert found.pair_class == "spurious"
    assert "signs of hacking: echo" in found.reason
