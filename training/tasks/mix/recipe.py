"""The recipe of a suite: where its tasks come from, under what terms, and how much of each domain is wanted."""

import re
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from memory.errors import ConfigError, nearest
from training.tasks.source import TaskSource

Use = Literal["train", "heldout", "benchmark"]


class Part(BaseModel):
    """One line of the recipe: a place on the Hub, a file in the offline folder, or both, and the terms of its use."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    """What ids and the manifest call it."""
    use: Use = "train"
    """train: divided over training, calibration and held-out. heldout: never trained on. benchmark: not part of the suite; tasks
    that resemble it are kept out of training."""
    dataset: str | None = None
    """Hugging Face id."""
    subset: str | None = None
    split: str = "train"
    revision: str | None = None
    suite: Literal["rubric_mix_mini"] | None = None
    """Instead of a place: the suite that ships."""
    offline: str | None = None
    """File in the folder that ``--offline`` names."""
    format: str = "auto"
    fields: dict[str, str] = Field(default_factory=dict)
    weights: dict[str, float] = Field(default_factory=dict)
    domain: str | None = None
    """Domain of all its tasks; null: by ``domains``, or what the records say."""
    domains: dict[str, str] = Field(default_factory=dict)
    """Its own names of domains to ours; tasks of other domains are left out."""
    licence: str
    """As the source states it, or 'not stated'."""
    evaluation_only: bool = False
    """Its authors ask that it is not trained on."""
    non_commercial: bool = False
    canary: bool = False
    """Its files carry a canary string."""
    has_rubrics: bool = True
    """Without rubrics its prompts are written to ``undrafted.jsonl`` for ``draft-rubrics``."""
    group: str | None = None
    """Label (``group:...`` of a task's tags) whose tasks stay on one side of the split."""
    min_criteria: int = 2
    max_criteria: int = 40
    exclude: str | None = None
    """Regular expression; tasks whose prompt it matches are left out."""
    unknown_rules: Literal["stop", "judge"] = "judge"

    @field_validator("exclude")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"not a regular expression: {error}") from None
        return pattern

    @model_validator(mode="after")
    def _has_a_place(self) -> "Part":
        if not (self.dataset or self.suite or self.offline):
            raise ValueError(f"source '{self.name}' needs a dataset, a suite or an offline file")
        return self

    @property
    def refusal(self) -> str | None:
        """Why it must not be trained on; None where nothing speaks against it."""
        terms = (
            (self.evaluation_only, "for evaluation only"),
            (self.non_commercial, "not for commercial use"),
            (self.canary, "carries a canary"),
        )
        return ", ".join(words for applies, words in terms if applies) or None

    def source(self, offline: Path | None) -> TaskSource | None:
        """The source to read, from the folder or the Hub; None where the part has no such place."""
        shared: dict[str, Any] = self.model_dump(
            include={"name", "format", "fields", "weights", "domain", "licence", "unknown_rules"}
        )
        if self.suite is not None:
            return TaskSource(suite=self.suite, name=self.name, licence=self.licence)
        if offline is not None:
            return TaskSource(path=str(offline / self.offline), **shared) if self.offline else None
        if self.dataset is None:
            return None
        return TaskSource(dataset=self.dataset, subset=self.subset, split=self.split, revision=self.revision, **shared)


class Recipe(BaseModel):
    """A suite: shares of its domains, what is set aside, how alike two prompts may be, and its sources."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: int = Field(default=10_000, ge=1)
    """Tasks to train on, calibration included."""
    shares: dict[str, float]
    """Domain to its share of the training tasks."""
    heldout_share: float = Field(default=0.1, gt=0, lt=1)
    """Of each trainable source, by groups."""
    calibration_share: float = Field(default=0.02, ge=0, lt=1)
    """D_0, of the training tasks: seen once, to fill the memory before the first step."""
    similarity: float = Field(default=0.7, gt=0, le=1)
    """Jaccard similarity of word trigrams from which two prompts are the same; a usual threshold of MinHash deduplication
    (arXiv 2107.06499 uses 0.8 of 5-grams on documents; prompts are shorter)."""
    contamination: float = Field(default=0.5, gt=0, le=1)
    """The same between a training prompt and a held-out or benchmark one, and lower: here a miss costs more than a loss."""
    overlap_words: int = Field(default=13, ge=5)
    """Words in a row that a training prompt may not share with a held-out or benchmark one (13 as in arXiv 2005.14165)."""
    sources: list[Part]

    @model_validator(mode="after")
    def _is_whole(self) -> "Recipe":
        if abs(sum(self.shares.values()) - 1) > 1e-6 or min(self.shares.values(), default=0) <= 0:
            raise ValueError(f"shares must be positive and sum to 1, got a sum of {sum(self.shares.values()):g}")
        names = [part.name for part in self.sources]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"sources: the name '{twice[0]}' occurs twice")
        for part in self.sources:
            unknown = [d for d in (part.domain, *part.domains.values()) if d is not None and d not in self.shares]
            if part.use == "train" and unknown:
                raise ValueError(f"source '{part.name}': domain '{unknown[0]}' has no share: {nearest(unknown[0], self.shares)}")
            if part.use == "train" and part.refusal:
                raise ValueError(
                    f"source '{part.name}' is {part.refusal} and cannot be trained on; set its use to heldout or benchmark, or remove it"
                )
        return self


def load_recipe(path: Path) -> Recipe:
    """The recipe of a YAML file.

    Raises:
        ConfigError: one sentence with the field, what it got and what it expects.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"--recipe: {path} does not exist; give a YAML file like configs/mix/rubric_mix.yaml") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"--recipe: cannot read {path}: {error}") from error
    try:
        return Recipe.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(step) for step in first["loc"])
        if first["type"] == "extra_forbidden":
            legal = Part.model_fields if name.startswith("sources.") else Recipe.model_fields
            raise ConfigError(f"--recipe: {path}: '{name}' is not a setting; {nearest(str(first['loc'][-1]), legal)}") from None
        raise ConfigError(
            f"--recipe: {path}: {name + ': ' if name else ''}{first['msg'].removeprefix('Value error, ')}"
        ) from None
