"""One record to one task, in whatever known format it is."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError

from memory.errors import TaskError, nearest
from memory.task import Criterion, Message, Origin, Rule, Task
from training.reward import rules
from training.tasks.criteria import make_criteria
from training.tasks.formats import FORMATS, Format, Record, found, no_prompt, no_rubric, part, recognise
from training.tasks.item import TEXTS, Item
from training.tasks.items import read_items
from training.tasks.notes import Note, RowError
from training.tasks.prompt import checked, read_messages
from training.tasks.rows import Row
from training.tasks.source import TaskSource
from training.tasks.text import is_blank, whole
from training.tasks.values import MISSING, at, from_json, unpacked

UNNAMED_DOMAIN = "general"
_CANARY = re.compile(r"canary guid|benchmark data should never appear in training", re.IGNORECASE)


def to_line(task: Task) -> str:
    """A task as one line of a JSONL file in our own format, without fields that hold their default."""
    return task.model_dump_json(exclude_defaults=True, exclude_none=True) + "\n"


class Ask(NamedTuple):
    """A task without its rubric: what is asked, and where it comes from."""

    id: str
    domain: str
    messages: tuple[Message, ...]
    reference: str | None
    tags: tuple[str, ...]
    origin: Origin


def to_task(row: Row, source: TaskSource, label: str, notes: list[Note]) -> Task:
    """The task of a row. Tasks in our own format stay as they are; others get an id of label and key, and their origin.

    Raises:
        RowError: names the field, what was found and what is expected.
    """
    record = _record(row)
    name, form = recognise(record, source.format, bool({"prompt", "rubric"} & source.fields.keys()))
    if name == "harnessrl":
        return _own(record, source, notes)
    ask = _ask(row.number, record, name, form, source, label, notes)
    rubric_field, items = _items(record, form, source, notes)
    return Task(**ask._asdict(), rubric=make_criteria(items, rubric_field, source.weights, source.unknown_rules, notes))


def to_ask(row: Row, source: TaskSource, label: str, notes: list[Note]) -> Ask:
    """What a row asks, its rubric aside. Raises ``RowError``."""
    record = _record(row)
    name, form = recognise(record, source.format, bool({"prompt", "rubric"} & source.fields.keys()))
    return _ask(row.number, record, name, form, source, label, notes)


def _record(row: Row) -> Record:
    if isinstance(row.record, RowError):
        raise row.record
    return row.record


def _ask(number: int, record: Record, name: str, form: Format, source: TaskSource, label: str, notes: list[Note]) -> Ask:
    prompt_field, prompt = _prompt(record, form, source)
    messages = _with_system(read_messages(prompt, prompt_field, notes), record, form, source, notes)
    if name == "verl" and isinstance(prompt, str) and from_json(prompt) is MISSING:
        notes.append(
            Note("W_PROMPT_STRING", f"{prompt_field} is a text where verl has messages; it was taken as the user's message")
        )
    if any(str(key).lower().startswith("canary") for key in record) or any(_CANARY.search(m.content) for m in messages):
        notes.append(Note("W_CANARY", "the record carries a benchmark's canary; its authors ask that it is not trained on"))
    for beside in ("images", "image", "audio", "audios", "videos", "video", "multi_modal_data", "tools"):
        if not is_blank(unpacked(record.get(beside), beside, [])):
            raise RowError(
                "E_MULTIMODAL_UNSUPPORTED",
                f"'{beside}' stands beside the prompt; only text can be trained on, remove the field or the task",
            )
    for beside in ("context", "contexts", "passage", "document", "documents", "history"):
        if not is_blank(record.get(beside)):
            notes.append(
                Note(
                    "W_UNREAD",
                    f"'{beside}' stands beside the prompt and the policy never sees it; put it into the prompt if it must",
                )
            )
    for part_name, path in source.fields.items():
        if at(record, path) is MISSING:
            notes.append(Note("W_UNREAD", f"fields.{part_name} names '{path}', which this record lacks: {found(record)}"))
    key = _named(record, (*form.id, *FORMATS["generic"].id), source.fields.get("id"))
    return Ask(
        id=f"{label}-{number if key is None else key}",
        domain=source.domain or _domain(record, name, form, source, notes),
        messages=messages,
        reference=_reference(record, form, source, notes),
        tags=tuple(_tags(record, form)),
        origin=Origin(source=label, row=number, licence=source.licence),
    )


def _own(record: Record, source: TaskSource, notes: list[Note]) -> Task:
    """A record of our own format, taken word for word."""
    try:
        task = Task.model_validate(record)
    except ValidationError as error:
        raise RowError("E_BAD_FIELD", _sentence(error)) from None
    checked(list(task.messages), "messages", notes)
    for criterion in task.rubric:
        if criterion.rule is not None:
            try:
                rules.validate(criterion.rule)
            except TaskError as error:
                known = rules.known(criterion.rule.name)
                raise RowError("E_RULE_ARGS" if known else "E_UNKNOWN_RULE", f"criterion '{criterion.id}': {error}") from None
    return task.model_copy(update={"domain": source.domain}) if source.domain else task


_MODELS: dict[str, type[BaseModel]] = {"rubric": Criterion, "messages": Message, "rule": Rule, "origin": Origin}


def _sentence(error: ValidationError) -> str:
    """The first mistake of a record in our own format."""
    first = error.errors()[0]
    place = [str(step) for step in first["loc"]]
    name = ".".join(place)
    if first["type"] == "extra_forbidden":
        holder = next((_MODELS[step] for step in reversed(place[:-1]) if step in _MODELS), Task)
        return f"unknown field '{name}'; {nearest(place[-1], holder.model_fields)}"
    return f"{name or 'task'}: {first['msg'].removeprefix('Value error, ')}"


def _prompt(record: Record, form: Format, source: TaskSource) -> tuple[str, Any]:
    """Where the prompt stands, and its value."""
    if path := source.fields.get("prompt"):
        value = at(record, path)
        if value is MISSING:
            raise RowError("E_UNKNOWN_SHAPE", f"fields.prompt names '{path}', which this record lacks: {found(record)}")
        return path, value
    if form.messages_of is not None:
        return form.prompt[0], form.messages_of(record)
    path, value = part(record, form.prompt)
    if value is MISSING:
        if source.prompt is None:
            raise no_prompt(record)
        return "prompt", source.prompt
    further = record.get("input")
    if path == "instruction" and isinstance(value, str) and isinstance(further, str) and not is_blank(further):
        return "instruction", f"{value}\n\n{further}"  # Alpaca's layout: the text to work on stands beside the instruction
    return path, value


def _with_system(
    messages: tuple[Message, ...], record: Record, form: Format, source: TaskSource, notes: list[Note]
) -> tuple[Message, ...]:
    """The messages with a system message that stands in a field of its own."""
    paths = (source.fields["system"],) if "system" in source.fields else form.system
    path, value = part(record, paths)
    if value is MISSING or is_blank(value):
        return messages
    if isinstance(value, Mapping):
        value = value.get("content")
    if not isinstance(value, str):
        raise RowError("E_PROMPT_TYPE", f"{path} must be the text of a system message, got {type(value).__name__}")
    system = Message(role="system", content=whole(value, path, notes))
    if messages[0].role != "system":
        return (system, *messages)
    if messages[0].content != system.content:
        raise RowError(
            "E_SYSTEM_NOT_FIRST", f"{path} and the first message are two different system messages; keep the one that is meant"
        )
    return messages


def _items(record: Record, form: Format, source: TaskSource, notes: list[Note]) -> tuple[str, list[Item]]:
    """Where the rubric stands, and its items."""
    named = source.fields.get("rubric")
    if form.rubric_of is not None and named is None:
        return form.rubric[0], form.rubric_of(record, form.rubric[0], notes)
    path, value = part(record, (named,) if named else form.rubric)
    if value is MISSING and named:
        raise RowError("E_NO_RUBRIC", f"fields.rubric names '{named}', which this record lacks: {found(record)}")
    if source.prompt is not None and "sub_tasks" in record:  # PaperBench: the file is nothing but the tree
        path, value = "rubric", record
    if value is MISSING or (path == "reward_model.ground_truth" and not _is_rubric(value)):
        raise no_rubric(record)
    return path, read_items(value, path, notes)


def _is_rubric(value: Any) -> bool:
    """Whether verl's ``ground_truth`` holds a rubric: mostly it is the answer, and JSON in it a list of answers or a point (x, y)."""
    value = from_json(value) if isinstance(value, str) else value
    if isinstance(value, Mapping):
        return any(not is_blank(value.get(name)) for name in ("rubrics", "rubric", "criteria", "checklist"))
    return isinstance(value, list) and bool(value) and all(isinstance(v, Mapping) and any(t in v for t in TEXTS) for v in value)


