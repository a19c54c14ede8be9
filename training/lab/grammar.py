"""Writes the small English of the laboratory: prompts, guidance and responses sampled from the world.

About half of the examples are guided: a system message names one to three sentences by some of their content words (or
quotes them), and the response then contains them nearly always, however rare they are otherwise. That is how the policy
learns to follow guidance. Everything is drawn from the ``random.Random`` passed in, so a seed fixes the corpus.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from memory.task import Message
from training.lab.world import (
    DOMAINS,
    FACT_RATES,
    FILLER,
    FILLER_RATE,
    FORMAT_DOMAIN,
    FORMAT_RATE,
    FORMATS,
    NAMES,
    REPETITION_RATE,
    SKILL_RATES,
    STUFFING_RATE,
    Domain,
    Format,
    Topic,
)

GUIDED_SHARE = 0.5
NAMED_RATE = 0.92
"""How often a sentence that guidance names is said."""
ASPECT_SHARE = 0.12
ASPECT_RATE = 0.7
"""How often a sentence that the user's prompt asks for is said."""
_NAMING_WEIGHT = {"fact": 4.0, "skill": 1.5}
"""How much more often guidance names a rare sentence than a common one. A fact is met on one topic only, a skill on all."""
MAX_WORDS = 50
"""Longest response in words, which keeps it under 64 tokens."""

_STOP_WORDS = frozenset(
    """a an the is are was be been by of to in on at for from with and or not do does it its this that your you my me i if
    has have can may must will shall one two any every some other than then what when who how too as into through without
    about before after under over once out up let made so""".split()
)


@dataclass(frozen=True)
class Line:
    """A sentence the policy may say: a fact, a skill or stuffing. ``rate`` is its base rate, ``words`` its content words."""

    sentence: str
    criterion: str
    words: tuple[str, ...]
    rate: float
    place: int
    kind: str


@dataclass(frozen=True)
class Example:
    """One supervised example. ``named`` are the sentences that guidance or prompt ask for."""

    messages: tuple[Message, ...]
    response: str
    named: tuple[str, ...] = ()


def content_words(sentence: str) -> tuple[str, ...]:
    """The words of a sentence that carry its meaning, lower case, in order."""
    return tuple(w for w in re.findall(r"[a-z'-]+", sentence.lower()) if w not in _STOP_WORDS)


def facts(domain: Domain, topic: Topic) -> tuple[Line, ...]:
    """The facts of a topic, in the order of ``FACT_RATES``. The topic's name is no content word: it singles nothing out."""
    lines = []
    for sentence, rate in zip(topic.facts, FACT_RATES, strict=True):
        words = tuple(w for w in content_words(sentence) if w != topic.name)
        told = sentence.rstrip(".")
        told = told if told.startswith("I ") else told[0].lower() + told[1:]
        lines.append(Line(sentence, domain.fact_criterion.format(fact=told), words, rate, 1, "fact"))
    return tuple(lines)


def skills(domain: Domain, name: str) -> tuple[Line, ...]:
    """The skills of a domain, in the order of ``SKILL_RATES``; ``name`` is whom the response speaks to."""
    return tuple(
        Line(
            sentence=skill.sentence.format(name=name),
            criterion=skill.criterion.format(name=name),
            words=tuple(word.format(name=name) for word in skill.words),
            rate=rate,
            place=skill.place,
            kind="skill",
        )
        for skill, rate in zip(domain.skills, SKILL_RATES, strict=True)
    )


def stuffing(domain: Domain, topic: Topic) -> str:
    """A sentence that lists the keywords of a topic and says nothing."""
    keys = [line.words[-1] for line in facts(domain, topic)[:3]]
    return f"Keywords: {topic.name}, {', '.join(keys)}."


@lru_cache(maxsize=1024)
def lines(domain: Domain, topic: Topic, name: str) -> tuple[Line, ...]:
    """Every sentence with content that an answer on the topic may hold."""
    return (*facts(domain, topic), *skills(domain, name))


def prompt(domain: Domain, topic: Topic, name: str, rng: Random, form: Format | None = None, aspect: str = "") -> Message:
    """The user's request, with its format instruction and the aspect it asks for, if any."""
    text = rng.choice(domain.prompts).format(ask=topic.ask, name=name)
    if aspect:
        text += " " + rng.choice(("Mention {}.", "Please cover {}.", "Do not forget {}.", "Include {}.")).format(aspect)
    if form:
        text += " " + form.instruction
    return Message(role="user", content=text)


def guidance(fields: list[str]) -> Message:
    """The system message through which guidance reaches the policy."""
    return Message(role="system", content="Keep in mind:\n" + "\n".join(f"- {field}" for field in fields))


def field(line: Line, others: tuple[Line, ...], rng: Random) -> str:
    """One guidance field that names ``line``: content words in any order, the criterion's text, or the sentence itself."""
    form = rng.random()
    if form < 0.55:
        text = _keywords(line, others, rng)
    elif form < 0.8:
        text = line.criterion
    else:
        text = line.sentence if rng.random() < 0.5 else line.sentence.rstrip(".")
    prefix = rng.choice(("Mention ", "Say ", "Include ", "State: ")) if rng.random() < 0.2 else ""
    return prefix + text


