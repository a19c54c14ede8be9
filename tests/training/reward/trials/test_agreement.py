"""The comparison with people recovers error rates that are known, and counts a failed judgement for nobody."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from memory.errors import TaskError
from memory.task import Criterion, Message, Verdict
from tests.training.reward.trials.judges import KnownChat, tick
from training.reward.judge import Judge
from training.reward.quality import PairwiseOrder
from training.reward.trials.agreement import Agreement, agreement, kappa, kappa_interval, order_agreement, sample, tabulate
from training.reward.trials.annotated import HumanVerdicts, load_file, load_pairs, load_statements

DATA = Path(__file__).parents[4] / "../shared/data"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="shared/data is not beside the project")


def statement(number: int, people, per_response: int = 4, kind: str = "k") -> HumanVerdicts:
    response = f"response {number // per_response}"
    criterion = Criterion(id=f"c{number}", text=f"criterion {number}", points=1)
    return HumanVerdicts((Message(role="user", content="Why?"),), response, criterion, kind, tuple(people))


def measured(statements, answer, **settings) -> Agreement:
    return agreement(Judge(KnownChat(answer), **settings), statements, "fake", "set", tick)


def noisy(statements, false_positive: float, false_negative: float, seed: int = 0):
    """Says of a criterion what most people say, but for errors at known rates."""
    rng = random.Random(seed)
    said = {}
    for s in statements:
        wrong = rng.random() < (false_negative if s.majority else false_positive)
        said[s.criterion.text] = bool(s.majority) != wrong
    return lambda response, text: said[text]


def people(n: int, persons: int = 3, error: float = 0.1, seed: int = 1) -> list[HumanVerdicts]:
    rng = random.Random(seed)
    found = []
    for i in range(n):
        met = rng.random() < 0.4
        found.append(statement(i, [met != (rng.random() < error) for _ in range(persons)], kind="ab"[i % 2]))
    return found


# ---- the numbers ----


def test_kappa_is_cohens():
    # Cohen (1960): observed 0.7, expected 0.5.
    counts = np.array([[20, 5, 10, 15]], dtype=float)
    assert float(kappa(counts[0])) == pytest.approx(0.4)
    assert np.isnan(kappa(np.array([9.0, 0, 0, 0])))
    assert kappa_interval(np.zeros((0, 4))) is None


@pytest.mark.parametrize(("false_positive", "false_negative"), [(0.05, 0.3), (0.35, 0.1)])
def test_known_error_rates_lie_in_their_intervals(false_positive, false_negative):
    statements = people(1200)
    report = measured(statements, noisy(statements, false_positive, false_negative, seed=6))
    for kind in (None, "a", "b"):
        rates = report.rates(kind)
        for found, rate in ((rates.false_positive, false_positive), (rates.false_negative, false_negative)):
            assert found.interval.low < rate < found.interval.high
            assert found.interval.high - found.interval.low < 0.15
    found = report.rates().kappa
    assert found.low < true_kappa(statements, false_positive, false_negative) < found.high
    assert found.high - found.low < 0.2


def true_kappa(statements, false_positive, false_negative) -> float:
    base = np.mean([s.majority for s in statements])
    both, first, second = base * (1 - false_negative), (1 - base) * false_positive, base * false_negative
    return float(kappa(np.array([both, first, second, 1 - both - first - second])))


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    statements = people(200)
    truth = true_kappa(statements, 0.1, 0.3)
    held = []
    for seed in range(100):
        answer = noisy(statements, 0.1, 0.3, seed)
        verdicts = tuple(Verdict.of(s.criterion.id, answer("", s.criterion.text)) for s in statements)
        rates = Agreement("fake", "set", tuple(statements), verdicts).rates()
        intervals = rates.false_positive.interval, rates.false_negative.interval, rates.kappa
        held.append([i.low <= t <= i.high for i, t in zip(intervals, (0.1, 0.3, truth), strict=True)])
    assert np.all(
        np.mean(held, axis=0) >= 0.88
    )  # of the nominal 95 %, three standard errors of 100 trials and a little for 50 responses


def test_perfect_and_gullible_judges_are_told_apart():
    statements = people(400)
    perfect = measured(statements, noisy(statements, 0, 0)).rates()
    gullible = measured(statements, lambda r, c: True).rates()
    assert perfect.kappa.estimate == 1
    assert perfect.accuracy.interval.low > 0.95
    assert (gullible.false_positive.interval.estimate, gullible.false_negative.interval.estimate) == (1, 0)
    assert gullible.kappa.estimate == pytest.approx(0)


def test_the_judge_stands_beside_people_on_the_same_footing():
    statements = people(800, error=0.1)
    rng = random.Random(5)
    worse = measured(statements, noisy(statements, 0.35, 0.35))
    assert worse.difference().high < 0
    assert "less than two persons agree with each other" in worse.text()
    # One more person, who errs as often as the others do, cannot be told from them.
    truth = [rng.random() < 0.4 for _ in range(800)]
    among = [statement(i, [t != (rng.random() < 0.1) for _ in range(3)]) for i, t in enumerate(truth)]
    one_more = {s.criterion.text: t != (rng.random() < 0.1) for s, t in zip(among, truth, strict=True)}
    report = measured(among, lambda r, c: one_more[c])
    assert report.difference().low < 0 < report.difference().high
    assert "cannot be told" in report.text()
    better = measured(statements, noisy(statements, 0, 0))
    assert better.difference().low > 0


def test_responses_not_criteria_are_the_unit_of_chance():
    """Ten criteria that all go as the first does tell no more than one: the interval must not shrink."""
    alone = [statement(i, [i % 2 == 0], per_response=1) for i in range(60)]
    copies = [statement(i, [(i // 10) % 2 == 0], per_response=10) for i in range(600)]
    wrong = {f"response {i}" for i in range(0, 60, 5)}

    def width(rows):
        known = {s.criterion.text: s.people[0] for s in rows}
        rates = measured(rows, lambda r, c: known[c] != (r in wrong)).rates()
        return [i.high - i.low for i in (rates.kappa, rates.accuracy.interval)]

    assert width(copies) == pytest.approx(width(alone), rel=0.1)


# ---- what is left out ----


def test_failures_are_for_nobody():
    statements = people(400)
    right = noisy(statements, 0, 0)
    report = measured(statements, lambda r, c: "parse" if r == "response 3" else right(r, c))
    assert report.unscored == Counter(parse=4)
    assert report.rates().accuracy.total == 396
    assert report.rates().kappa.estimate == 1
    assert "Unscored, in no number here: 4\n- parse: 4;" in report.text()
    nothing = measured(statements, lambda r, c: "timeout")
    assert nothing.rates().accuracy.interval is None
    assert "| all | - | - | - | - |" in nothing.text()


def test_an_even_split_is_no_majority():
    report = measured([statement(0, [True, False]), statement(1, [True, True])], lambda r, c: True)
    assert report.rates().accuracy.total == 1
    assert "Left out: 1 criteria on which people are evenly split." in report.text()


def test_one_person_has_nobody_to_agree_with():
    text = measured([statement(i, [i % 2 == 0]) for i in range(8)], lambda r, c: True).text()
    assert "how far people agree among themselves is not known" in text


def test_criteria_of_one_response_are_judged_together():
    chat = KnownChat(lambda r, c: True)
    agreement(Judge(chat), people(40), "fake", "set", tick)
    assert chat.asked == 10


# ---- orders ----


@needs_data
def test_orders_of_known_errors_are_recovered():
    pairs = load_pairs(DATA)
    assert len(pairs) == 419
    rng = random.Random(2)
    better, fate = {}, {}
    for p in pairs:
        first, second = p.pair.first, p.pair.second
        fate[frozenset((first, second))] = rng.choices(["right", "wrong", "position", "tie"], [0.6, 0.2, 0.1, 0.1])[0]
        better[frozenset((first, second))] = first if p.order == 1 else second

    def answer(a, b):
        pair = frozenset((a, b))
        if (what := fate[pair]) in ("position", "tie"):
            return "A" if what == "position" else "tie"
        return "A" if (better[pair] == a) == (what == "right") else "B"

    report = order_agreement(PairwiseOrder(KnownChat(answer)), pairs, "fake", 50, tick)
    assert report.outcomes() == Counter("tie" if f in ("position", "tie") else f for f in (fate[_key(p)] for p in pairs))
    assert not report.failures
    assert "| Adversarial_Manual |" in report.text()


def _key(p) -> frozenset:
    return frozenset((p.pair.first, p.pair.second))


@needs_data
def test_a_comparison_that_fails_is_no_tie():
    pairs = load_pairs(DATA)[:20]

    class Failing(KnownChat):
        def complete(self, system, user, schema):
            from agents.chat import ChatFailure

            raise ChatFailure("rate_limit", "no")

    report = order_agreement(PairwiseOrder(Failing(lambda a, b: "A")), pairs, "fake", 8, tick)
    assert report.outcomes() == Counter(unscored=20)
    assert report.failures == Counter(rate_limit=40)
    assert "20 pairs. Failed comparisons:\n- rate_limit: 40; set limits" in report.text()


# ---- files ----


@needs_data
def test_k_qa_has_the_physicians_agreement_it_was_published_with():
    statements = load_statements("kqa", DATA)
    assert (len(statements), len({s.kind for s in statements}), {len(s.people) for s in statements}) == (399, 2, {3})
    _, among = measured(statements, lambda r, c: True).persons()
    assert 0.66 < float(kappa(among.sum(axis=0))) < 0.76


@needs_data
def test_ttcw_has_the_stories_whose_text_is_there():
    statements = load_statements("ttcw", DATA / "ttcw")
    assert (len(statements), len({s.response for s in statements}), {len(s.people) for s in statements}) == (36 * 14, 36, {3})
    assert {s.kind for s in statements} == {"Fluency", "Flexibility", "Originality", "Elaboration"}
    assert not any("step by step" in s.criterion.text or "http" in s.response[:8] for s in statements)


def write(path: Path, *rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def row(**more):
    return {"messages": [{"role": "user", "content": "Why?"}], "response": "r", "criterion": "Says so", "met": True, **more}


def test_own_files_may_have_texts_or_criteria_and_one_or_several_people(tmp_path):
    fault = {"text": "Is rude", "points": -3}
    first, second = load_file(write(tmp_path / "own.jsonl", row(), row(criterion=fault, met=[True, False, False])))
    assert (first.criterion.text, first.people, first.kind) == ("Says so", (True,), "llm, positive points")
    assert (second.criterion.points, second.majority, second.kind) == (-3, False, "llm, negative points")
    assert first.criterion.id != second.criterion.id


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"met": "yes"}, "row 1: met"),
        ({"met": []}, "'met' is an empty list"),
        ({"criterion": {"text": "a", "points": 0}}, "points must be a non-zero finite number"),
        ({"critrion": "a"}, "unknown field 'critrion'; did you mean 'criterion'?"),
        ({"messages": []}, "row 1: messages"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path, change, message):
    with pytest.raises(TaskError, match="--set: ") as error:
        load_file(write(tmp_path / "own.jsonl", row(**change)))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_folder_is_named_with_the_source_of_the_set(tmp_path):
    with pytest.raises(TaskError, match=r"--data is missing: --set kqa .*https://github.com/Itaymanes/K-QA"):
        load_statements("kqa", None)
    with pytest.raises(TaskError, match="does not exist"):
        load_statements("ttcw", tmp_path)
    (tmp_path / "NLI_medical_annotator.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TaskError, match="is not the table of K-QA"):
        load_statements("kqa", tmp_path)
    with pytest.raises(TaskError, match="neither a file nor a set; did you mean 'ttcw'"):
        load_statements("ttwc", tmp_path)
    with pytest.raises(TaskError, match="holds no JSON files of LLMBar"):
        load_pairs(tmp_path)


def test_a_sample_is_the_same_each_time_and_in_order():
    rows = list(range(100))
    assert sample(rows, 10, 3) == sample(rows, 10, 3) == sorted(sample(rows, 10, 3))
    assert sample(rows, 10, 3) != sample(rows, 10, 4)
    assert sample(rows, None, 3) == sample(rows, 500, 3) == rows


def test_tabulate_takes_a_row_per_response():
    counts = tabulate([("a", True, True), ("a", True, False), ("b", False, True), ("b", False, False)])
    assert counts.tolist() == [[1, 1, 0, 0], [0, 0, 1, 1]]
