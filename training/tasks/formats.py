"""The formats of rubric data: which fields a record of each has, and how to know it.

``FORMATS`` is the whole table: to support another layout, add a row. What the values of prompt and rubric may look like is not a
matter of the format but of ``prompt.py`` and ``items.py``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory.errors import TaskError, nearest
from memory.task import Rule
from training.reward import rules
from training.tasks.characters import pingpong_messages, rpbench_messages
from training.tasks.item import Item
from training.tasks.items import read_items, rule_of_instruction
from training.tasks.notes import Note, RowError
from training.tasks.text import is_blank
from training.tasks.values import MISSING, at, unpacked

Record = Mapping[str, Any]
Rubric = Callable[[Record, str, list[Note]], list[Item]]

MUST_HAVE, NICE_TO_HAVE = 2.0, 1.0
"""Points of K-QA's statements, which come without: the ratio that ScholarQA-CS gives to its most important and optional ones."""


@dataclass(frozen=True)
class Format:
    """One layout of records.

    Attributes:
        keys: fields a record must have to be of this format.
        prompt, rubric, reference, id, domain, system: names or dotted paths that may hold the part, the first found counts.
        tags: fields whose values are kept as labels of the task.
        default_domain: domain where the record names none.
        rubric_of: reads the items where the rubric is spread over several fields.
        messages_of: makes the messages where they are.
    """

    about: str
    keys: tuple[str, ...]
    prompt: tuple[str, ...]
    rubric: tuple[str, ...]
    reference: tuple[str, ...] = ()
    id: tuple[str, ...] = ()
    domain: tuple[str, ...] = ("domain",)
    system: tuple[str, ...] = ("system_prompt", "system", "system_message")
    tags: tuple[str, ...] = ("tags",)
    default_domain: str | None = None
    rubric_of: Rubric | None = None
    messages_of: Callable[[Record], list[dict[str, str]]] | None = None


def _instructions(record: Record, field: str, notes: list[Note]) -> list[Item]:
    names = unpacked(record["instruction_id_list"], "instruction_id_list", notes)
    arguments = unpacked(record["kwargs"], "kwargs", notes)
    if not isinstance(names, list) or not isinstance(arguments, list):
        raise RowError("E_RUBRIC_TYPE", "instruction_id_list and kwargs must be lists")
    if len(names) != len(arguments):
        raise RowError(
            "E_LENGTH_MISMATCH",
            f"instruction_id_list has {len(names)} entries and kwargs {len(arguments)}; each instruction needs its arguments",
        )
    found = []
    for k, (name, given) in enumerate(zip(names, arguments, strict=True)):
        rule = rule_of_instruction(name, given, f"kwargs[{k}]")
        found.append(Item(f"instruction_id_list[{k}]", name, rule=rule, title=_described(rule)))
    if not found:
        raise RowError("E_EMPTY_RUBRIC", "instruction_id_list is empty; give at least one instruction")
    return found


def _described(rule: Rule) -> str | None:
    """A rule in words; None for one that cannot be checked, of which ``make_criteria`` tells."""
    try:
        return rules.describe(rule)
    except TaskError:
        return None


def _statements(record: Record, field: str, notes: list[Note]) -> list[Item]:
    notes.append(Note("W_DEFAULT_WEIGHT", f"Must_have statements count {MUST_HAVE:g}, Nice_to_have ones {NICE_TO_HAVE:g}"))
    found = []
    for name, points in (("Must_have", MUST_HAVE), ("Nice_to_have", NICE_TO_HAVE)):
        texts = unpacked(record[name], name, notes)
        if is_blank(texts):
            continue
        if not isinstance(texts, list):
            raise RowError("E_RUBRIC_TYPE", f"{name} must be a list of statements, got {type(texts).__name__}")
        empty = [k for k, text in enumerate(texts) if is_blank(text)]  # the published file has such entries
        notes += [Note("W_EMPTY_ENTRY", f"{name}[{k}] is empty and was left out") for k in empty]
        found += [Item(f"{name}[{k}]", text, points, name, tags=(name,)) for k, text in enumerate(texts) if k not in empty]
    if not found:
        raise RowError("E_EMPTY_RUBRIC", "Must_have and Nice_to_have are both empty; give at least one statement")
    return found


def _wanted_and_unwanted(record: Record, field: str, notes: list[Note]) -> list[Item]:
    lists = {name: unpacked(record[name], name, notes) for name in ("positive_rubrics", "negative_rubrics") if name in record}
    return read_items({name: items or [] for name, items in lists.items()}, "", notes)


