"""A source of tasks, as the configuration names it."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_serializer, model_validator

from memory.errors import TaskError, nearest
from training.tasks.formats import FIELDS, check_format

EMBEDDED = ("lab", "rubric_mix_mini")
"""Sources that ship with the project, each with a half for training and one held out."""


class TaskSource(BaseModel):
    """One file, Hub data set or embedded suite. A plain text in the configuration is ``path`` or the name of a suite."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | None = None
    """A file: JSON, JSONL, YAML, Parquet, CSV or TSV."""
    dataset: str | None = None
    """Or a Hugging Face data set: its id, as `organisation/name`."""
    suite: Literal["lab", "rubric_mix_mini"] | None = None
    """Or a suite that ships with the project."""
    subset: str | None = None
    """dataset: its configuration, where it has several."""
    split: str = "train"
    """dataset: which split."""
    revision: str | None = None
    """dataset: branch, tag or commit; name a commit to get the same data tomorrow."""
    name: str = ""
    """What ids and reports call the source; empty: from the file or data set."""
    format: str = "auto"
    """Layout of the records; auto: recognised from their fields. The layouts stand in training/tasks/formats.py."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Where other names are used: prompt, rubric, reference, id, domain, system to the record's field (dots for nested ones)."""
    weights: dict[str, float] = Field(default_factory=dict)
    """Points of words like Essential, where a file has words in place of numbers."""
    prompt: str | None = None
    """The prompt of a file that holds nothing but one rubric."""
    domain: str | None = None
    """Domain of all its tasks; null: what the records say."""
    licence: str | None = None
    """Licence of the data, kept with each task."""
    unknown_rules: Literal["stop", "judge"] = "stop"
    """Rule criteria that this version cannot check: an error, or left to the judge by their text."""
    limit: int | None = Field(default=None, ge=1)
    """Only the first rows."""

    @model_validator(mode="before")
    @classmethod
    def _text_is_a_path(cls, data: Any) -> Any:
        if isinstance(data, str):
            return {"suite": data} if data in EMBEDDED else {"path": data}
        if not isinstance(data, dict | TaskSource):
            raise ValueError(f"a source is a path, 'lab', 'rubric_mix_mini' or a mapping with path or dataset, got {data!r}")
        if isinstance(data, dict) and isinstance(data.get("fields"), dict) and "criteria" in data["fields"]:
            renamed = {("rubric" if key == "criteria" else key): value for key, value in data["fields"].items()}
            return {**data, "fields": renamed}
        return data

    @field_validator("format")
    @classmethod
    def _format_is_known(cls, name: str) -> str:
        return check_format(name)

    @field_validator("fields")
    @classmethod
    def _fields_are_parts(cls, fields: dict[str, str]) -> dict[str, str]:
        for name in fields:
            if name not in FIELDS:
                raise ValueError(f"fields: '{name}' is not a part of a task: {nearest(name, FIELDS)}")
        return fields

    @model_validator(mode="after")
    def _one_place(self) -> "TaskSource":
        given = [name for name in ("path", "dataset", "suite") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError(f"a source needs exactly one of path, dataset and suite, got {', '.join(given) or 'none'}")
        return self

    @model_serializer
    def _as_written(self) -> str | dict[str, Any]:
        """In the shortest form that reads back the same."""
        given = {
            name: value
            for name in type(self).model_fields
            if (value := getattr(self, name)) != type(self).model_fields[name].get_default(call_default_factory=True)
        }
        if set(given) == {"suite"} or (set(given) == {"path"} and given["path"] not in EMBEDDED):
            return str(next(iter(given.values())))
        return given

    @property
    def label(self) -> str:
        """The source's name in ids and messages."""
        if self.name:
            return self.name
        return self.suite or (Path(self.path).stem if self.path else str(self.dataset).rpartition("/")[2])

    @property
    def place(self) -> str:
        """Where the source lies, for messages."""
        return self.path or self.suite or f"data set {self.dataset} ({self.split})"


def parse_source(text: str) -> TaskSource:
    """A source from a command line: a path, the name of a suite, or a mapping as in the configuration.

    Raises:
        TaskError: the mapping is no YAML or has an illegal field.
    """
    if not text.strip():
        raise TaskError("source: got an empty text; give a file, 'lab' or 'rubric_mix_mini'")
    if not text.lstrip().startswith("{"):
        return TaskSource.model_validate(text)
    try:
        return TaskSource.model_validate(yaml.safe_load(text))
    except yaml.YAMLError as error:
        raise TaskError(f"source {text!r} is not YAML: {getattr(error, 'problem', error)}") from None
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(step) for step in first["loc"])
        if first["type"] == "extra_forbidden":
            raise TaskError(f"source: '{name}' is not a setting; {nearest(name, TaskSource.model_fields)}") from None
        raise TaskError(f"source: {name + ': ' if name else ''}{first['msg'].removeprefix('Value error, ')}") from None
