"""Rules on what a response mentions, and where."""

from training.reward.rules.registry import Bound, Count, Marker, Phrase, Phrases, counted, rule
from training.reward.rules.text import count, joined, paragraphs, sentences, spaced, units, words

_PLAIN_QUOTES = str.maketrans("“”‘’", "\"\"''")


@rule("mentions_any")
def mentions_any(response: str, phrases: Phrases) -> bool:
    """Mentions at least one of {phrases}."""
    return any(count(phrase, response) for phrase in phrases)


@rule("mentions_all")
def mentions_all(response: str, phrases: Phrases) -> bool:
    """Mentions all of {phrases}."""
    return all(count(phrase, response) for phrase in phrases)


@rule("mentions_none")
def mentions_none(response: str, phrases: Phrases) -> bool:
    """Mentions none of {phrases}."""
    return not mentions_any(response, phrases)


@rule("mentions_several")
def mentions_several(response: str, phrases: Phrases, min: Bound) -> bool:
    """Mentions at least {min} of {phrases}."""
    return mentions_different(response, phrases) >= min


@counted("mentions_different")
def mentions_different(response: str, phrases: Phrases) -> int:
    """Mentions {count} of {phrases}."""
    text = spaced(response)
    return sum(phrase in text for phrase in {spaced(phrase) for phrase in phrases})


@counted("mentions_count")
def mentions_count(response: str, phrase: Phrase) -> int:
    """Mentions {phrase} {count} time{s}."""
    return count(phrase, response)


@rule("in_order")
def in_order(response: str, phrases: Phrases) -> bool:
    """Mentions one after the other {phrases}."""
    text, start = spaced(response), 0
    for phrase in phrases:
        found = text.find(wanted := spaced(phrase), start)
        if found < 0:
            return False
        start = found + len(wanted)
    return True


@rule("starts_with")
def starts_with(response: str, phrase: Phrase) -> bool:
    """Begins with {phrase}."""
    return units(response)[: len(units(phrase))] == units(phrase)


@rule("ends_with")
def ends_with(response: str, phrase: Phrase) -> bool:
    """Ends with {phrase}."""
    return units(response)[-len(units(phrase)) :] == units(phrase)


@rule("paragraph_starts_with")
def paragraph_starts_with(response: str, index: Count, phrase: Phrase, paragraphs_in_all: Count | None = None) -> bool:
    """Begins paragraph {index} with {phrase}."""
    found = paragraphs(response)
    if len(found) < index or (paragraphs_in_all is not None and len(found) != paragraphs_in_all):
        return False
    return starts_with(found[index - 1], phrase)


@rule("sentence_mentions")
def sentence_mentions(response: str, index: Count, phrase: Phrase) -> bool:
    """Mentions {phrase} in sentence {index}."""
    found = sentences(response)
    return len(found) >= index and spaced(phrase) in joined(found[index - 1])


@rule("word_at")
def word_at(response: str, phrase: Phrase, sentence: Count, word: Count) -> bool:
    """Has {phrase} as word {word} of sentence {sentence}."""
    found = sentences(response)
    wanted = words(phrase)
    return len(found) >= sentence and found[sentence - 1][word - 1 : word - 1 + len(wanted)] == wanted


@rule("second_words")
def second_words(response: str, phrase: Phrase) -> bool:
    """Has {phrase} as its second and as its second to last word."""
    found = words(response)
    return len(found) > 2 and (found[1],) == words(phrase) == (found[-2],)


@rule("one_of")
def one_of(response: str, options: Phrases) -> bool:
    """Is one of {options} and nothing else."""
    return any(words(response) == words(option) for option in options)


@rule("repeats_request")
def repeats_request(response: str, request: Marker) -> bool:
    """Begins with the request word for word: {request}.

    Every sign counts, as the request is to be repeated without change; case, line breaks and the form of quotation marks do not.
    """
    return _flat(response).startswith(_flat(request))


def _flat(text: str) -> str:
    return " ".join(text.translate(_PLAIN_QUOTES).casefold().split())


@rule("repeats_only")
def repeats_only(response: str, request: Phrase) -> bool:
    """Repeats this and says nothing else: {request}."""
    return words(response) == words(request)


@rule("repeats_with_new_first_word")
def repeats_with_new_first_word(response: str, request: Phrase) -> bool:
    """Repeats this with another first word and says nothing else: {request}."""
    said, asked = words(response), words(request)
    return len(said) == len(asked) and said[1:] == asked[1:] and said[0] != asked[0]


@rule("repeats_span")
def repeats_span(response: str, request: Phrase, first: Bound, last: Bound) -> bool:
    """Is words {first} to {last}, counted from 0, of {request}."""
    span = request.split()[first : last + 1]
    return words(response) == words(" ".join(span))
