"""Rubrics for prompts that come without: a language model drafts criteria, and every one of them stays marked as drafted.

A drafted criterion is a guess that no person has read. ``drafted`` travels with it into every file and report; it goes only when
somebody edits the file.
"""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agents.chat import ChatFailure, ChatModel
from memory.errors import TaskError
from memory.task import Criterion, Task
from training.reward.judge import together
from training.reward.prompts import Quotation, prompt, render
from training.tasks.load import files_of, labelled
from training.tasks.notes import Note, RowError
from training.tasks.record import Ask, to_ask, to_line
from training.tasks.rows import read_rows
from training.tasks.source import TaskSource
from training.tasks.text import tidy

LEAST, MOST = 4, 10
POINTS = 10
"""Largest |points| of a drafted criterion."""


class Draft(BaseModel):
    """One criterion as the model writes it."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(json_schema_extra={"maxLength": 400})
    points: int = Field(strict=True, ge=-POINTS, le=POINTS)


class Drafts(BaseModel):
    """A drafted rubric."""

    model_config = ConfigDict(extra="forbid")
    criteria: list[Draft]


@dataclass
class Drafting:
    """What came of a run of the drafter. ``failed`` counts prompts without a usable rubric, by reason."""

    written: int = 0
    kept: int = 0
    failed: Counter[str] = field(default_factory=Counter)


def read_asks(sources: Sequence[TaskSource]) -> list[Ask]:
    """The prompts of all rows, their rubrics aside.

    Raises:
        TaskError: names the first row that cannot be used.
    """
    asks: dict[str, Ask] = {}
    for source, label in labelled(sources):
        for place in files_of(source, "tasks.train"):
            for row in read_rows(place, "draft-rubrics"):
                try:
                    ask = to_ask(row, place, label, [])
                except RowError as error:
                    raise TaskError(f"{source.place} row {row.number}: {error}") from None
                if ask.id in asks:
                    raise TaskError(f"{source.place} row {row.number}: the id '{ask.id}' occurs twice; ids must be unique")
                asks[ask.id] = ask
    if not asks:
        raise TaskError(f"no prompts in {', '.join(source.place for source in sources)}")
    return list(asks.values())


def draft_rubrics(
    asks: Sequence[Ask], chat: ChatModel, out: Path, concurrency: int = 8, progress: Callable[[int], None] = lambda done: None
) -> Drafting:
    """Append a task for each prompt to ``out``, in our own format; prompts that are there already cost nothing.

    A prompt whose draft fails is left out and counted, never given a rubric of fewer or other criteria than were asked for.
    """
    result = Drafting()
    done = _done(out)
    result.kept = len(done)
    left = [ask for ask in asks if ask.id not in done]
    progress(len(asks) - len(left))
    out.parent.mkdir(parents=True, exist_ok=True)
    with out.open("a", encoding="utf-8") as file:
        for start in range(0, len(left), concurrency):
            batch = left[start : start + concurrency]
            for task in together(lambda ask: _drafted(ask, chat), batch, concurrency):
                if isinstance(task, Task):
                    file.write(to_line(task))
                    result.written += 1
                else:
                    result.failed[task] += 1
            file.flush()
            progress(len(batch))
    return result


def _done(out: Path) -> set[str]:
    """Ids of the tasks that ``out`` holds; a last line that a kill cut off is removed."""
    if not out.exists():
        return set()
    text = out.read_text(encoding="utf-8")
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        out.write_text(whole, encoding="utf-8")
    try:
        return {json.loads(line)["id"] for line in whole.splitlines()}
    except (ValueError, KeyError, TypeError):
        raise TaskError(f"--out: {out} holds something else than drafted tasks; choose another name") from None


def _drafted(ask: Ask, chat: ChatModel) -> Task | str:
    """The task with its drafted rubric, or why there is none."""
    quotation = Quotation()
    user = render(
        "draft_user",
        marker=quotation.marker,
        conversation=quotation.conversation(ask.messages),
        reference=quotation.fence("reference answer", ask.reference) if ask.reference else "There is no reference answer.",
        least=str(LEAST),
        most=str(MOST),
    )
    try:
        drafts = chat.complete(prompt("draft"), user, Drafts).criteria
    except ChatFailure as failure:
        return failure.reason
    notes: list[Note] = []
    try:
        texts = [tidy(draft.text, "criterion", notes) for draft in drafts]
    except RowError:
        return "an empty criterion"
    if not LEAST <= len(drafts) <= MOST:
        return f"fewer than {LEAST} or more than {MOST} criteria"
    if len({text.casefold() for text in texts}) < len(texts):
        return "a criterion twice"
    if any(draft.points == 0 for draft in drafts) or all(draft.points < 0 for draft in drafts):
        return "points of 0, or none that are positive"
    rubric = tuple(
        Criterion(id=f"d{k}", text=text, points=draft.points, drafted=True)
        for k, (text, draft) in enumerate(zip(texts, drafts, strict=True), 1)
    )
    return Task(**ask._asdict(), rubric=rubric)
