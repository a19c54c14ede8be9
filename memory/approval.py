"""Edits that wait for a person, and what the person says: the two files through which a run and a person talk.

``waiting.json``  written by the run: what waits, until when, and what happens without an answer. Gone when nothing waits.
``inbox.jsonl``   written by whoever answers, for example the console: one ``Answer`` per line, appended. The run only reads it, a
                  resume does not cut it back, and answers in it count again when a round is held again.

An answer names the edit and the digest of the decision that was shown, so that it is never taken for another edit of that name, which a
resumed run may come to. The first approval or rejection of an edit stands; notes before it go on record with it.
"""

import hashlib
import json
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from memory.decision import Approval, Decision
from memory.errors import RunDirError
from memory.journal import RoundRecord
from memory.rundir import write_atomic
from memory.task import Noun

PHASE = "approval"
"""The heartbeat's phase while edits wait for a person."""
LONGEST_NOTE = 2000
"""Characters of a note; it goes into the decision's sentence and so into later prompts."""
Default = Literal["accept", "reject"]


class Answer(Noun):
    """One line of the inbox. A ``note`` alone settles nothing. ``time`` is in seconds since 1970."""

    edit_id: str
    digest: str
    answer: Literal["approve", "reject", "note"]
    note: str = Field(default="", max_length=LONGEST_NOTE)
    time: float = 0.0

    @field_validator("note")
    @classmethod
    def _stripped(cls, note: str) -> str:
        return note.strip()

    @model_validator(mode="after")
    def _says_something(self) -> "Answer":
        if self.answer == "note" and not self.note:
            raise ValueError("a note without words")
        return self


class Waiting(Noun):
    """What a run waits for.

    Args:
        thread: names the round and the policy that its edits were measured on.
        until: when ``default`` applies to what has no answer, in seconds since 1970.
        decisions: all of the round, in order.
        held: digests of the accepted ones, which wait, by edit id.
        round: the round's record, with what it has cost so far.
    """

    step: int
    thread: str
    until: float
    default: Default
    decisions: tuple[Decision, ...]
    held: dict[str, str]
    round: RoundRecord

    @property
    def deadline(self) -> str:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(self.until))

    @property
    def fate(self) -> Literal["applied", "rejected"]:
        """What becomes of an edit without an answer."""
        return "applied" if self.default == "accept" else "rejected"


def digest(decision: Decision) -> str:
    """Tells one decision from any other, also of an edit with the same id."""
    return hashlib.sha256(decision.model_dump_json().encode()).hexdigest()[:16]


def write_waiting(path: Path, waiting: Waiting) -> None:
    write_atomic(path, json.dumps(waiting.model_dump(mode="json")))


def read_waiting(path: Path) -> Waiting | None:
    """What the run waits for; None when nothing waits.

    Raises:
        RunDirError: the file cannot be read by this version.
    """
    try:
        return Waiting.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise RunDirError(
            f"{path}: it cannot be read ({' '.join(str(error).split())[:200]}); the edits in it are not shown"
        ) from error


def append_answer(path: Path, answer: Answer) -> None:
    """Add one line in a single write at the end of the file, so that several writers do not mix.

    Raises:
        RunDirError: the line cannot be written, or only a part of it.
    """
    try:
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            end = os.fstat(file).st_size
            # What a killed writer left of its line must not swallow this one.
            torn = end > 0 and os.pread(file, 1, end - 1) != b"\n"
            line = (b"\n" if torn else b"") + answer.model_dump_json().encode() + b"\n"
            written = os.write(file, line)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise RunDirError(
            f"{path.name}: the answer cannot be written ({error.strerror}); free the disk or the permission"
        ) from error
    if written != len(line):
        raise RunDirError(f"{path.name}: only a part of the answer was written; free some disk space and answer again")


def read_inbox(path: Path) -> tuple[list[Answer], list[str]]:
    """(answers in order, what is wrong with lines that are none). A last line without its newline is still being written."""
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except FileNotFoundError:
        return [], []
    except OSError as error:
        return [], [f"it cannot be read ({error.strerror})"]
    answers, faults = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            answers.append(Answer.model_validate(json.loads(line)))
        except (ValueError, RecursionError) as error:
            faults.append(f"line {number} is no answer ({' '.join(str(error).split())[:120]})")
    return answers, faults


def settled(held: dict[str, str], answers: Iterable[Answer]) -> tuple[dict[str, Approval], dict[str, tuple[str, ...]]]:
    """(what a person has decided, notes on what is undecided), by edit id. The first approval or rejection of an edit stands."""
    decided: dict[str, Approval] = {}
    notes: dict[str, tuple[str, ...]] = {}
    for answer in answers:
        name = answer.edit_id
        if held.get(name) != answer.digest or name in decided:
            continue
        said = (*notes.get(name, ()), *((answer.note,) if answer.note else ()))
        if answer.answer == "note":
            notes[name] = said
        else:
            decided[name] = Approval(granted=answer.answer == "approve", by="person", notes=said)
            notes.pop(name, None)
    return decided, notes
