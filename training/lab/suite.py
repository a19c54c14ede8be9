"""Write the lab's task suite: training tasks, held-out tasks, and the gold checks of both.

    python -m training.lab.suite [--out DIR]

Tasks are split by topic, so that facts learned in training are of no use on held-out tasks and skills are. By construction a
task starts in one of four ways under the pretrained policy: *blind* (its points sit on what the policy hardly ever says),
*saturated* (on what it says anyway), *spurious* (on length or keyword counts that repetition, padding and stuffing satisfy)
or *healthy*. Only the gold file knows which.
"""

import argparse
import json
import os
from collections.abc import Iterable
from pathlib import Path
from random import Random

from memory.task import Criterion, Noun, Rule, Task
from training.lab import DATA_DIR, GOLD_FILE, HELDOUT_FILE, TRAIN_FILE
from training.lab.gold import Gold, GoldChecks, Need, Start
from training.lab.grammar import Line, facts, prompt, skills
from training.lab.world import DOMAINS, FORMAT_DOMAIN, FORMATS, NAMES, Domain, Format, Topic

TASKS_PER_TOPIC = 4
HELDOUT_EVERY = 3
"""Every third topic of a domain is held out."""
STARTS: tuple[tuple[Start, int], ...] = (("blind", 6), ("saturated", 5), ("spurious", 5), ("healthy", 4))
"""The mix of starts, in tasks of twenty."""
SEED = 7

Draft = tuple[str, float, Rule]
"""A criterion before it has an id: text, points, rule."""


def says(line: Line, points: float) -> Draft:
    """The criterion that a sentence is said, by its distinctive words."""
    phrases = list(line.words[-2:] if line.kind == "fact" else line.words)
    return line.criterion, points, Rule(name="mentions_all", args={"phrases": phrases})


def no_repetition(points: float, n: int = 2) -> Draft:
    times = {2: "twice", 3: "three times", 4: "four times"}[n]
    return f"Says the same sentence {times}", -points, Rule(name="repeats_sentence", args={"n": n})


def _in_order(first: Line, then: Line, points: float) -> Draft:
    phrases = [first.words[-1], then.words[-1]]
    return f"Brings up {phrases[0]} before {phrases[1]}", points, Rule(name="in_order", args={"phrases": phrases})


def _words(n: int, points: float) -> Draft:
    return f"Gives a detailed answer of at least {n} words", points, Rule(name="word_count", args={"min": n})


def _sentences(n: int, points: float) -> Draft:
    return f"Answers at length, in at least {n} sentences", points, Rule(name="sentence_count", args={"min": n})


def blind(fact: tuple[Line, ...], skill: tuple[Line, ...], rng: Random) -> list[Draft]:
    """Points on the two rarest skills and the rarest fact, and at most a token point on something common."""
    drafts = [says(skill[5], 5), says(skill[4], 4)]
    if rng.random() < 0.5:
        drafts.append(says(fact[3], 3))
    drafts.append(says(fact[0], 1) if rng.random() < 0.7 else no_repetition(1, 4))
    return drafts


def saturated(fact: tuple[Line, ...], skill: tuple[Line, ...], rng: Random) -> list[Draft]:
    """Points on what nearly every answer does."""
    drafts = [
        says(fact[0], 5),
        ("Answers in at least two sentences", 3, Rule(name="sentence_count", args={"min": 2})),
        ("Stays below seventy words", 3, Rule(name="word_count", args={"max": 69})),
        no_repetition(3, 4),
    ]
    return rng.sample(drafts[1:], rng.choice((2, 3))) + [drafts[0]] + ([says(skill[0], 1)] if rng.random() < 0.5 else [])


def spurious(fact: tuple[Line, ...], skill: tuple[Line, ...], rng: Random, focus: str | None) -> list[Draft]:
    """Heavy points on length or on how often ``focus`` is named; repetition, padding and stuffing earn them all."""
    lengthy = [
        [_words(20, 3), _words(27, 3), _words(38, 2)],
        [_sentences(4, 3), _sentences(6, 3), _sentences(8, 2)],
        [_words(22, 4), _sentences(6, 3)],
    ]
    light = [says(rng.choice(fact[:2]), 1), *([says(skill[1], 1)] if rng.random() < 0.5 else [])]
    if focus is None:
        return rng.choice(lengthy) + light
    often = [
        (f"Keeps {focus} in view by naming it at least {times} times", points, Rule(name="mentions_count", args=args))
        for times, points, args in (
            ("two", 3.0, {"phrase": focus, "min": 2}),
            ("three", 3.0, {"phrase": focus, "min": 3}),
            ("five", 2.0, {"phrase": focus, "min": 5}),
        )
    ]
    keys = [focus, *(line.words[-1] for line in fact[:3])]
    terms = (
        f"Uses three of the key terms {', '.join(keys)}",
        3.0,
        Rule(name="mentions_several", args={"phrases": keys, "min": 3}),
    )
    heavy = rng.choice([*lengthy, [_words(22, 4), often[1]], often, [_sentences(5, 4), terms]])
    return heavy + light