def _named(record: Record, paths: tuple[str, ...], named: str | None) -> str | None:
    """The text or number at the first of the paths that has one."""
    _, value = part(record, (named,) if named else paths)
    usable = isinstance(value, str | int | float) and not isinstance(value, bool) and not is_blank(value)
    return whole(str(value).strip(), "", []) if usable else None


def _domain(record: Record, name: str, form: Format, source: TaskSource, notes: list[Note]) -> str:
    own = _named(record, form.domain, source.fields.get("domain")) or form.default_domain
    domain = own or _named(record, FORMATS["generic"].domain, None)
    if domain is None and name == "verl":
        notes.append(Note("W_NO_DOMAIN", f"neither data_source nor ability is given, the domain is '{UNNAMED_DOMAIN}'"))
    return domain or UNNAMED_DOMAIN


def _reference(record: Record, form: Format, source: TaskSource, notes: list[Note]) -> str | None:
    named = source.fields.get("reference")
    path, value = part(record, (named,) if named else (*form.reference, *FORMATS["generic"].reference))
    if value is MISSING or is_blank(value):
        return None
    return whole(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), path, notes)


def _tags(record: Record, form: Format) -> list[str]:
    tags: list[str] = []
    for name in form.tags:
        value = record.get(name)
        if isinstance(value, list):
            tags += [str(v) for v in value if not is_blank(v)]
        elif isinstance(value, str) and not is_blank(value):
            tags.append(value if name == "tags" else f"{name}:{value}")
    return [whole(tag, "tags", []) for tag in tags]
