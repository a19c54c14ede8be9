"""Whether a response takes up what its prompt is about, as far as that shows without understanding either.

Text that was made without reading the prompt cannot hold what only the prompt says: the words of its topic, or the form of
the verse, riddle or list that it asks for. So one of these is demanded, and enough words beside them to say something.
Words that the rubric's rules demand prove nothing, since whoever knows the rules writes them without the prompt.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memory.task import Criterion, Message
from training.reward.gate.answer import LONG_COPY, Answer, demanded
from training.reward.gate.lexicon import FORM_STEMS, FUNCTION_STEMS, REQUEST_STEMS, ROOT, VAGUE_STEMS, content, length, tokens

BRIEF = 5
"""Words of a brief answer. GPT-4's answers to plain questions without a word of the prompt have at most five."""

SHORT, OWN_SHORT = 12, 0.2
"""Words of a name, a tagline or another wording of a sentence, and the share of uncommon ones among them. GPT-4's without a
word of the prompt have 6 to 12 words and a share of 0.33 and more; common phrases have up to 0.18."""

VERSE_LINE, LIST_LINE, LINES = 10, 5, 3
"""Words per line at most, on average, of verse (honest answers: 3.2 to 9.3) and of a list of names (1 to 3), and lines at
least."""

SAME_FRAME = 3
"""Sentences that differ in words of the prompt alone from which a text was filled in and not written, if they are half of it.
No honest answer has so many."""

ASSERTED = 2
"""Uncommon words of its own that a sentence has in which a demanded word is used; in filler it stands alone or among common
ones."""

FOREIGN = 15
"""Words of a text in another language that is not short by nature. GPT-4's have 17 and more; "This is an answer. We hope that
it is useful. Thank you." has 7 to 14 in 18 of the 22 languages of IFEval."""

_YES_NO = re.compile(
    r"(?:^|[.!?\n:,;\"(]\s*)(?:is|are|was|were|do|does|did|can|could|will|would|should|has|have|am|must|may|might)(?:n't)?\b"
    r"[^.!?\n]{1,400}\?|吗|是否"
)
_OPTIONS = re.compile(r"\([a-d]\)|\b[a-d][.)]|\b(?:choose|which|options?|one of|(?:yes|true) or (?:no|false)|or \"my)\b|选|哪")
_COMPOSE = re.compile(r"\b(?:write|compose|draft)\b|写|撰")
_ON_TEXT = re.compile(
    r"\b(?:following|rewrite|extract|summar\w+|quote|correct|proofread|fix|edit|capitali\w+|convert|format|copy|span|identify"
    r"|find|select|which|choose|bullets?|only output)\b|下列|以下|摘|选|找出"
)
_NAME = r"\bnames? (?:for|that)\b|(?:\A|[.!?\n]\s*)name\b|\b(?:nicknames?|names|synonyms?|another word)\b|名字|起名"
_ONE_NAME = re.compile(_NAME)
_NAMES = re.compile(r"\bnames\b|名字")
_SHORT_TEXT = re.compile(
    _NAME + r"|\b(?:tag ?lines?|slogans?|another way|rewrite|reword|rephrase|paraphrase|translat\w+|shorten)\b"
    r"|标语|口号|改写|翻[译譯]|谜"
)
_VERSE = re.compile(
    r"\b(?:poems?|poetry|songs?|lyrics|raps?|haikus?|limericks?|verses?|rhymes?|sonnets?|ballads?|odes?)\b|诗|歌词|对联"
)
_RIDDLE = re.compile(r"\briddles?\b|谜")
_RIDDLE_TEXT = re.compile(r"\?|？|\b(?:i am|i'm|i have|i've)\b|\A\W*(?:what|who)\b|我")
_SHORT_BY_NATURE = re.compile(
    r"\?|？|\b(?:haiku|riddle|joke|tagline|slogan|name|sentence|translat\w+|rewrite|short|brief|one|word)\b|翻[译譯]|短|句|谜"
)
_CODE = re.compile(
    r"\b(?:code|function|program|script|sql|query|regex|html|css|python|javascript|java|bash|latex)\b|代码|函数|程序"
)
_CODE_TEXT = re.compile(
    r"^\s*(?:def|class|import|from|function|public|const|let|var|#include|select)\b|[{};]\s*$|=>|</?\w+>|^\s*#!", re.M | re.I
)
_DRAWING = re.compile(r"\b(?:ascii|emojis?|draw)\b|表情")
_ITEM = re.compile(r"^\s*\d+[.)](?=\s)", re.M)
_SENTENCE_END = re.compile(r"[.!?;。！？；।۔\n]+")
_VERDICTS = frozenset("yes no maybe true false yeah nope 是 不 否 对 有 没".split())
_VAGUE_ROOTS = frozenset(stem[:ROOT] for stem in VAGUE_STEMS)
_FORM_ROOTS = frozenset(stem[:ROOT] for stem in FORM_STEMS)


