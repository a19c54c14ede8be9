"""The content gate: says why a response is no answer at all, before any criterion is looked at.

Rules count words, commas and sections, which text about nothing meets as well. Where no language model reads the response, the
gate asks the little that can be asked without one: is there text, is it more than the prompt or the rubric over again, does it
repeat itself, and, for rubrics of rules alone, does it take up what the prompt is about (``training.reward.gate.topic``)? All work
is linear in the length of the texts, needs no model and keeps no state.

Numbers were set on *honest answers*: 541 of GPT-4 and 530 of another model to IFEval, 294 to IFBench, 419 preferred ones of
LLMBar, 251 medical ones of K-QA and 48 stories of TTCW. ``tests/training/reward/test_gate.py`` measures the gate again.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence

from memory.task import Criterion, Message
from training.reward.gate.answer import demanded
from training.reward.gate.lexicon import REQUEST_STEMS, content, repeated_share, tokens, without_copies
from training.reward.gate.topic import off_topic

REPEATED_RUNS = 0.7
"""Of all runs of four words, the share that stood there before already. Honest answers stay below 0.5, songs with a chorus among
them; one sentence over and over has 0.85 and more, and answers of models caught in a loop have 0.78."""

REPEATED_WORD, LEAST_WORDS = 0.4, 30
"""Share of the commonest word in at least so many words. Honest answers stay below 0.33 (``self`` in program text)."""

ONE_WORD = 5
"""Times that a word makes no text if it is all there is; honest answers have no more than two ("Knock, knock")."""

LEAST_ECHO, LEFT_OUT = 8, 2
"""Words that a message has if repeating it is no answer, and that an echo of it leaves out. Options that prompts offer are
shorter; the two GPT-4 answers to IFEval that only repeat what they were told to repeat first leave out none and two."""

COPIED_RUN = 6
"""Words in a row by which an echo is recognised, less than the shortest message that can be echoed."""

NAMED_VERBS = 2
"""Verbs of criteria that a description of a good answer uses, where an answer would do what they say."""

# At the start only: an answer may speak of the tag. Chat templates may have opened it already.
_THOUGHT = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)|\A(?:(?!<think>).)*?</think>", re.DOTALL)
_ASKED_AGAIN = re.compile(
    r"\b(?:repeat|write|say|print|type|output)\b[^.!?\n]{0,120}?\b(?:\d{2,}|fifty|(?:a )?hundred|thousand)\s+times\b|遍"
)
_ON_GIVEN_TEXT = re.compile(
    r"(?:\A|[.!?:\n]\s*)(?:please |can you |could you )?(?:capitali[sz]e|uppercase|lowercase|convert|correct|fix|proofread"
    r"|edit|format|copy|punctuate)\b|\bdo(?: not|n't) answer\b|校对|改正|大写"
)
_CRITERION = re.compile(
    r"\A\W*(?:(?:the |a |this )?(?:response|answer|reply|text|story|essay|output|assistant|model)\b"
    r"|(?:[a-z]+ly )?(?:"
    r"acknowledges|addresses|adds|advises|agrees|answers|asks|avoids|begins|blames|breaks|brings|calls|cites|claims"
    r"|clarifies|compares|concludes|confirms|contains|covers|defines|describes|discusses|distinguishes|does"
    r"|emphasi[sz]es|encourages|ends|ensures|explains|expresses|fails|follows|gives|has|highlights|identifies"
    r"|illustrates|includes|informs|invents|is|keeps|leaves|lists|maintains|makes|mentions|names|notes|offers|omits"
    r"|opens|outlines|plays|points|praises|presents|promises|proposes|provides|puts|quotes|recommends|refers|requests"
    r"|says|shows|speaks|specifies|starts|states|stays|stresses|suggests|summari[sz]es|supports|takes|tells|treats"
    r"|urges|uses|warns|writes)\b"
    r"|是否|回答|回复|答案|文章|应|须|必须|说明|指出|提到|给出|建议|包含|使用)",
    re.IGNORECASE,
)
"""How criteria begin, and statements that answers could make rarely do."""
_GOOD_ANSWER = re.compile(
    r"\A\W*(?:the|a|an|any|my|this)\s+(?:(?:good|great|ideal|perfect|complete|strong|best|correct|full)\s+)?"
    r"(?:answer|reply|response)\s+(?:would|should|must|will|has to|needs to)\b",
    re.IGNORECASE,
)


def is_empty(text: str) -> bool:
    """Whether a text shows nothing: only spaces, control and zero-width characters."""
    return not any(character.isprintable() and not character.isspace() for character in text)


def visible(response: str) -> str:
    """The response without the thought before it, which is not said to anybody."""
    return _THOUGHT.sub(" ", response) if "think>" in response else response


def refusal(messages: Sequence[Message], rubric: Sequence[Criterion], response: str) -> str | None:
    """Why ``response`` is no answer to ``messages`` at all, in words; None where it may be one.

    Whether it is about what was asked is looked at only for rubrics without a positive ``llm`` or ``levels`` criterion:
    elsewhere that is the judge's to say. A thought at the start (``<think>``) is not part of the response.
    """
    text = visible(response)
    if is_empty(text):
        return "the response is empty"
    words = tokens(text)
    told = [tokens(message.content) for message in messages]
    request = "\n".join(m.content for m in messages if m.role == "user").casefold()
    reason = _junk(text, words) or _repetition(words, request)
    reason = reason or _echo([*told, *demanded(rubric)], words, request) or _rubric_echo(rubric, told, words, text)
    if reason is None and not any(c.points > 0 and c.kind != "rule" for c in rubric) and not _ASKED_AGAIN.search(request):
        reason = off_topic(messages, rubric, text)
    return reason


def _junk(text: str, words: Sequence[str]) -> str | None:
    """Without a letter, digit, emoji or mathematical sign there is nothing to read; nor where most of it was lost in decoding."""
    if not words and not any(unicodedata.category(character) in ("So", "Sm", "Sc") for character in text):
        return "the response has no words"
    broken = sum(
        character == "\ufffd" or unicodedata.category(character) in ("Cc", "Cn", "Co")
        for character in text
        if character not in "\t\n\r"
    )
    return "the response is mostly unreadable characters" if 2 * broken >= len(text) else None


def _repetition(words: Sequence[str], request: str) -> str | None:
    if _ASKED_AGAIN.search(request):
        return None
    counts = Counter(word for word in words if not word.isnumeric())
    most = max(counts.values(), default=0)
    if most == len(words) >= ONE_WORD or (len(words) >= LEAST_WORDS and most >= REPEATED_WORD * len(words)):
        return "the response is one word over and over"
    if repeated_share(words) >= REPEATED_RUNS:
        return "the response is the same words over and over"
    return None


def _echo(told: Sequence[Sequence[str]], words: Sequence[str], request: str) -> str | None:
    """A message, or what a rule wants repeated, once more and nothing else. Text that was handed in for correction may come
    back."""
    if _ON_GIVEN_TEXT.search(request):
        return None
    for source in told:
        if len(source) < LEAST_ECHO or len(without_copies(source, [words], COPIED_RUN)) > LEFT_OUT:
            continue
        if not content(without_copies(words, [source], COPIED_RUN), REQUEST_STEMS):
            return "the response only repeats the prompt"
    return None


def _rubric_echo(rubric: Sequence[Criterion], told: Sequence[Sequence[str]], words: Sequence[str], text: str) -> str | None:
    """Criteria word for word, from the verb that only a criterion has ("Says that ..."), or a description of a good answer by
    their verbs. A criterion that is a plain statement may be said by an honest answer."""
    criteria = [tokens(c.text) for c in rubric if _CRITERION.search(c.text)]
    rest = f" {' '.join(words)} "
    for criterion in criteria:
        if len(criterion) >= COPIED_RUN:
            rest = rest.replace(f" {' '.join(criterion)} ", " ")
    if len(rest.split()) < len(words) / 2 and not any(not without_copies(words, [message], COPIED_RUN) for message in told):
        return "the response only repeats the rubric"
    if _GOOD_ANSWER.search(text):
        verbs = {root for criterion in criteria for root in content(criterion[:1], frozenset())}
        if len(verbs & set(content(words, frozenset()))) >= NAMED_VERBS:
            return "the response describes a good answer and does not give it"
    return None