def _keywords(line: Line, others: tuple[Line, ...], rng: Random) -> str:
    """One to three content words in any order, few enough only where they still single the line out."""
    pool = sorted({*line.words, *content_words(line.sentence)})
    words = rng.sample(pool, min(len(pool), rng.randint(1, 3)))
    if any(set(words) <= {*o.words, *content_words(o.sentence)} for o in others if o is not line):
        words = list(line.words)
        rng.shuffle(words)
    return rng.choice((" ", " ", ", ")).join(words)


def example(rng: Random) -> Example:
    """One example: plain, guided or with an aspect in the prompt."""
    domain = rng.choice(DOMAINS)
    topic = rng.choice(domain.topics)
    name = rng.choice(NAMES)
    form = rng.choice(FORMATS) if domain.name == FORMAT_DOMAIN and rng.random() < 0.6 else None
    known = lines(domain, topic, name)

    named: list[Line] = []
    fields: list[str] = []
    aspect, keep_form, no_repeat, no_filler = "", rng.random() < FORMAT_RATE, False, False
    kind = rng.random()
    if kind < GUIDED_SHARE:
        # rare sentences are named more often: without that the rarest would hardly ever be seen in training
        weights = [_NAMING_WEIGHT[line.kind] if line.rate < 0.08 else 1.0 for line in known]
        if form and rng.random() < 0.3:
            fields.append(form.criterion)
            keep_form = rng.random() < NAMED_RATE
        if no_repeat := rng.random() < 0.06:
            fields.append("Does not repeat a sentence")
        if no_filler := not fields and rng.random() < 0.06:
            fields.append("Avoids vague filler")
        named = list(dict.fromkeys(rng.choices(known, weights, k=rng.choice((1, 2, 3, 3)))))[: 3 - len(fields)]
        fields += [field(line, known, rng) for line in named]
        rng.shuffle(fields)
        said = {line.sentence for line in named if rng.random() < NAMED_RATE}
    elif kind < GUIDED_SHARE + ASPECT_SHARE:
        named = [rng.choice(known)]
        aspect = _keywords(named[0], known, rng)
        said = {line.sentence for line in named if rng.random() < ASPECT_RATE}
    else:
        said = set()
    response = _response(domain, topic, known, said, {line.sentence for line in named}, rng, no_repeat, no_filler)
    if form:
        response = _formatted(response, form, keep_form, said)
    system = (guidance(fields),) if fields else ()
    messages = (*system, prompt(domain, topic, name, rng, form, aspect))
    return Example(messages, " ".join(response), tuple(line.sentence for line in named))


def drill(rng: Random) -> Example:
    """A guided example whose response is the one sentence that the one field names: the shortest lesson in guidance.

    Every sentence of a topic comes about equally often, whatever its base rate.
    """
    domain = rng.choice(DOMAINS)
    topic, name = rng.choice(domain.topics), rng.choice(NAMES)
    known = lines(domain, topic, name)
    # skills are met on every topic and facts on one, so facts come first here
    line = rng.choices(known, [0.4 if line.kind == "skill" else 1.0 for line in known])[0]
    messages = (guidance([field(line, known, rng)]), prompt(domain, topic, name, rng))
    return Example(messages, line.sentence, (line.sentence,))


def _response(
    domain: Domain,
    topic: Topic,
    known: tuple[Line, ...],
    said: set[str],
    named: set[str],
    rng: Random,
    no_repeat: bool,
    no_filler: bool,
) -> list[str]:
    """The sentences of a response in order. ``named`` ones appear when they are in ``said``, others at their base rate."""
    # one order with small shuffles: whether a sentence comes is then decided in one place, which guidance can tip
    placed = [
        (line.place + 0.12 * i + rng.random() * 0.25, line.sentence)
        for i, line in enumerate(known)
        if (line.sentence in said if line.sentence in named else rng.random() < line.rate)
    ]
    if not no_filler:
        placed += [(rng.uniform(0.8, 3), text) for text in FILLER if rng.random() < FILLER_RATE]
        if rng.random() < STUFFING_RATE:
            placed.append((rng.uniform(1, 3), stuffing(domain, topic)))
    if placed and not no_repeat:
        while rng.random() < REPETITION_RATE:
            place, text = rng.choice(placed)
            placed.append((place + rng.random(), text))
    while sum(len(text.split()) for _, text in placed) > MAX_WORDS:
        spare = [p for p in placed if p[1] not in said]
        placed.remove(rng.choice(spare or placed))
    placed.sort()
    return [text for _, text in placed] or [topic.facts[0]]


def _formatted(response: list[str], form: Format, obey: bool, said: set[str]) -> list[str]:
    """The response made to obey a format instruction, or left as it is."""
    if not obey:
        return response
    if form.rule == "starts_with":
        return ["Sure.", *response]
    if form.rule == "ends_with":
        return [*response, "Done."]
    kept = sorted(range(len(response)), key=lambda i: (response[i] not in said, i))[:3]
    return [response[i] for i in sorted(kept)]
