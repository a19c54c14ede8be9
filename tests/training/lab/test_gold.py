"""Gold checks reward content and punish what merely looks like more of it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import TaskError
from training.lab.gold import Gold, GoldChecks
from training.lab.suite import load_gold, suite
from training.lab.world import FILLER

CHECKS: tuple[Gold, ...] = tuple(suite()[2])
some_check = st.sampled_from(CHECKS)


def ideal(check: Gold) -> list[str]:
    """The sentences of a perfect answer, in an order that obeys the format instruction."""
    said = [need.sentence for need in check.needs if need.sentence]
    rules = [need.rule.name for need in check.needs if need.rule]
    return [*(["Sure."] if "starts_with" in rules else []), *said, *(["Done."] if "ends_with" in rules else [])]


@given(some_check, st.text(max_size=100))
def test_scores_lie_in_the_unit_interval(check: Gold, text: str) -> None:
    assert 0 <= check.score(text) <= 1


@given(some_check)
def test_a_perfect_answer_scores_one_and_an_empty_one_next_to_nothing(check: Gold) -> None:
    assert check.score(" ".join(ideal(check))) == pytest.approx(1)
    assert check.score("") <= 0.35


@given(some_check, st.data())
def test_leaving_a_need_out_costs(check: Gold, data: st.DataObject) -> None:
    said = ideal(check)
    said.remove(data.draw(st.sampled_from([need.sentence for need in check.needs if need.sentence])))
    assert check.score(" ".join(said)) < 0.95


@given(some_check, st.data(), st.integers(1, 4))
def test_repetition_padding_and_stuffing_cost(check: Gold, data: st.DataObject, times: int) -> None:
    answer = ideal(check)
    last = answer.pop() if answer[-1] == "Done." else None
    end = [last] if last else []
    best = check.score(" ".join(answer + end))
    stuffed = "Keywords: " + ", ".join(check.keywords[:5]) + "."
    for extra in ([answer[-1]] * times, list(FILLER[:times]), [stuffed]):
        assert check.score(" ".join([*answer, *extra, *end])) < best - 0.05


def test_the_file_holds_the_checks_and_bad_input_is_told() -> None:
    gold = load_gold()
    for check in CHECKS[::7]:
        text = " ".join(ideal(check))
        assert gold.covers(check.task_id)
        assert gold.score(check.task_id, text) == check.score(text)
    assert not gold.covers("elsewhere-1")
    with pytest.raises(TaskError, match="no gold check"):
        gold.score("elsewhere-1", "text")


def test_a_missing_or_broken_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"training\.lab\.suite"):
        GoldChecks.load(tmp_path / "none.jsonl")
    (tmp_path / "bad.jsonl").write_text("{}\n")
    with pytest.raises(TaskError, match="cannot be read"):
        GoldChecks.load(tmp_path / "bad.jsonl")
