"""Files and Hub data sets to numbered records, one at a time where the format allows it."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from memory.errors import TaskError
from training.tasks.formats import FORMATS
from training.tasks.item import NAMES, POINTS
from training.tasks.notes import Note, RowError
from training.tasks.source import TaskSource
from training.tasks.values import MISSING, plain, rows_of_columns

_BOM = b"\xef\xbb\xbf"
_LISTS = ("tasks", "data", "rows", "examples", "questions", "items", "instances", "train", "test")
SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".parquet", ".csv", ".tsv")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML in which no field may occur twice, as in JSON: the last would win without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                continue
            if key.value in names:
                raise yaml.constructor.ConstructorError(None, None, f"the field '{key.value}' occurs twice", key.start_mark)
            names.add(key.value)
        return super().construct_mapping(node, deep)  # type: ignore[no-any-return]


class Row(NamedTuple):
    """A record with its number, or the error that stands in its place. ``notes`` are what reading it has to say."""

    number: int
    record: Mapping[str, Any] | RowError
    notes: tuple[Note, ...] = ()


def read_rows(source: TaskSource, field: str) -> Iterator[Row]:
    """All rows of a file or data set, numbered from 1: by line in JSONL, by record elsewhere.

    Raises:
        TaskError: the source as a whole cannot be read.
    """
    rows = _of_dataset(source, field) if source.dataset else _of_file(Path(str(source.path)), field)
    for row in _regrouped(rows):
        if source.limit is not None and row.number > source.limit:
            return
        yield row


def _of_file(path: Path, field: str) -> Iterator[Row]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        found = "a folder" if path.is_dir() else f"'{suffix}'" if suffix else "no suffix"
        if not path.exists():
            raise _missing(path, field)
        raise TaskError(f"{field}: {path}: the suffix says what a file is, got {found}; expected one of {', '.join(SUFFIXES)}")
    try:
        if suffix in (".jsonl", ".ndjson"):
            yield from _of_lines(path)
        elif suffix == ".parquet":
            yield from _of_parquet(path, field)
        elif suffix in (".csv", ".tsv"):
            yield from _of_table(path)
        elif suffix == ".json":
            yield from _of_json(path, field)
        else:
            yield from _of_yaml(path, field)
    except FileNotFoundError:
        raise _missing(path, field) from None
    except UnicodeDecodeError as error:
        raise TaskError(f"{field}: cannot read {path} as UTF-8 text: {error}; save it as UTF-8") from error
    except OSError as error:
        raise TaskError(f"{field}: cannot read {path}: {error.strerror or error}") from error


def _missing(path: Path, field: str) -> TaskError:
    hub = f" (for a Hub data set write {{dataset: {path}, split: train}})" if re.fullmatch(r"[\w.-]+/[\w.-]+", str(path)) else ""
    return TaskError(
        f"{field}: {path} does not exist{hub}; give a task file, or 'lab' or 'rubric_mix_mini' for a suite that ships"
    )


# ---- one reader per kind of file ----


def _of_lines(path: Path) -> Iterator[Row]:
    # Lines end at \n only: JSON text may hold U+2028 and its like, at which str.splitlines would cut.
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            notes: tuple[Note, ...] = ()
            if number == 1 and line.startswith(_BOM):
                line, notes = line[len(_BOM) :], (Note("W_BOM", "a byte-order mark was removed"),)
            if not line.strip():
                continue
            try:
                yield Row(number, _record(_loads(line.decode("utf-8")), f"line {number}"), notes)
            except UnicodeDecodeError as error:
                yield Row(
                    number, RowError("E_ENCODING", f"line {number} is not UTF-8 text ({error.reason}); save the file as UTF-8")
                )
            except (ValueError, RecursionError) as error:
                yield Row(number, _not_json(error, number))


def _not_json(error: Exception, line: int) -> RowError:
    if isinstance(error, RowError):
        return error
    where = f"{error.msg} at column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)
    return RowError("E_BAD_JSON", f"line {line} is not JSON ({where}); a JSONL file has one JSON object per line")


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_distinct)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field '{twice}' occurs twice in one object")
    return found


def _record(value: Any, where: str) -> Mapping[str, Any] | RowError:
    if isinstance(value, Mapping):
        return value
    return RowError(
        "E_BAD_ROW", f"{where} must be an object with a prompt and a rubric (a JSON object), got {type(value).__name__}"
    )


def _of_json(path: Path, field: str) -> Iterator[Row]:
    text, notes = _text(path)
    try:
        value = _loads(text)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":  # one object per line under the name of a JSON file
            yield from _of_lines(path)
            return
        raise TaskError(f"{field}: {path} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise TaskError(f"{field}: {path} is not JSON: {error}") from error
    yield from _numbered(_rows_in(value, path, field), notes)


def _of_yaml(path: Path, field: str) -> Iterator[Row]:
    text, notes = _text(path)
    try:
        documents = [d for d in yaml.load_all(text, Loader=_Loader) if d is not None]
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise TaskError(f"{field}: {path} is not YAML{where}: {getattr(error, 'problem', error)}") from error
    value = documents[0] if len(documents) == 1 else documents
    yield from _numbered(_rows_in(value, path, field), notes)


def _text(path: Path) -> tuple[str, tuple[Note, ...]]:
    data = path.read_bytes()
    marked = data.startswith(_BOM)
    return data.removeprefix(_BOM).decode("utf-8"), (Note("W_BOM", "a byte-order mark was removed"),) if marked else ()


def _rows_in(value: Any, path: Path, field: str) -> list[Any]:
    """The records of a document: a list, a list under a usual name, columns, or one record."""
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        parts = list(value.values())
        if parts and all(isinstance(part, Mapping) and "characters" in part for part in parts):  # PingPong: one part per language
            return [character for part in parts for character in part["characters"]]
        lists = {k: v for k, v in value.items() if isinstance(v, list) and v and isinstance(v[0], Mapping)}
        named = next((k for k in _LISTS if k in lists), None)
        if named is not None and not {"prompt", "question", "messages"} & set(value):
            if len(lists) > 1:
                raise TaskError(
                    f"{field}: {path} holds several lists: {', '.join(lists)}; give the one that is meant a file of its own"
                )
            return list(lists[named])
        is_one_record = any({"role", "from"} & set(v[0]) for v in lists.values())
        if value and all(isinstance(v, list) for v in value.values()) and not is_one_record:
            try:
                return rows_of_columns(value, str(path))
            except RowError as error:
                raise TaskError(f"{field}: {error}") from None
        return [value]
    raise TaskError(f"{field}: {path} must hold a list of records, got {type(value).__name__}")


def _numbered(values: Iterable[Any], notes: tuple[Note, ...]) -> Iterator[Row]:
    for number, value in enumerate(values, 1):
        yield Row(number, _record(value, f"record {number}"), notes if number == 1 else ())


def _of_parquet(path: Path, field: str) -> Iterator[Row]:
    import pyarrow
    import pyarrow.parquet

    if not path.exists():
        raise FileNotFoundError(path)
    try:
        number = 0
        with pyarrow.parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1000):
                for record in batch.to_pylist():
                    number += 1
                    yield Row(number, plain(record))
    except pyarrow.ArrowException as error:
        raise TaskError(f"{field}: {path} is not a Parquet file that can be read: {error}") from error


def _of_table(path: Path) -> Iterator[Row]:
    csv.field_size_limit(2**30)
    with path.open(encoding="utf-8-sig", newline="") as file:
        heading = file.readline()
        delimiter = max(",;\t", key=heading.count)  # spreadsheets of half the world write semicolons
        file.seek(0)
        for number, record in enumerate(csv.DictReader(file, delimiter=delimiter, skipinitialspace=True), 1):
            if None in record:
                extra = len(record) - 1 + len(record[None])
                yield Row(
                    number,
                    RowError(
                        "E_BAD_ROW", f"row {number} has {extra} cells, the heading {len(record) - 1}; quote cells with commas"
                    ),
                )
            else:
                yield Row(number, {k: v for k, v in record.items() if v not in (None, "")})


def _of_dataset(source: TaskSource, field: str) -> Iterator[Row]:
    import datasets

    try:
        data = datasets.load_dataset(str(source.dataset), name=source.subset, split=source.split, revision=source.revision)
    except Exception as error:  # the library raises a dozen kinds, down to those of its HTTP client
        raise TaskError(
            f"{field}: cannot load {source.place}: {str(error).splitlines()[0] if str(error) else type(error).__name__}; check id, subset, "
            "split and revision, and that the Hub can be reached or the data set is in the local cache"
        ) from error
    for number, record in enumerate(data, 1):
        yield Row(number, plain(record))


# ---- records that belong together ----


def _regrouped(rows: Iterator[Row]) -> Iterator[Row]:
    """Rows as they are, but for the two layouts that spread one task over several rows: FollowBench and one criterion per row."""
    first = next(rows, None)
    if first is None:
        return
    everything = _chain(first, rows)
    keys = set() if isinstance(first.record, RowError) else set(first.record)
    if {"example_id", "level", "instruction", "category"} <= keys:
        yield from _follow_bench(everything)
    elif isinstance(first.record, Mapping) and _is_one_criterion_per_row(first.record):
        yield from _criteria_of_one_task(everything)
    else:
        yield from everything


def _chain(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _follow_bench(rows: Iterator[Row]) -> Iterator[Row]:
    """Each level is a task whose criteria are the instructions of the levels up to it; level 0 has no constraint and is no task."""
    versions: dict[Any, list[str]] = {}
    for row in rows:
        record = row.record
        if isinstance(record, RowError):
            yield row
            continue
        earlier = versions.setdefault((record.get("category"), record.get("example_id")), [])
        if record.get("level") == 0:
            earlier.clear()
            continue
        earlier.append(f"Fulfils this version of the request: {record.get('instruction')}")
        yield Row(row.number, {**record, "versions": list(earlier)}, row.notes)


def _is_one_criterion_per_row(record: Mapping[str, Any]) -> bool:
    text = record.get("criterion", MISSING)
    return isinstance(text, str) and "rubric" not in record and "rubrics" not in record


def _criteria_of_one_task(rows: Iterator[Row]) -> Iterator[Row]:
    """A table with one criterion per row: neighbouring rows with the same id, or the same prompt, are one task."""
    own = ("criterion", "description", *POINTS, *NAMES, "tags", "levels", "rule", "function", "parameters", "verifier")
    number, task, items, held = 0, {}, [], None  # type: ignore[var-annotated]
    closed: set[str] = set()
    for row in rows:
        if isinstance(row.record, RowError):
            yield row
            continue
        shared = {k: v for k, v in row.record.items() if k not in own}
        # Other columns (an id of the row, a category) may differ from criterion to criterion, the request may not.
        asked = {k: shared[k] for k in ("task_id", "prompt_id", *FORMATS["generic"].prompt) if k in shared} or shared
        key = json.dumps(asked, sort_keys=True, default=str)
        if items and key != held:
            yield Row(number, {**task, "rubric": items})
            items = []
            closed.add(str(held))
        if key in closed:
            yield Row(
                row.number,
                RowError("E_BAD_ROW", f"row {row.number} belongs to a task whose rows ended earlier; sort the rows by task"),
            )
            continue
        if not items:
            number, task, held = row.number, shared, key
        items.append({k: row.record[k] for k in own if k in row.record})
    if items:
        yield Row(number, {**task, "rubric": items})