def _versions(record: Record, field: str, notes: list[Note]) -> list[Item]:
    notes.append(
        Note("W_DERIVED", "criteria were derived from the versions of the instruction, each of which adds one constraint")
    )
    return [Item(f"versions[{k}]", text, 1.0, tags=(f"level:{k + 1}",)) for k, text in enumerate(record["versions"])]


FORMATS: dict[str, Format] = {
    "harnessrl": Format("our own, as `convert` writes it", ("id", "messages", "rubric"), ("messages",), ("rubric",)),
    "ifeval": Format(
        "IFEval, IFBench: prompt, instruction_id_list, kwargs",
        ("prompt", "instruction_id_list", "kwargs"),
        ("prompt",),
        ("instruction_id_list",),
        id=("key",),
        default_domain="instruction-following",
        rubric_of=_instructions,
    ),
    "kqa": Format(
        "K-QA: Question, Must_have, Nice_to_have",
        ("Question", "Must_have", "Nice_to_have"),
        ("Question",),
        ("Must_have",),
        ("Free_form_answer",),
        default_domain="medical",
        rubric_of=_statements,
    ),
    "scholarqa": Format(
        "ScholarQA-CS: initial_prompt, metric_config with weighted properties",
        ("initial_prompt", "metric_config"),
        ("initial_prompt",),
        ("metric_config.config.other_properties",),
        id=("case_id",),
        default_domain="science",
    ),
    "biggen": Format(
        "BiGGen Bench: input, score_rubric with five described scores",
        ("input", "score_rubric"),
        ("input",),
        ("score_rubric",),
        ("reference_answer",),
        ("id",),
        ("domain", "capability"),
    ),
    "writingbench": Format(
        "WritingBench: query, checklist with described ranges of scores",
        ("query", "checklist"),
        ("query",),
        ("checklist",),
        id=("index",),
        domain=(),
        tags=("domain1", "domain2", "lang"),
        default_domain="writing",
    ),
    "followbench": Format(
        "FollowBench: example_id, level, instruction; criteria are derived from the levels below",
        ("example_id", "level", "instruction", "versions"),
        ("instruction",),
        ("versions",),
        ("target",),
        domain=(),
        default_domain="instruction-following",
        rubric_of=_versions,
    ),
    "drtulu": Format(
        "DR Tulu: query, positive_rubrics, negative_rubrics",
        ("positive_rubrics",),
        ("query", "question", "prompt", "messages"),
        ("positive_rubrics",),
        rubric_of=_wanted_and_unwanted,
    ),
    "verl": Format(
        "verl: prompt, data_source, reward_model with rubrics (also RubricHub)",
        ("prompt", "reward_model"),
        ("prompt",),
        (
            "reward_model.rubrics",
            "reward_model.rubric",
            "extra_info.rubrics",
            "extra_info.rubric",
            "rubrics",
            "rubric",
            "reward_model.ground_truth",
        ),
        ("extra_info.reference_answer", "extra_info.answer"),
        ("extra_info.index", "id", "uid"),
        ("data_source", "ability", "domain"),
    ),
    "healthbench": Format(
        "HealthBench: prompt, rubrics with criterion, points, tags",
        ("prompt", "rubrics"),
        ("prompt",),
        ("rubrics",),
        ("ideal_completions_data.ideal_completion",),
        ("prompt_id", "id"),
        tags=("example_tags",),
    ),
    "rar": Format(
        "Rubrics as Rewards: question, rubric with title, description, weight",
        ("question", "rubric"),
        ("question",),
        ("rubric",),
        ("reference_answer", "answer"),
        ("id",),
        tags=("question_source",),
    ),
    "rubrichub": Format(
        "RubricHub: question, rubrics with rule criteria in their tags",
        ("question", "rubrics"),
        ("question",),
        ("rubrics",),
        ("reference_answer", "answer"),
        ("id",),
    ),
    "openrubrics": Format(
        "OpenRubrics: instruction, rubric as a text with a list",
        ("instruction", "rubric"),
        ("instruction",),
        ("rubric",),
        ("winner", "chosen"),
        ("id",),
    ),
    "verifiers": Format(
        "verifiers: prompt or question, answer, info with the rubric",
        ("info",),
        ("prompt", "question"),
        ("info.rubric", "info.rubrics", "info.criteria"),
        ("answer",),
        ("example_id", "id"),
        ("task", "info.domain"),
    ),
    "rpbench": Format(
        "RPBench: npc_profile, conversation that the character begins; has no rubrics",
        ("npc_profile", "conversation"),
        ("conversation",),
        ("rubric",),
        id=("id",),
        default_domain="role-play",
        messages_of=rpbench_messages,
    ),
    "pingpong": Format(
        "PingPong characters: char_name, system_prompt, mostly a greeting; has no rubrics",
        ("char_name", "system_prompt"),
        ("system_prompt",),
        ("rubric",),
        system=(),
        id=("char_name",),
        default_domain="role-play",
        messages_of=pingpong_messages,
    ),
    "generic": Format(
        "anything else with a prompt and a rubric under usual names",
        (),
        ("messages", "prompt", "conversations", "question", "query", "instruction", "input", "problem", "task"),
        (
            "rubric",
            "rubrics",
            "criteria",
            "checklist",
            "score_rubric",
            "requirements",
            "reward_model.rubrics",
            "metadata.rubric",
            "info.rubric",
        ),
        ("reference", "reference_answer", "answer", "ideal_answer", "solution"),
        ("id", "task_id", "prompt_id", "question_id", "uid", "key"),
        ("domain", "category", "topic"),
    ),
}
FIELDS = ("prompt", "rubric", "reference", "id", "domain", "system")
"""Parts of a task that ``fields`` of a source can name."""


