"""Sets judged by people, to hold a judge against: K-QA, TTCW and LLMBar as published, and files of the user's own.

Each set is read from a folder that the user has; nothing is downloaded.
"""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, StrictBool, model_validator

from memory.errors import TaskError, nearest
from memory.task import Criterion, Message, Task
from training.reward.quality import QualityPair
from training.reward.trials.trial import read_rows, read_text

SOURCES = {
    "kqa": "https://github.com/Itaymanes/K-QA",
    "ttcw": "https://github.com/salesforce/creativity_eval",
    "llmbar": "https://github.com/princeton-nlp/LLMBar",
}
"""Where the published sets come from."""


@dataclass(frozen=True)
class HumanVerdicts:
    """One criterion on one response, and for each person who judged it whether it is met.

    Attributes:
        kind: the kind of criterion by which results are broken down.
    """

    messages: tuple[Message, ...]
    response: str
    criterion: Criterion
    kind: str
    people: tuple[bool, ...]

    @property
    def majority(self) -> bool | None:
        """What most people say; None where they are evenly split."""
        met = sum(self.people)
        return None if 2 * met == len(self.people) else 2 * met > len(self.people)


@dataclass(frozen=True)
class OrderedPair:
    """Two responses and which of them is better: 1 the first, -1 the second. ``kind`` is the part of the set."""

    pair: QualityPair
    order: int
    kind: str


def load_statements(name: str, data: Path | None) -> list[HumanVerdicts]:
    """The set ``kqa`` or ``ttcw`` from the folder ``data``, or a JSONL file of the user's own.

    Raises:
        TaskError: a folder, file or row is missing or cannot be understood.
    """
    if name == "kqa":
        return _kqa(folder(name, data))
    if name == "ttcw":
        return _ttcw(folder(name, data))
    return load_file(Path(name))


def folder(name: str, data: Path | None) -> Path:
    """Where the files of a published set lie: ``data`` itself, or the folder in it that has the set's name."""
    if data is None:
        raise TaskError(f"--data is missing: --set {name} needs the folder with its files; they are at {SOURCES[name]}")
    return data / name if (data / name).is_dir() else data


# ---- the user's own ----


class OwnRow(BaseModel):
    """``criterion`` is a text or a criterion as in a task file (``id`` and ``points`` may be left out); ``met`` is the verdict of one
    person or a list with one for each."""

    model_config = ConfigDict(extra="forbid")
    messages: list[Message] = Field(min_length=1)
    response: str
    criterion: Criterion
    met: StrictBool | list[StrictBool]

    @model_validator(mode="before")
    @classmethod
    def _criterion_has_its_parts(cls, data: Any) -> Any:
        if isinstance(data, dict):
            criterion = data.get("criterion")
            if isinstance(criterion, str):
                criterion = {"text": criterion}
            if isinstance(criterion, dict):
                return {**data, "criterion": {"id": "c", "points": 1, **criterion}}
        return data

    @model_validator(mode="after")
    def _somebody_judged(self) -> "OwnRow":
        if self.met == []:
            raise ValueError("'met' is an empty list; give true or false, or a list with one of them for each person")
        return self


def load_file(path: Path) -> list[HumanVerdicts]:
    """Rows ``{messages, response, criterion, met}``."""
    if not path.exists() and path.suffix == "":
        raise TaskError(f"--set: '{path}' is neither a file nor a set; {nearest(str(path), SOURCES)}")
    return [_own(row, number) for number, row in enumerate(read_rows(path, OwnRow, "--set"))]


def _own(row: OwnRow, number: int) -> HumanVerdicts:
    criterion = row.criterion.model_copy(update={"id": f"c{number}"})
    sign = "positive" if criterion.points > 0 else "negative"
    people = tuple(row.met) if isinstance(row.met, list) else (row.met,)
    return HumanVerdicts(tuple(row.messages), row.response, criterion, f"{criterion.kind}, {sign} points", people)


# ---- published sets ----


