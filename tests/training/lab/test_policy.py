"""The shipped weights can do what the documentation claims. Measured on seeded samples, with room for sampling noise."""

from collections import defaultdict
from functools import cache
from random import Random

import pytest
from transformers import AutoTokenizer

from tests.training.lab.conftest import Speak
from training.lab import POLICY_DIR, grammar
from training.lab.world import DOMAINS, FACT_RATES, FILLER, NAMES, SKILL_RATES
from training.reward.rules import sentences, words

PLAIN_PER_TOPIC = 12
GUIDED_PER_SKILL = 10


class Heard:
    """Rates over plain responses, by ``(kind, place in the base rates)``, and how often each bad habit occurred."""

    def __init__(self, speak: Speak) -> None:
        rng = Random(1)
        about = [
            (domain, topic, rng.choice(NAMES)) for domain in DOMAINS for topic in domain.topics for _ in range(PLAIN_PER_TOPIC)
        ]
        responses = speak([[grammar.prompt(domain, topic, name, rng)] for domain, topic, name in about])
        filler = {words(text) for text in FILLER}
        counts: defaultdict[tuple[str, int], int] = defaultdict(int)
        habits: defaultdict[str, int] = defaultdict(int)
        for (domain, topic, name), response in zip(about, responses, strict=True):
            told = sentences(response)
            for lines in (grammar.facts(domain, topic), grammar.skills(domain, name)):
                for i, line in enumerate(lines):
                    counts[line.kind, i] += words(line.sentence) in told
            habits["repetition"] += len(set(told)) < len(told)
            habits["filler"] += bool(filler & set(told))
            habits["stuffing"] += words(grammar.stuffing(domain, topic)) in told
            habits["finished"] += response.endswith((".", "?"))
            content = {words(line.sentence) for line in grammar.lines(domain, topic, name)} | filler
            habits["known"] += sum(sentence in content for sentence in told)
            habits["sentences"] += len(told)
        self.n = len(about)
        self.skills = [counts["skill", i] / self.n for i in range(len(SKILL_RATES))]
        self.facts = [counts["fact", i] / self.n for i in range(len(FACT_RATES))]
        self.habits = {name: count / self.n for name, count in habits.items()}


@pytest.fixture(scope="session")
def heard(speak: Speak) -> Heard:
    return Heard(speak)


@pytest.fixture(scope="session")
def guided_rates(speak: Speak) -> dict[tuple[str, str], float]:
    """How often a sentence is said when one guidance field names it: rare skills by (domain, sentence), rare facts pooled."""
    rng = Random(2)
    asked = []
    for domain in DOMAINS:
        for i in (4, 5):
            for topic in rng.sample(domain.topics, GUIDED_PER_SKILL):
                name = rng.choice(NAMES)
                asked.append(((domain.name, domain.skills[i].sentence), grammar.skills(domain, name)[i], domain, topic, name))
        for topic in domain.topics * 2:
            asked.append((("facts", domain.name), grammar.facts(domain, topic)[-1], domain, topic, rng.choice(NAMES)))
    chats = [
        [
            grammar.guidance([grammar.field(line, grammar.lines(domain, topic, name), rng)]),
            grammar.prompt(domain, topic, name, rng),
        ]
        for _, line, domain, topic, name in asked
    ]
    said: defaultdict[tuple[str, str], list[bool]] = defaultdict(list)
    for (key, line, *_), response in zip(asked, speak(chats), strict=True):
        said[key].append(words(line.sentence) in sentences(response))
    return {key: sum(hits) / len(hits) for key, hits in said.items()}


def test_weights_are_small() -> None:
    assert (POLICY_DIR / "model.safetensors").stat().st_size <= 4_000_000


@cache
def tokenizer():
    return AutoTokenizer.from_pretrained(POLICY_DIR, local_files_only=True)


def test_tokenizer_has_a_token_for_nearly_every_word_and_bytes_for_the_rest() -> None:
    rng = Random(4)
    text = " ".join(grammar.example(rng).response for _ in range(200))
    ids = tokenizer().encode(text, add_special_tokens=False)
    assert len(ids) < 1.05 * (len(text.split()) + sum(text.count(mark) for mark in ".,:?"))
    strange = "Ünïcode ✓ zyxwv\n"
    assert tokenizer().decode(tokenizer().encode(strange, add_special_tokens=False)) == strange


def test_chat_template_renders_roles_and_generation_prompt() -> None:
    chat = [{"role": "system", "content": "Keep in mind:\n- a"}, {"role": "user", "content": "Hi."}]
    text = tokenizer().apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    assert text == "<|system|>Keep in mind:\n- a<|end|><|user|>Hi.<|end|><|assistant|>"


def test_base_rates_are_ordered_and_in_their_bands(heard: Heard) -> None:
    assert heard.skills[0] > heard.skills[1] > heard.skills[2] > heard.skills[3] > max(heard.skills[4:])
    assert heard.facts == sorted(heard.facts, reverse=True)
    for rate, aim in zip([*heard.skills[:4], *heard.facts[:3]], [*SKILL_RATES[:4], *FACT_RATES[:3]], strict=True):
        assert aim - 0.15 < rate < aim + 0.1
    assert max(heard.skills[4:]) < 0.015
    assert heard.facts[-1] < 0.05


def test_guidance_multiplies_what_is_rare(heard: Heard, guided_rates: dict[tuple[str, str], float]) -> None:
    facts = [rate for (kind, _), rate in guided_rates.items() if kind == "facts"]
    skills = [rate for (kind, _), rate in guided_rates.items() if kind != "facts"]
    assert len(skills) == 10
    # a rate of zero is no base to multiply: one half of a count stands for it
    floor = 0.5 / heard.n
    assert min(skills) >= 4 * max(*heard.skills[4:], floor)
    assert min(facts) >= 4 * max(heard.facts[-1], floor)
    assert sum(skills) / len(skills) >= 0.7


def test_bad_habits_have_a_real_base_rate(heard: Heard) -> None:
    assert 0.05 < heard.habits["repetition"] < 0.4
    assert 0.2 < heard.habits["filler"] < 0.7
    assert 0.01 < heard.habits["stuffing"] < 0.15


def test_it_speaks_in_sentences_it_knows_and_stops(heard: Heard) -> None:
    assert heard.habits["finished"] > 0.97
    assert 3 < heard.habits["sentences"] < 6
    assert heard.habits["known"] > 0.9 * heard.habits["sentences"]
