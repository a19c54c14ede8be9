"""The Overview: each tile shows what the run's files say, and its change is against the window before."""

import json

import pytest
from scipy.stats import t

from memory.journal import AlertRecord, Journal
from tests.ui.conftest import checked
from tests.ui.synthetic import COST, EVERY, STEPS
from tests.ui.test_console import said
from ui.overview import MOST_ALERTS
from ui.pace import seconds_left, spend, step_seconds
from ui.readers import RunReader
from ui.series import WINDOW, accepted_table, mean_interval


def tiles(app) -> dict[str, tuple[str, str]]:
    return {m.label: (m.value, m.delta) for m in app.metric}


def lines(run) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def rewrite(run, change) -> None:
    """Change every line of the metrics by ``change(line)``."""
    found = lines(run)
    for line in found:
        change(line)
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in found))


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize(
    ("label", "metric", "form"),
    [
        ("Flat groups", "frac_reward_zero_std", "{:.0%}"),
        ("Unscored", "rollouts/unscored", "{:.1%}"),
        ("Clipped", "completions/clipped_ratio", "{:.0%}"),
        ("Entropy", "entropy", "{:.3f}"),
        ("KL", "kl", "{:.3f}"),
    ],
)
def test_a_tile_is_the_mean_of_the_last_window_against_the_one_before(copied, open_page, label, metric, form):
    rewrite(copied, lambda line: line["metrics"].update({metric: 0.3 + 0.01 * (line["step"] % 7) + 0.004 * line["step"]}))
    values = [line["metrics"][metric] for line in lines(copied)]
    now, before = mean(values[-WINDOW:]), mean(values[-2 * WINDOW : -WINDOW])
    value, change = tiles(open_page(copied, page="Overview"))[label]
    assert value == form.format(now)
    assert change == (f"{now - before:+.3f}" if form == "{:.3f}" else f"{100 * (now - before):+.0f} pts")


def test_what_did_not_move_is_said_to_be_as_before(copied, open_page):
    rewrite(copied, lambda line: line["metrics"].update({"rollouts/unscored": 0.1}))
    assert tiles(open_page(copied, page="Overview"))["Unscored"] == ("10.0%", "as before")


def test_the_reward_stands_with_its_interval(synthetic, open_page):
    rewards = synthetic.rewards[-WINDOW:]
    low, high = t.interval(0.95, len(rewards) - 1, loc=mean(rewards), scale=_standard_error(rewards))
    found = mean_interval(rewards)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high))
    value, _ = tiles(open_page(synthetic.run.root, page="Overview"))["Reward"]
    assert value == f"{mean(rewards):.3f} ± {(high - low) / 2:.3f}"


def _standard_error(values: list[float]) -> float:
    return (sum((v - mean(values)) ** 2 for v in values) / (len(values) - 1) / len(values)) ** 0.5


def test_held_out_and_the_gap_to_training_are_against_the_evaluation_before(synthetic, open_page):
    found = tiles(open_page(synthetic.run.root, page="Overview"))
    assert found["Held-out gold"] == ("0.740", "+0.200")
    last = mean(synthetic.rewards[-WINDOW:]) - 0.74
    middle = mean(synthetic.rewards[STEPS // 2 - WINDOW : STEPS // 2]) - 0.54
    assert found["Training − held-out"] == (f"{last:+.3f}".replace("-", "−"), f"{last - middle:+.3f}")


def test_one_step_has_nothing_to_be_compared_with(copied, open_page):
    (copied / "metrics.jsonl").write_text(json.dumps(lines(copied)[0]) + "\n")
    (copied / "journal.jsonl").write_text((copied / "journal.jsonl").read_text().splitlines()[0] + "\n")
    found = tiles(open_page(copied, page="Overview"))
    assert found["Clipped"][1] == "one step only"
    assert found["Held-out"] == ("–", "not evaluated")
    assert "KL" not in found


def test_spend_is_the_ledgers_sum_against_the_budget(synthetic, copied, open_page):
    found = tiles(open_page(synthetic.run.root, page="Overview"))
    assert found["Spend of $5.00, 24%"] == (f"${COST * STEPS:.2f}", "as before")
    rewrite(copied, lambda line: line["usage"].update({"usage/judge/usd": 0.01 * line["step"] ** 2}))
    view = RunReader(copied).refresh()
    paid = spend(view)
    assert paid is not None
    assert (paid.now, paid.before) == pytest.approx((0.01 * (24**2 - 14**2), 0.01 * (14**2 - 4**2)))
    (copied / "usage.json").unlink()
    assert tiles(open_page(copied, page="Overview"))["Spend"] == ("–", "nothing recorded yet")


def test_the_time_left_comes_from_the_pace_of_the_last_steps_and_outlives_a_resume(copied):
    taken = [2.0 + (9.0 if step % EVERY == 0 else 0.0) for step in range(STEPS)][-2 * WINDOW :]
    view = RunReader(copied).refresh()
    assert step_seconds(view) == pytest.approx(taken)
    assert view.heartbeat is not None
    view.heartbeat.steps = STEPS + 10
    assert seconds_left(view) == pytest.approx(10 * mean(taken))
    view.heartbeat.phase = "finished"
    assert seconds_left(view) is None
    rewrite(copied, lambda line: line["seconds"].update({"rollout": 2.0 * (line["step"] % 20), "evolve": 0.0}))
    assert step_seconds(RunReader(copied).refresh()) == [2.0] * (2 * WINDOW - 1)


def test_long_runs_gather_their_marks_and_lose_none(synthetic):
    view = RunReader(synthetic.run.root).refresh()
    one_by_one, gathered = accepted_table(view), accepted_table(view, stretch=10)
    assert len(gathered) < len(one_by_one)
    assert gathered["edits"].sum() == one_by_one["edits"].sum() == len(view.accepted)
    assert set(gathered["step"]) == {4.5, 14.5}


def test_an_alert_leads_to_the_rollouts_it_was_seen_in(synthetic, open_page):
    app = open_page(synthetic.run.root, page="Overview")
    button = next(b for b in app.button if str(b.key).startswith("alert-rollouts"))
    app = checked(button.click().run())
    assert app.query_params["page"] == "Rollouts"
    assert app.number_input(key="step").value == 6


def test_old_alerts_wait_behind_a_switch(copied, open_page):
    journal = Journal(copied / "journal.jsonl")
    for step in range(MOST_ALERTS + 2):
        journal.append(step, AlertRecord(name="flat", text=f"number {step}"))
    journal.close()
    app = open_page(copied, page="Overview")
    assert len(app.warning) == MOST_ALERTS
    assert "number 9" in app.warning[0].value
    assert len(checked(app.toggle(key="all-alerts").set_value(True).run()).warning) == MOST_ALERTS + 3


def test_without_edits_the_page_says_when_the_first_round_comes(copied, open_page):
    kept = [
        line for line in (copied / "journal.jsonl").read_text().splitlines() if '"kind": "visit"' in line or '"seq": 0,' in line
    ]
    (copied / "journal.jsonl").write_text("\n".join(kept) + "\n")
    words = said(open_page(copied, page="Overview"))
    assert f"No edits yet: the first round comes at step {EVERY}." in words
    assert "None so far." in words
    assert "No held-out evaluation yet" in words