def healthy(fact: tuple[Line, ...], skill: tuple[Line, ...], rng: Random) -> list[Draft]:
    """Points on what some answers say and others do not, and that a good answer should."""
    drafts = [says(skill[1], 4), says(skill[rng.choice((2, 2, 3))], 3)]
    drafts += [says(fact[i], points) for i, points in rng.sample([(1, 2), (2, 3)], 1)]
    if rng.random() < 0.5:
        drafts.append(_in_order(fact[0], skill[2], 2))
    return drafts + ([no_repetition(2)] if rng.random() < 0.5 else [])


def build(domain: Domain, topic: Topic, number: int, start: Start, rng: Random) -> tuple[Task, Gold]:
    """One task with its gold check."""
    task_id = f"{domain.name}-{topic.name}-{number}"
    name = rng.choice(NAMES)
    form = FORMATS[(number - 1) % len(FORMATS)] if domain.name == FORMAT_DOMAIN and number % 2 else None
    fact, skill = facts(domain, topic), skills(domain, name)
    if start == "spurious":
        # answers of this domain do not name their topic
        focus = {"role-play": name, FORMAT_DOMAIN: None}.get(domain.name, topic.name)
        form = None if form and form.rule == "sentence_count" else form
        drafts = spurious(fact, skill, rng, focus)
    else:
        drafts = {"blind": blind, "saturated": saturated, "healthy": healthy}[start](fact, skill, rng)
    if form and start == "healthy":
        drafts.append((form.criterion, 3, Rule(name=form.rule, args=dict(form.args))))
    rubric = tuple(
        Criterion(id=f"c{i}", text=text, points=points, kind="rule", rule=rule)
        for i, (text, points, rule) in enumerate(drafts, start=1)
    )
    task = Task(id=task_id, domain=domain.name, messages=(prompt(domain, topic, name, rng, form),), rubric=rubric)
    return task, _gold(task_id, start, topic, fact, skill, form)


def _gold(task_id: str, start: Start, topic: Topic, fact: tuple[Line, ...], skill: tuple[Line, ...], form: Format | None) -> Gold:
    """What a good answer needs: the topic's better known facts and the domain's skills, rare ones included."""
    needs = [Need(weight=1, sentence=line.sentence) for line in fact[:2]]
    needs += [Need(weight=1.5 if i >= 4 else 1, sentence=line.sentence) for i, line in enumerate(skill)]
    if form:
        needs.append(Need(weight=1, rule=Rule(name=form.rule, args=dict(form.args))))
        if form.rule == "sentence_count":
            needs = [needs[0], needs[6], needs[7], needs[-1]]
    needed = {need.sentence for need in needs}
    extra = ("Sure.", "Done.") if form and form.rule != "sentence_count" else ()
    harmless = tuple(line.sentence for line in (*fact, *skill) if line.sentence not in needed)
    keywords = {topic.name, *(word for line in fact for word in line.words)}
    return Gold(task_id=task_id, start=start, needs=tuple(needs), harmless=harmless + extra, keywords=tuple(sorted(keywords)))


def suite() -> tuple[list[Task], list[Task], list[Gold]]:
    """Training tasks, held-out tasks and the gold checks of both; always the same."""
    rng = Random(SEED)
    train: list[Task] = []
    heldout: list[Task] = []
    gold: list[Gold] = []
    for domain in DOMAINS:
        mixes: dict[bool, list[Start]] = {True: [], False: []}
        for place, topic in enumerate(domain.topics):
            is_heldout = place % HELDOUT_EVERY == 2
            for number in range(1, TASKS_PER_TOPIC + 1):
                mix = mixes[is_heldout]
                if not mix:
                    mix += [start for start, share in STARTS for _ in range(share)]
                    rng.shuffle(mix)
                task, check = build(domain, topic, number, mix.pop(), rng)
                (heldout if is_heldout else train).append(task)
                gold.append(check)
    rng.shuffle(train)
    rng.shuffle(heldout)
    return train, heldout, gold


def write(path: Path, records: Iterable[Noun]) -> None:
    """Write one JSON record a line, replacing the file whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record.model_dump(exclude_none=True, exclude_defaults=True), ensure_ascii=False) for record in records]
    part = path.with_suffix(".part")
    part.write_text("\n".join(lines) + "\n", encoding="utf-8")
    os.replace(part, path)


def load_gold() -> GoldChecks:
    """The gold checks of the packaged suite."""
    return GoldChecks.load(GOLD_FILE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=DATA_DIR, help="folder to write (default: the packaged data)")
    out = parser.parse_args().out
    train, heldout, gold = suite()
    write(out / TRAIN_FILE.name, train)
    write(out / HELDOUT_FILE.name, heldout)
    write(out / GOLD_FILE.name, gold)
    print(f"{len(train)} training tasks, {len(heldout)} held-out tasks, {len(gold)} gold checks in {out}")


if __name__ == "__main__":
    main()