def recognise(record: Record, wanted: str, renamed: bool) -> tuple[str, Format]:
    """The format of a record: the one that is ``wanted``, or with ``auto`` the first whose fields it has.

    Args:
        renamed: the source names fields of its own, so no known layout can be expected.

    Raises:
        RowError: a wanted format whose fields the record lacks.
    """
    if wanted != "auto":
        form = FORMATS[wanted]
        # What cannot be read without a field needs it, whatever other names the source gives.
        replaced = {*(() if form.messages_of else form.prompt), *(() if form.rubric_of else form.rubric)} if renamed else set()
        missing = [key for key in form.keys if key not in record and key not in replaced]
        if missing:
            raise RowError(
                "E_UNKNOWN_SHAPE",
                f"format '{wanted}' needs {', '.join(form.keys)}, but {', '.join(missing)} is missing: {found(record)}",
            )
        return wanted, form
    if renamed:
        return "generic", FORMATS["generic"]
    return next(
        (name, form) for name, form in FORMATS.items() if all(key in record for key in form.keys) and _is_sure(name, form, record)
    )


def _is_sure(name: str, form: Format, record: Record) -> bool:
    """Whether fields that say little by themselves hold what the format has in them."""
    if name == "harnessrl":
        rubric = record["rubric"]
        return (
            isinstance(rubric, list)
            and bool(rubric)
            and all(isinstance(c, Mapping) and {"id", "text", "points"} <= set(c) for c in rubric)
        )
    if form.messages_of is not None:  # characters without a request; a record that has one is somebody's own
        turns = record.get("conversation", [])
        is_opening = isinstance(turns, list) and all(isinstance(t, Mapping) and "sentences" in t for t in turns)
        return is_opening and not any(at(record, name) is not MISSING for name in FORMATS["generic"].prompt)
    return name != "verifiers" or any(at(record, path) is not MISSING for path in form.rubric)


def part(record: Record, paths: tuple[str, ...]) -> tuple[str, Any]:
    """The first of the paths that is there, with its value; ("", MISSING) when none is. One with content goes before an empty one."""
    there = [(path, value) for path in paths if (value := at(record, path)) is not MISSING]
    return next((p for p in there if not is_blank(p[1])), there[0] if there else ("", MISSING))


def found(record: Record) -> str:
    return f"found the fields {', '.join(map(str, record)) or '(none)'}"


def no_prompt(record: Record) -> RowError:
    return RowError(
        "E_UNKNOWN_SHAPE",
        f"no prompt in this record: {found(record)}; expected one of {', '.join(FORMATS['generic'].prompt)}, or the fields of a known "
        f"format ({', '.join(FORMATS)}); name yours with fields: {{prompt: ..., rubric: ...}} in the source",
    )


def no_rubric(record: Record) -> RowError:
    return RowError(
        "E_NO_RUBRIC",
        f"a prompt without a rubric: {found(record)}; a rubric is looked for in rubric, rubrics, criteria, checklist and "
        "reward_model.rubrics; name another field with fields: {rubric: ...} in the source, or let a model propose criteria with "
        "python -m training.tasks draft-rubrics",
    )


def check_format(name: str) -> str:
    """The name of a format. Raises ``ValueError`` for an unknown one, with the nearest."""
    if name != "auto" and name not in FORMATS:
        raise ValueError(f"format '{name}' is unknown: {nearest(name, ['auto', *FORMATS])}")
    return name
