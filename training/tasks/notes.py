"""What there is to say of a row that was read: notes on what was taken otherwise than written, errors on what cannot be taken.

Every kind has a code that people can search for and tests can hold on to; ``W_`` rows are used, ``E_`` rows are not.
"""

from typing import NamedTuple

from memory.errors import TaskError

MEANINGS = {
    "W_BOM": "the file begins with a byte-order mark, which was removed",
    "W_CANARY": "a benchmark's canary: its authors ask that it is not trained on",
    "W_COLUMNAR": "a list of criteria stored as columns was turned into rows",
    "W_COMPOUND": "a criterion that seems to ask for several things at once",
    "W_CONTROL_CHARS": "invisible or control characters were removed",
    "W_DEFAULT_WEIGHT": "no points given: every criterion counts the same, or by the format's convention",
    "W_DERIVED": "criteria were derived from the prompt's own versions",
    "W_DUPLICATE_CRITERION": "a criterion that repeats another was left out",
    "W_DUPLICATE_ID": "an id that occurs twice was made unique by its row",
    "W_EMPTY_ENTRY": "an empty entry in a list of statements was left out",
    "W_EMPTY_SYSTEM": "an empty system message was left out",
    "W_FLATTENED": "a tree of criteria was flattened to its leaves, with the product of their shares as points",
    "W_HEADING": "a heading inside a rubric text was left out",
    "W_IMAGE_REFERENCE": "a text that refers to an image or attachment, which a text-only run never has",
    "W_JSON_STRING": "a value stored as JSON inside a string was parsed",
    "W_LONG_CRITERION": "a very long criterion, which a judge can hardly decide as one claim",
    "W_MANY_CRITERIA": "more criteria than a judge grades reliably and cheaply",
    "W_NO_DOMAIN": "no domain given",
    "W_NO_POSITIVE": "no criterion has positive points: saying nothing wrong earns everything",
    "W_NUMERIC_STRING": "points stored as text were read as a number",
    "W_ONE_CRITERION": "a rubric of one criterion gives all or nothing",
    "W_PROMPT_STRING": "a plain text prompt where the format has messages was taken as one user message",
    "W_PROMPT_TOO_LONG": "a prompt longer than the limit",
    "W_ROLE_MAPPED": "roles under other names were mapped to system, user and assistant",
    "W_ROLE_ORDER": "two messages of the same role follow each other, which some chat templates refuse",
    "W_SIGN_SUSPECT": "the sign of the points may be wrong for this text",
    "W_SINGLE_CRITERION": "a rubric text without a list became one criterion",
    "W_SPECIAL_TOKENS": "text that looks like a chat template's control token, which is tokenised as text",
    "W_TEMPLATE_TOKENS": "a criterion that holds markup or control tokens, which is shown to the judge as text",
    "W_UNKNOWN_RULE": "a rule this version does not know was left to the judge",
    "W_UNVERIFIABLE": "a criterion that a judge can hardly decide from the response alone",
    "W_UNREAD": "a field beside the prompt that is not read, or a named field that is not there",
    "W_WHITESPACE": "stray white space in a criterion was removed",
    "W_ZERO_WEIGHT": "a criterion worth 0 points was left out",
    "E_BAD_FIELD": "a field of the own format is missing, unknown or of a wrong type",
    "E_BAD_JSON": "not valid JSON",
    "E_BAD_ROW": "not a record",
    "E_DUPLICATE_CONFLICT": "one criterion twice with different points",
    "E_DUPLICATE_ID": "one task id twice in the own format",
    "E_EMPTY_CRITERION": "a criterion without text",
    "E_EMPTY_PROMPT": "a prompt or message without text",
    "E_EMPTY_RUBRIC": "a rubric without criteria",
    "E_ENCODING": "not UTF-8 text",
    "E_LAST_TURN_NOT_USER": "the last message is not the user's",
    "E_LENGTH_MISMATCH": "two lists that belong together differ in length",
    "E_LEVELS": "levels that cannot be understood",
    "E_MISSING_WEIGHT": "points are given for some criteria and missing for others",
    "E_MULTIMODAL_UNSUPPORTED": "a message part that is not text",
    "E_NO_RUBRIC": "a prompt without a rubric",
    "E_PROMPT_TYPE": "a prompt that is neither text nor a list of messages",
    "E_ROLE": "a role that is neither system, user nor assistant",
    "E_RULE_ARGS": "arguments that do not fit the rule",
    "E_RUBRIC_TYPE": "a rubric or criterion of a type that cannot be understood",
    "E_SYSTEM_NOT_FIRST": "a system message after the first place",
    "E_UNKNOWN_RULE": "a rule this version does not know",
    "E_UNKNOWN_SHAPE": "a record in none of the known formats",
    "E_WEIGHT_NOT_FINITE": "points that are infinite or not a number",
    "E_WEIGHT_TYPE": "points that are not a number",
}
"""Code to meaning, of everything that can be said of a row."""


class Note(NamedTuple):
    """One thing to know of a row that is used. ``text`` names the field."""

    code: str
    text: str


class RowError(TaskError):
    """A row that cannot be used: a code and one sentence that names the field, what was found and what is expected."""

    def __init__(self, code: str, text: str):
        # What is quoted may hold line breaks, and halves of characters that no terminal takes.
        super().__init__(" ".join(text.split()).encode("utf-8", "replace").decode("utf-8"))
        self.code = code


class Remark(NamedTuple):
    """A note or an error with its place: source name and row (from 1)."""

    source: str
    row: int
    code: str
    text: str