def _kqa(directory: Path) -> list[HumanVerdicts]:
    """Answers of chat models to patients' questions; three physicians say whether an answer entails a statement (K-QA,
    arXiv 2401.14493). A statement that is not entailed, or contradicted, is not met."""
    path = directory / "NLI_medical_annotator.csv"
    rows = list(csv.DictReader(io.StringIO(read_text(path, "--data"))))
    try:
        return [
            HumanVerdicts(
                messages=(Message(role="user", content=row["Question"]),),
                response=row["answer"],
                criterion=Criterion(id=f"c{number}", text=f"States or clearly implies: {row['claim']}", points=1),
                kind=row["category_x"],
                people=tuple(row[f"label_{person}"] == "Entailment" for person in range(3)),
            )
            for number, row in enumerate(rows)
        ]
    except (KeyError, ValueError) as error:
        raise TaskError(f"--data: {path} is not the table of K-QA ({error}); take it from {SOURCES['kqa']}") from error


def _ttcw(directory: Path) -> list[HumanVerdicts]:
    """Yes/no tests of creative writing on short stories, by three experts each (TTCW, arXiv 2309.14556). Stories that the set only
    links to are left out."""
    stories, tests, annotations = (
        _json(directory / f"ttcw_{part}.json", "ttcw") for part in ("short_stories", "all_tests", "annotations")
    )
    try:
        texts = {s["story_id"]: s for s in stories if not s["content"].startswith("http")}
        asked = {t["ttcw_idx"]: t for t in tests}
        people: dict[tuple[str, int], list[bool]] = {}
        for a in annotations:
            if a["story_id"] in texts:
                people.setdefault((a["story_id"], a["ttcw_idx"]), []).append(a["binary_verdict"] == "Yes")
        return [
            HumanVerdicts(
                messages=(Message(role="user", content=f"Write a short story on this plot: {texts[story]['plot']}"),),
                response=texts[story]["content"],
                criterion=Criterion(id=f"c{number}", text=_test_text(asked[test]), points=1),
                kind=asked[test]["torrance_dimension"],
                people=tuple(found),
            )
            for number, ((story, test), found) in enumerate(people.items())
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TaskError(f"--data: the files in {directory} are not those of TTCW ({error!r}); see {SOURCES['ttcw']}") from error


def _test_text(test: dict[str, Any]) -> str:
    """The question with the explanation that the experts had, without the instructions for a reply."""
    return f"{test['full_prompt'].split('Given the story')[0].strip()}\n\nMet when the answer is yes: {test['question'].strip()}"


def load_pairs(data: Path | None) -> list[OrderedPair]:
    """LLMBar (arXiv 2310.07641): an instruction, two outputs, and which one follows it better, as its authors labelled it; in the
    adversarial parts the worse one looks better."""
    directory = folder("llmbar", data)
    paths = sorted(directory.glob("*.json"))
    if not paths:
        raise TaskError(f"--data: {directory} holds no JSON files of LLMBar; take them from {SOURCES['llmbar']}")
    found = []
    for path in paths:
        try:
            for number, row in enumerate(_json(path, "llmbar")):
                pair = QualityPair(_pair_task(f"{path.stem}-{number}", row["input"]), row["output_1"], row["output_2"])
                found.append(OrderedPair(pair, {1: 1, 2: -1}[row["label"]], path.stem))
        except (KeyError, TypeError, ValueError) as error:
            raise TaskError(f"--data: {path} is not a part of LLMBar ({error!r}); see {SOURCES['llmbar']}") from error
    return found


def _pair_task(task_id: str, instruction: str) -> Task:
    # The quality judge sees no rubric; a task has one all the same.
    rubric = (Criterion(id="follows", text="Follows the instruction", points=1),)
    return Task(id=task_id, domain="instruction-following", messages=(Message(role="user", content=instruction),), rubric=rubric)


def _json(path: Path, name: str) -> Sequence[dict[str, Any]]:
    try:
        return json.loads(read_text(path, "--data"))
    except json.JSONDecodeError as error:
        raise TaskError(f"--data: {path} is not JSON ({error}); take it from {SOURCES[name]}") from error
