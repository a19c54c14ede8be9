"""Rules on what a response mentions, and where."""

from training.reward.rules.registry import Count, Phrase, Phrases, Text, counted, rule
from training.reward.rules.text import count, joined, paragraphs, sentences, spaced, words


@rule("mentions_any")
def mentions_any(response: str, phrases: Phrases) -> bool:
    """Mentions at least one of these."""
    return any(count(phrase, response) for phrase in phrases)


@rule("mentions_all")
def mentions_all(response: str, phrases: Phrases) -> bool:
    """Mentions all of these."""
    return all(count(phrase, response) for phrase in phrases)


@rule("mentions_none")
def mentions_none(response: str, phrases: Phrases) -> bool:
    """Mentions none of these."""
    return not mentions_any(response, phrases)


@rule("mentions_several")
def mentions_several(response: str, phrases: Phrases, min: Count) -> bool:
    """Mentions at least ``min`` of these."""
    return sum(count(phrase, response) > 0 for phrase in phrases) >= min


@counted("mentions_count")
def mentions_count(response: str, phrase: Phrase) -> int:
    """Mentions a phrase this often."""
    return count(phrase, response)


@rule("in_order")
def in_order(response: str, phrases: Phrases) -> bool:
    """Mentions these one after the other in the given order."""
    text, start = spaced(response), 0
    for phrase in phrases:
        found = text.find(wanted := spaced(phrase), start)
        if found < 0:
            return False
        start = found + len(wanted)
    return True


@rule("starts_with")
def starts_with(response: str, phrase: Phrase) -> bool:
    """Begins with the words of the phrase."""
    return words(response)[: len(words(phrase))] == words(phrase)


@rule("ends_with")
def ends_with(response: str, phrase: Phrase) -> bool:
    """Ends with the words of the phrase."""
    return words(response)[-len(words(phrase)) :] == words(phrase)


@rule("paragraph_starts_with")
def paragraph_starts_with(response: str, index: Count, phrase: Phrase, paragraphs_in_all: Count | None = None) -> bool:
    """The paragraph with this number, from 1, begins with the words of the phrase."""
    found = paragraphs(response)
    if len(found) < index or (paragraphs_in_all is not None and len(found) != paragraphs_in_all):
        return False
    return starts_with(found[index - 1], phrase)


@rule("sentence_mentions")
def sentence_mentions(response: str, index: Count, phrase: Phrase) -> bool:
    """The sentence with this number, from 1, mentions the phrase."""
    found = sentences(response)
    return len(found) >= index and spaced(phrase) in joined(found[index - 1])


@rule("word_at")
def word_at(response: str, phrase: Phrase, sentence: Count, word: Count) -> bool:
    """The sentence with this number has the phrase as its word with this number, both from 1."""
    found = sentences(response)
    wanted = words(phrase)
    return len(found) >= sentence and found[sentence - 1][word - 1 : word - 1 + len(wanted)] == wanted


@rule("second_words")
def second_words(response: str, phrase: Phrase) -> bool:
    """The second word and the second to last word are this one."""
    found = words(response)
    return len(found) > 2 and (found[1],) == words(phrase) == (found[-2],)


@rule("one_of")
def one_of(response: str, options: Phrases) -> bool:
    """Is one of the options and nothing else."""
    return any(words(response) == words(option) for option in options)


@rule("repeats_request")
def repeats_request(response: str, request: Text) -> bool:
    """Begins with the request, word for word."""
    return starts_with(response, request) if words(request) else response.strip().startswith(request.strip())


@rule("repeats_only")
def repeats_only(response: str, request: Phrase) -> bool:
    """Repeats the request word for word and says nothing else."""
    return words(response) == words(request)


@rule("repeats_with_new_first_word")
def repeats_with_new_first_word(response: str, request: Phrase) -> bool:
    """Repeats the request with another first word, and says nothing else."""
    said, asked = words(response), words(request)
    return len(said) == len(asked) and said[1:] == asked[1:] and said[0] != asked[0]


@rule("repeats_span")
def repeats_span(response: str, request: Phrase, first: int, last: int) -> bool:
    """Is the words of the request from one index to another, both counted from 0 at white space and included."""
    span = request.split()[first : last + 1]
    return words(response) == words(" ".join(span))
