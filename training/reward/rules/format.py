"""Rules on the shape of a response: case, markup, lists, quotes, tables."""

import csv
import io
import json
import re
from itertools import pairwise, zip_longest

from training.reward.rules.language import may_be_english
from training.reward.rules.registry import Bound, Count, Marker, Phrase, Text, counted, rule
from training.reward.rules.text import is_divider, lines, paragraphs, sentence_texts, words, written_words

_HIGHLIGHT = re.compile(r"\*{1,3}(?![\s*])[^*\n]++\*{1,3}")
_TITLE = re.compile(r"<<([^\n<>]+)>>")
_PLACEHOLDER = re.compile(r"\[[^\[\]\n]+\]")
_QUOTES = '"“”„«»「」『』'
_ITALIC = re.compile(r"\A\s*<(i|em)>(?=\s*[^\s<])[^<]++</\1>", re.IGNORECASE)
_EMOJI = re.compile("[\U0001f1e6-\U0001faff\u2600-\u27bf\u2b00-\u2bff\u203c\u2049\u231a-\u23ff]")
_VARIANTS = "\ufe0f\u200d\u20e3\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
"""What follows an emoji and changes its look: skin tones, joiners."""
_QUOTED = re.compile(r'"([^"\n]*+)"')
_PUNCTUATION = (".", ",", "!", "?", ";", ":")
_SMALL = frozenset("a an and as at but by for if in nor of off on or per so the to up via vs with yet from into over".split())


def _unfenced(response: str) -> str:
    """The response without a code fence around all of it."""
    text = response.strip()
    if not text.startswith("```") or not text.endswith("```"):
        return text
    return text[3:-3].partition("\n")[2].strip()


@rule("no_commas")
def no_commas(response: str) -> bool:
    """Contains no comma of any script."""
    return not re.search("[,，、،﹐､]", response)


@rule("all_lowercase")
def all_lowercase(response: str, english: bool = False) -> bool:
    """Is all in small letters."""
    cased = any(c.islower() for c in response)
    return cased and response == response.lower() and (not english or may_be_english(response))


@rule("all_capitals")
def all_capitals(response: str, english: bool = False) -> bool:
    """Is all in capital letters."""
    cased = any(c.isupper() for c in response)
    return cased and response == response.upper() and (not english or may_be_english(response))


@counted("capital_words")
def capital_words(response: str) -> int:
    """Has {count} word{s} all in capital letters."""
    return sum(word.isupper() for word in written_words(response))


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


