"""The files through which a run and a person talk: torn, foreign and hostile lines cost themselves and nothing else."""

import json
import threading

import pytest

from memory.approval import LONGEST_NOTE, Answer, append_answer, digest, read_inbox, read_waiting, settled
from memory.decision import Approval
from memory.errors import RunDirError
from tests.builders import decision, field_edit

HELD = {"e1": "d1", "e2": "d2"}


def said(edit_id: str, word: str, note: str = "", told: str | None = None) -> Answer:
    return Answer.model_validate({"edit_id": edit_id, "digest": told or HELD[edit_id], "answer": word, "note": note})


def test_what_is_appended_is_read_in_order(tmp_path):
    answers = [said("e1", "note", "why \u2028 so?\nsecond line 发烧"), said("e2", "approve"), said("e1", "reject", "no")]
    for answer in answers:
        append_answer(tmp_path / "inbox.jsonl", answer)
    assert read_inbox(tmp_path / "inbox.jsonl") == (answers, [])
    assert read_inbox(tmp_path / "nothing") == ([], [])


def test_lines_that_are_no_answers_are_named_and_passed_over(tmp_path):
    path = tmp_path / "inbox.jsonl"
    line = said("e1", "approve").model_dump_json().encode()
    bad = [b"{oops", b"[]", b"\xff\xfe\x00", b'{"edit_id": "e1"}', line.replace(b"approve", b"accept"), b"[" * 100_000]
    bad.append(said("e1", "note", "x").model_dump_json().encode().replace(b'"x"', b'" "'))
    bad.append(line.replace(b'"note":""', b'"note":"' + b"x" * (LONGEST_NOTE + 1) + b'"'))
    bad.append(line.replace(b'"note":""', b'"note":"a\\ud800b"'))
    path.write_bytes(b"\n".join([*bad, b"", line, b'{"half']))
    answers, faults = read_inbox(path)
    assert answers == [said("e1", "approve")]
    assert [fault.split(" is no answer")[0] for fault in faults] == [f"line {k}" for k in range(1, len(bad) + 1)]


def test_an_answer_after_a_torn_line_is_not_swallowed(tmp_path):
    path = tmp_path / "inbox.jsonl"
    path.write_bytes(b'{"edit_id": "e1", "dig')
    append_answer(path, said("e1", "approve"))
    assert read_inbox(path)[0] == [said("e1", "approve")]


def test_writers_at_the_same_time_do_not_mix(tmp_path):
    path = tmp_path / "inbox.jsonl"

    def write(name: str) -> None:
        for k in range(20):
            append_answer(path, said("e1", "note", f"{name}{k} " + name * 1500))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers, faults = read_inbox(path)
    assert (len(answers), faults) == (80, [])


def test_what_cannot_be_written_is_a_sentence(tmp_path):
    with pytest.raises(RunDirError, match="cannot be written"):
        append_answer(tmp_path / "gone" / "inbox.jsonl", said("e1", "approve"))
    (tmp_path / "waiting.json").write_text("{")
    with pytest.raises(RunDirError, match="cannot be read"):
        read_waiting(tmp_path / "waiting.json")
    assert read_waiting(tmp_path / "nothing") is None
    assert read_inbox(tmp_path)[1], "a folder in the place of the file"


def test_the_first_word_stands_and_notes_before_it_belong_to_it():
    answers = [
        said("e1", "note", "one"), said("e1", "reject", "two"), said("e1", "approve"), said("e1", "note", "late"),
        said("e2", "note", "only"), said("e2", "approve", told="another version"), said("e1", "approve", told="x"),
    ]  # fmt: skip
    decided, notes = settled(HELD, answers)
    assert decided == {"e1": Approval(granted=False, by="person", notes=("one", "two"))}
    assert notes == {"e2": ("only",)}


def test_a_digest_tells_decisions_on_the_same_edit_apart():
    edit = field_edit()
    one = decision(edit, "accepted", gain=0.3)
    assert digest(one) == digest(type(one).model_validate(json.loads(one.model_dump_json())))
    assert (
        len({digest(one), digest(decision(edit, "accepted", gain=0.2)), digest(decision(field_edit(text="b"), "accepted"))}) == 3
    )
