"""The world's data keep the promises that grammar, suite and rules build on."""

from random import Random

import pytest

from training.lab import grammar
from training.lab.world import DOMAINS, FACT_RATES, FILLER, NAMES, SKILL_RATES, Domain
from training.reward.rules import sentences, words
from training.reward.rules.mentions import mentions_all

every_domain = pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.name)


def test_size() -> None:
    assert len(DOMAINS) == 5
    assert sum(len(domain.topics) for domain in DOMAINS) == 60
    assert len({topic.name for domain in DOMAINS for topic in domain.topics}) == 60


@every_domain
def test_every_topic_and_domain_fills_the_base_rates(domain: Domain) -> None:
    assert len(domain.skills) == len(SKILL_RATES)
    assert all(len(topic.facts) == len(FACT_RATES) for topic in domain.topics)


@every_domain
def test_a_sentence_of_the_world_is_one_sentence_to_the_rules(domain: Domain) -> None:
    told = [line.sentence for topic in domain.topics for line in grammar.lines(domain, topic, NAMES[0])]
    assert all(len(sentences(text)) == 1 for text in [*told, *FILLER])


@every_domain
def test_content_words_single_a_sentence_out_within_its_topic(domain: Domain) -> None:
    for topic in domain.topics:
        lines = grammar.lines(domain, topic, NAMES[0])
        for line in lines:
            said = [other.sentence for other in lines if mentions_all(other.sentence, list(line.words))]
            assert said == [line.sentence]


@every_domain
def test_a_criterion_holds_the_words_its_check_looks_for(domain: Domain) -> None:
    for topic in domain.topics:
        for line in grammar.lines(domain, topic, NAMES[0]):
            assert set(words(" ".join(line.words))) <= set(words(line.criterion))


def test_the_same_seed_writes_the_same_examples() -> None:
    one, two = Random(3), Random(3)
    assert [grammar.example(one) for _ in range(50)] == [grammar.example(two) for _ in range(50)]


def test_guided_examples_say_what_guidance_names_and_plain_ones_keep_base_rates() -> None:
    rng = Random(0)
    made = [grammar.example(rng) for _ in range(4000)]
    guided = [e for e in made if e.messages[0].role == "system"]
    plain = [e for e in made if not e.named]
    followed = [set(words(text)) <= set(words(e.response)) for e in guided for text in e.named]
    rare = {domain.skills[-1].sentence.format(name=name) for domain in DOMAINS for name in NAMES}
    assert 0.4 < len(guided) / len(made) < 0.6
    assert 0.88 < sum(followed) / len(followed) < 0.98
    assert sum(any(text in e.response for text in rare) for e in plain) < 0.01 * len(plain)
    assert all(len(e.response.split()) <= grammar.MAX_WORDS + 1 for e in made)