def off_topic(messages: Sequence[Message], rubric: Iterable[Criterion], text: str) -> str | None:
    """Why ``text`` does not answer ``messages``, in words; None where it may."""
    answer = Answer("\n".join(m.content for m in messages), tuple(demanded(rubric)), text)
    if not answer.body:
        is_excerpt = _ON_TEXT.search(answer.request) is not None or len(answer.words) < LONG_COPY
        return None if is_excerpt else "the response only repeats the prompt"
    if answer.is_in_asked_language:
        is_short = answer.size < FOREIGN and _SHORT_BY_NATURE.search(answer.request) is None
        return "the response is too short for what was asked, in whatever language" if is_short else None
    if answer.is_empty_talk:
        return "the response says nothing: nearly all its words are common ones"
    if _is_filled_in(answer):
        return "the response is one sentence over and over with words of the prompt filled in"
    if _shares_topic(answer) or _uses_demanded(answer) or _has_asked_form(answer):
        return None
    return "the response does not take up what the prompt is about"


def _is_filled_in(answer: Answer) -> bool:
    sentences = {tuple(words) for sentence in _SENTENCE_END.split(answer.text) if len(words := tokens(sentence)) >= 2}
    frames = Counter(answer.frame(words) for words in sentences)
    return max(frames.values(), default=0) >= max(SAME_FRAME, len(sentences) / 2)


def _shares_topic(answer: Answer) -> bool:
    """One common word of the prompt occurs in any text, and any word in a heap of words: there it takes two, or words of its
    own."""
    if len(answer.hits) >= 2:
        return True
    if answer.size > SHORT and not answer.has_sentences:
        return False
    return bool(answer.hits - _VAGUE_ROOTS) or (bool(answer.hits) and answer.has_own)


def _uses_demanded(answer: Answer) -> bool:
    """Whether words that both prompt and rules name stand in sentences that say something of their own.

    One such sentence is enough unless the word opens it, since the first word of a paragraph can be demanded.
    """
    named, found = answer.given & answer.prompt_roots, 0
    for sentence in _SENTENCE_END.split(answer.text) if named and answer.has_own and answer.has_sentences else ():
        words = tokens(sentence)
        used = content(words, FUNCTION_STEMS)
        if not named.isdisjoint(used) and len(answer.own_of(words)) >= ASSERTED:
            found += 1 if used[0] in named else 2
    return found >= 2


def _has_asked_form(answer: Answer) -> bool:
    """Whether a response without a word of the topic has a form that the prompt asks for and in which that happens."""
    body, request = answer.body, answer.request
    if _chooses(answer):
        return True
    if _CODE.search(request) and _CODE_TEXT.search(answer.text):
        return True
    if _DRAWING.search(request) and 2 * sum(map(len, answer.words)) <= len("".join(answer.text.split())):
        return True
    numbers = sum(word.isnumeric() for word in body) - len(_ITEM.findall(answer.text))
    if answer.size <= BRIEF:
        if body[0] in _VERDICTS and _YES_NO.search(request):
            return True
        says = bool(content(body, REQUEST_STEMS)) or 2 * numbers >= len(body)
        return says and (_COMPOSE.search(request) is None or _SHORT_TEXT.search(request) is not None)
    if not _VERDICTS.isdisjoint(body[:4]) and (answer.size <= 20 or answer.has_own) and _YES_NO.search(request):
        return True
    if answer.size <= SHORT and len(answer.own) >= max(2, OWN_SHORT * answer.size) and _SHORT_TEXT.search(request):
        return answer.has_sentences or _ONE_NAME.search(request) is not None
    if answer.own and _RIDDLE.search(request) and _RIDDLE_TEXT.search(answer.text.casefold()):
        return True
    if 2 * numbers >= len(body):
        return any(word.isnumeric() for word in answer.prompt)
    if not answer.has_own:
        return False
    lines = [n for line in answer.text.splitlines() if (n := length(tokens(line)))]
    per_line = sum(lines) / len(lines)
    if len(lines) >= LINES and per_line <= LIST_LINE and _NAMES.search(request):
        return True
    if answer.size > SHORT and not answer.has_sentences:
        return False
    if _VERSE.search(request):
        return len(lines) >= LINES and per_line <= VERSE_LINE
    return not answer.topics - _FORM_ROOTS  # "Tell me a joke." has no topic to take up


def _chooses(answer: Answer) -> bool:
    """Whether the response is an option that the prompt offers, or gives a verdict in its words: "My answer is no"."""
    prompt, body, request = answer.prompt, answer.body, answer.request
    if f" {' '.join(answer.words)} " in f" {' '.join(prompt)} ":
        names = bool(content(body, REQUEST_STEMS)) and _COMPOSE.search(request) is None
        return names or _OPTIONS.search(request) is not None or _YES_NO.search(request) is not None
    offered = {tuple(prompt[i - 3 : i + 1]) for i in range(3, len(prompt)) if prompt[i] in _VERDICTS}
    return any(tuple(body[i - 3 : i + 1]) in offered for i in range(3, len(body)))
