"""Build a suite: gather, keep held-out apart, remove what is double or known from a benchmark, balance, write, account for all."""

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memory.errors import TaskError
from memory.rundir import write_atomic
from memory.task import Message, Task
from training.tasks.mix.gather import Gathered, gather
from training.tasks.mix.recipe import Recipe
from training.tasks.mix.similar import Alike, Held, prompt_words
from training.tasks.mix.split import balanced, group_of, kind_of, position
from training.tasks.record import to_line

FILES = ("train", "calibration", "heldout")
SEED = 0


@dataclass
class Mix:
    """The suite by file, and what became of everything else: task id, source and reason."""

    files: dict[str, list[Task]] = field(default_factory=lambda: {name: [] for name in FILES})
    dropped: list[tuple[str, str, str]] = field(default_factory=list)

    def drop(self, task: Task, reason: str) -> None:
        self.dropped.append((task.id, task.origin.source if task.origin else "", reason))


def build(recipe: Recipe, out: Path, offline: Path | None, size: int | None = None) -> dict[str, Any]:
    """Write ``train.jsonl``, ``calibration.jsonl`` (D_0), ``heldout.jsonl``, ``undrafted.jsonl`` and the manifest to ``out``.

    Args:
        offline: folder that holds the sources' offline files; None reads the Hub.
        size: tasks to train on; None: the recipe's.

    Returns:
        The manifest.

    Raises:
        TaskError: a source cannot be read, or nothing is left to train on.
    """
    with Progress(
        TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), transient=True
    ) as bars:
        gathered = _gather_all(recipe, out, offline, bars)
        mix = compose(recipe, gathered, size or recipe.size, lambda tasks, told: bars.track(tasks, description=told))
    if not mix.files["train"]:
        raise TaskError("nothing is left to train on; the manifest's sources say why" if mix.dropped else "no source has tasks")
    return _write(recipe, gathered, mix, out, size or recipe.size)


def _gather_all(recipe: Recipe, out: Path, offline: Path | None, bars: Progress) -> list[Gathered]:
    parts = [(part, source) for part in recipe.sources if (source := part.source(offline)) is not None]
    if not any(part.use == "train" for part, _ in parts):
        raise TaskError(
            "the recipe has no source to train on "
            + ("with an offline file; add 'offline' to its sources or build without --offline" if offline else "on the Hub")
        )
    return [gather(part, source, out / ".parts") for part, source in bars.track(parts, description="reading sources")]


def compose(
    recipe: Recipe,
    gathered: Sequence[Gathered],
    size: int,
    track: Callable[[list[Task], str], Any] = lambda tasks, told: tasks,
) -> Mix:
    """Who is in the suite, and where. Deterministic; a larger ``size`` adds tasks and moves none between the sides."""
    mix = Mix()
    held = Held(recipe.contamination, recipe.overlap_words)
    for found in gathered:
        if found.part.use == "benchmark":
            for task in found.tasks:
                held.add(f"benchmark {found.part.name}", prompt_words(task.messages))
            for ask in found.asks:
                held.add(f"benchmark {found.part.name}", prompt_words_of(ask))

    ours, theirs = _sides(recipe, gathered)
    unique = Alike(recipe.similarity)
    for task in track(theirs, "held-out"):
        told = prompt_words(task.messages)
        if (known := unique.find(told)) is not None:
            mix.drop(task, f"near-duplicate of {known}")
            continue
        unique.add(task.id, told)
        held.add(task.id, told)
        mix.files["heldout"].append(task)

    clean: dict[str, list[Task]] = defaultdict(list)
    for task in track(ours, "training"):
        told = prompt_words(task.messages)
        if (known := held.find(told)) is not None:
            mix.drop(task, f"resembles {known if known.startswith('benchmark') else 'held-out ' + known}")
        elif (known := unique.find(told)) is not None:
            mix.drop(task, f"near-duplicate of {known}")
        else:
            unique.add(task.id, told)
            clean[task.domain].append(task)
    for domain, share in recipe.shares.items():
        chosen = balanced(clean[domain], round(share * size), SEED)
        picked = {task.id for task in chosen}
        for task in clean[domain]:
            if task.id not in picked:
                mix.drop(task, "more than the domain's share")
        for task in chosen:
            is_first = position(SEED, f"calibration/{task.id}") < recipe.calibration_share
            mix.files["calibration" if is_first else "train"].append(task)
    return mix


def prompt_words_of(ask: dict[str, Any]) -> tuple[str, ...]:
    return prompt_words([Message.model_validate(message) for message in ask["prompt"]])


