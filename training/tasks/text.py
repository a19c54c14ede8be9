"""Text as people bring it: stray space, invisible characters, several spellings of one letter."""

import re
import unicodedata

from training.tasks.notes import Note, RowError

INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]"
)
"""Control, zero-width and direction characters. Joiners (U+200C, U+200D) stay: emoji and several scripts need them."""
SPECIAL_TOKEN = re.compile(r"<\|[^|<>\s]{1,40}\|>|<(?:/?s|pad|eos|bos|unk|start_of_turn|end_of_turn)>|\[/?INST\]|<<SYS>>")
"""What looks like a control token of a common chat template."""
_SURROGATE = re.compile("[\ud800-\udfff]")


def tidy(value: object, field: str, notes: list[Note]) -> str:
    """A criterion's text in one line: composed letters (NFC), no invisible characters, single spaces.

    Raises:
        RowError: not text, or nothing is left.
    """
    if not isinstance(value, str):
        raise RowError("E_RUBRIC_TYPE", f"{field} must be text, got {type(value).__name__} {str(value)[:40]!r}")
    if value.isascii() and value.isprintable() and "  " not in value and value == value.strip() and value:
        return value
    text = INVISIBLE.sub("", whole(value, field, notes))
    if len(text) < len(value):
        notes.append(Note("W_CONTROL_CHARS", f"{field}: invisible characters were removed"))
    single = " ".join(text.split())
    if single != text:
        notes.append(Note("W_WHITESPACE", f"{field}: stray white space was removed"))
    if not single:
        raise RowError("E_EMPTY_CRITERION", f"{field} has no text; write what must be decided, or remove the criterion")
    return unicodedata.normalize("NFC", single)


def whole(text: str, field: str, notes: list[Note]) -> str:
    """The text with halves of broken characters replaced, which cannot be written as UTF-8."""
    if text.isascii() or _SURROGATE.search(text) is None:
        return text
    notes.append(Note("W_CONTROL_CHARS", f"{field}: broken characters were replaced"))
    return _SURROGATE.sub("\ufffd", text)


def is_blank(value: object) -> bool:
    """Whether a value holds nothing: missing, NaN, or empty text, list or mapping."""
    if value is None or (isinstance(value, float) and value != value):
        return True
    if isinstance(value, str):
        return not value[:1].isalnum() and not INVISIBLE.sub("", value).strip()
    return isinstance(value, list | tuple | dict) and not value