@rule("is_json")
def is_json(response: str) -> bool:
    """Is one JSON value, bare or in a code fence."""
    try:
        json.loads(_unfenced(response), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


@rule("title_in_brackets")
def title_in_brackets(response: str) -> bool:
    """Has a title in double angular brackets, as <<title>>."""
    return any(words(title) for title in _TITLE.findall(response))


@rule("highlights")
def highlights(response: str, min: Bound) -> bool:
    """Highlights at least {min} passage{s} with asterisks, as *this*."""
    return len(_HIGHLIGHT.findall(response)) >= min


@rule("placeholders")
def placeholders(response: str, min: Bound) -> bool:
    """Has at least {min} placeholder{s} in square brackets, as [address]."""
    return len(_PLACEHOLDER.findall(response)) >= min


@rule("postscript")
def postscript(response: str, marker: Phrase) -> bool:
    """Has a postscript that begins with {marker}.

    The marker alone is none: something must follow. A space after a dot of the marker and a dot at its end may be there or not.
    """
    pattern = re.escape(marker.strip().rstrip(".")).replace(r"\.", r"\.\s?").replace(r"\ ", r"\s?")
    between = r"[\W_]*" if pattern[-1] > "\u2e7f" else r"[\W_]+"  # Chinese needs no sign between words
    return re.search(rf"(?<![^\W_]){pattern}{between}[^\W_]", response, re.IGNORECASE) is not None


@rule("sections")
def sections(response: str, marker: Marker, min: Bound) -> bool:
    """Has at least {min} section{s} that begin with {marker} and a number."""
    return len(re.findall(r"(?<!\w)" + re.escape(marker) + r"\s{0,3}\d", response)) >= min


@rule("two_responses")
def two_responses(response: str) -> bool:
    """Gives two different responses, set apart by six asterisks."""
    parts = response.strip().removeprefix("******").removesuffix("******").split("******")
    return len(parts) == 2 and all(words(part) for part in parts) and words(parts[0]) != words(parts[1])


@rule("in_quotes")
def in_quotes(response: str) -> bool:
    """Is wrapped in quotation marks as a whole."""
    text = response.strip()
    return len(text) > 2 and text[0] in _QUOTES and text[-1] in _QUOTES and bool(words(text))


@rule("list_with_marker")
def list_with_marker(response: str, marker: Marker, min: Count = 2) -> bool:
    """Has a list whose entries begin with {marker} instead of bullets."""
    # A sign like a hyphen is common inside sentences, so it counts at the start of a line only.
    before = r"^[^\S\n]*" if len(marker) == 1 else r"(?:^|\s)"
    entries = re.findall(before + re.escape(marker) + r"\s*(?=\S)", response, re.MULTILINE)
    return len(entries) >= min and bool(words(response))


@rule("sub_bullets")
def sub_bullets(response: str) -> bool:
    """Has bullet points with *, each with a sub-bullet with - below it."""
    entries: list[int] = []
    for line in lines(response):
        if re.match(r"\s*\*(?!\*)\s*\S", line):
            entries.append(0)
        elif re.match(r"\s*-\s*\S", line) and entries and not is_divider(line):
            entries[-1] += 1
    return bool(entries) and all(entries)


@rule("sentences_then_bullets")
def sentences_then_bullets(response: str) -> bool:
    """Has at least two sentences that end with a full stop, then at least two bullet points with *."""
    found = lines(response)
    first = next((k for k, line in enumerate(found) if re.match(r"\s*\*(?!\*)\s*\S", line)), None)
    if first is None:
        return False
    told = sum(s.rstrip('*_"”').endswith(".") for s in sentence_texts("\n".join(found[:first])))
    return told >= 2 and sum(re.match(r"\s*\*(?!\*)\s*\S", line) is not None for line in found) >= 2


@rule("nested_brackets")
def nested_brackets(response: str, depth: Count) -> bool:
    """Nests round, square and curly brackets at least {depth} deep."""
    closing = {")": "(", "]": "[", "}": "{"}
    stack: list[str] = []
    deepest = 0
    for character in response:
        if character in "([{":
            stack.append(character)
        elif character in closing and stack and stack[-1] == closing[character]:
            deepest = max(deepest, len(stack))
            stack.pop()
        elif character in closing:
            stack.clear()
    return deepest >= depth


@rule("nested_quotes")
def nested_quotes(response: str, depth: Count) -> bool:
    """Nests quotes at least {depth} deep, double and single ones by turns."""
    stack: list[str] = []
    deepest = 0
    text = response.translate(str.maketrans("“”‘’", "\"\"''"))
    for k, character in enumerate(text):
        inside = 0 < k < len(text) - 1 and text[k - 1].isalnum() and text[k + 1].isalnum()
        if character not in "\"'" or (character == "'" and inside):
            continue
        if stack and stack[-1] == character:
            stack.pop()
        else:
            stack.append(character)
            deepest = max(deepest, len(stack))
    return deepest >= depth


@rule("quotes_explained")
def quotes_explained(response: str) -> bool:
    """Follows every quoted phrase with an explanation that is not quoted."""
    pieces = re.split(r"[\"“”]", response)
    if len(pieces) < 3 or len(pieces) % 2 == 0:
        return False
    return all(words(piece) for piece in pieces[2::2])


@rule("theses_in_italics")
def theses_in_italics(response: str) -> bool:
    """Begins every section with a thesis in HTML italics."""
    parts = [p for p in paragraphs(response) if not re.match(r"\s*(?:#|\*\*[^*]+\*\*\s*$|<h\d)", p)]
    return any(_ITALIC.match(part) for part in parts) and all(
        _ITALIC.match(part) or not re.match(r"\s*<(?:i|em)\b", part) for part in parts
    )


@rule("emoji_after_sentences")
def emoji_after_sentences(response: str) -> bool:
    """Ends every sentence with an emoji."""
    pieces = [piece for piece in re.split(r"(?<=[.!?。！？])\s+|\n+", response.strip()) if piece]
    for piece, after in zip_longest(pieces, pieces[1:], fillvalue=""):
        last = piece.rstrip(".!?。！？\"'”’)*_ ").rstrip(_VARIANTS)[-1:]
        if words(piece) and not _EMOJI.match(last) and not _EMOJI.match(after):
            return False
    return bool(words(response))


@rule("staircase")
def staircase(response: str) -> bool:
    """Indents every line more than the one before."""
    depths = [len(line) - len(line.lstrip()) for line in lines(response)]
    return len(depths) > 1 and all(a < b for a, b in pairwise(depths))


@rule("one_word_per_line")
def one_word_per_line(response: str) -> bool:
    """Writes each word on a line of its own."""
    found = lines(response)
    return bool(words(response)) and all(len(line.split()) == 1 for line in found)


@rule("no_whitespace")
def no_whitespace(response: str) -> bool:
    """Contains no white space."""
    return bool(response) and not any(c.isspace() for c in response)


@rule("title_case")
def title_case(response: str) -> bool:
    """Writes every major word with a capital letter."""
    told = [w for w in written_words(response) if w[0].isalpha()]
    return bool(told) and all(w[0].isupper() or not w[0].islower() or w.lower() in _SMALL for w in told)


@rule("all_punctuation")
def all_punctuation(response: str) -> bool:
    """Uses every common punctuation mark: . , ! ? ; : and an interrobang."""
    rest = response.replace("?!", "").replace("‽", "")
    return all(mark in rest for mark in _PUNCTUATION) and rest != response


@rule("follows_template")
def follows_template(response: str, headings: list[Phrase]) -> bool:
    """Writes something under each heading in this order: {headings}."""
    at = 0
    for heading in headings:
        found = response.find(heading, at)
        if found < 0:
            return False
        at = found + len(heading)
    starts = [response.find(heading) for heading in headings] + [len(response)]
    return all(words(response[a + len(h) : b]) for h, a, b in zip(headings, starts, starts[1:], strict=False))


@rule("csv_table")
def csv_table(
    response: str,
    columns: list[Text],
    rows: Count,
    delimiter: Text = ",",
    quoted: bool = False,
    special: bool = False,
) -> bool:
    """Is a CSV table with the columns {columns} and {rows} row{s}."""
    text = _unfenced(response)
    try:
        table = list(csv.reader(io.StringIO(text), delimiter=delimiter))
    except (csv.Error, TypeError):
        return False
    table = [row for row in table if row]
    if [cell.strip() for cell in (table[0] if table else [])] != columns or len(table) != rows + 1:
        return False
    cells = [cell for line in text.splitlines() if line for cell in line.split(delimiter)]
    if quoted and not all(len(c.strip()) > 1 and c.strip()[0] == c.strip()[-1] == '"' for c in cells):
        return False
    return not special or any(re.search(r"[^\w\s.]", cell) for cell in _QUOTED.findall(text))