def _sides(recipe: Recipe, gathered: Sequence[Gathered]) -> tuple[list[Task], list[Task]]:
    """Tasks of trainable groups and of held-out ones. A source that is divided already stays divided as it is."""
    ours: list[Task] = []
    theirs: list[Task] = []
    for found in gathered:
        for task in found.tasks if found.part.use != "benchmark" else ():
            if found.part.use == "heldout" or "half:heldout" in task.tags:
                theirs.append(task)
            elif "half:train" in task.tags or position(SEED, group_of(task, found.part.group)) >= recipe.heldout_share:
                ours.append(task)
            else:
                theirs.append(task)
    return ours, theirs


# ---- writing ----


def _write(recipe: Recipe, gathered: Sequence[Gathered], mix: Mix, out: Path, size: int) -> dict[str, Any]:
    out.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, Any]] = []
    for name, tasks in mix.files.items():
        lines = [_line(task) for task in tasks]
        write_atomic(out / f"{name}.jsonl", "".join(lines))
        rows += [_account(name, task, line) for task, line in zip(tasks, lines, strict=True)]
    asks = [ask for found in gathered if found.part.use == "train" for ask in found.asks]
    write_atomic(out / "undrafted.jsonl", "".join(json.dumps(ask, ensure_ascii=False) + "\n" for ask in asks))
    write_atomic(out / "manifest.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    dropped = [{"id": i, "source": source, "reason": reason} for i, source, reason in mix.dropped]
    write_atomic(out / "dropped.jsonl", "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in dropped))
    manifest = {
        "recipe_sha256": hashlib.sha256(recipe.model_dump_json().encode()).hexdigest(),
        "wanted": {domain: round(share * size) for domain, share in recipe.shares.items()},
        "files": {name: _counts(tasks) for name, tasks in mix.files.items()},
        "undrafted_prompts": len(asks),
        "sources": [_source(found, mix) for found in gathered],
    }
    write_atomic(out / "manifest.yaml", yaml.safe_dump(manifest, allow_unicode=True, sort_keys=False))
    return manifest


def _line(task: Task) -> str:
    plain = task.model_copy(update={"tags": tuple(tag for tag in task.tags if not tag.startswith("half:"))})
    return to_line(plain)


def _account(name: str, task: Task, line: str) -> dict[str, Any]:
    origin = task.origin
    return {
        "file": name,
        "id": task.id,
        "source": origin.source if origin else None,
        "row": origin.row if origin else None,
        "licence": origin.licence if origin else None,
        "sha256": hashlib.sha256(line.encode()).hexdigest(),
    }


def _counts(tasks: Sequence[Task]) -> dict[str, Any]:
    languages = Counter(kind_of(task)[1] for task in tasks)
    return {
        "tasks": len(tasks),
        "domains": dict(sorted(Counter(task.domain for task in tasks).items())),
        "languages": dict(languages.most_common()),
        "licences": dict(sorted(Counter(task.origin.licence or "" for task in tasks if task.origin).items())),
    }


def _source(found: Gathered, mix: Mix) -> dict[str, Any]:
    part = found.part
    reasons = Counter(reason.split(" of ")[0].split(" held-out ")[0] for _, source, reason in mix.dropped if source == part.name)
    return {
        "name": part.name,
        "use": part.use,
        "licence": part.licence,
        **({"revision": part.revision} if part.revision else {}),
        **({"not_trained_on": part.refusal} if part.refusal else {}),
        "rows_used": len(found.tasks) + len(found.asks),
        "rows_left_out": dict(found.dropped),
        "tasks": {
            name: sum(t.origin is not None and t.origin.source == part.name for t in tasks) for name, tasks in mix.files.items()
        },
        "tasks_left_out": dict(reasons),
    }


def told(manifest: dict[str, Any], out: Path) -> str:
    """A build in words."""
    lines = [f"{out}: " + ", ".join(f"{name} {count['tasks']}" for name, count in manifest["files"].items())]
    have = Counter(manifest["files"]["train"]["domains"]) + Counter(manifest["files"]["calibration"]["domains"])
    for domain, wanted in manifest["wanted"].items():
        short = "" if have[domain] >= wanted else f", {wanted - have[domain]} fewer than wanted"
        lines.append(
            f"  {domain}: {have[domain]} to train on{short}, {manifest['files']['heldout']['domains'].get(domain, 0)} held out"
        )
    for source in manifest["sources"]:
        left = {**source["rows_left_out"], **source["tasks_left_out"]}
        said = ", ".join(f"{count} {reason}" for reason, count in left.items())
        kept = ", ".join(f"{count} {name}" for name, count in source["tasks"].items() if count) or source["use"]
        lines.append(f"  {source['name']} ({source['licence']}): {kept}" + (f"; left out: {said}" if said else ""))
    if manifest["undrafted_prompts"]:
        lines.append(
            f"{manifest['undrafted_prompts']} prompts have no rubric yet: python -m training.tasks draft-rubrics {out / 'undrafted.jsonl'} "
            f"--out {out / 'drafted.jsonl'} --model NAME"
        )
    return "\n".join(lines)
