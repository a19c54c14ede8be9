"""The configuration of a run: one tree of pydantic models, each field documented under it.

A config is a YAML file plus dotted overrides (``train.steps=200``). Unknown keys are errors that name the key and the nearest
legal one. ``load_config`` is the only way in; every mistake leaves as one ``ConfigError`` sentence.
"""

import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from agents.chat import ChatConfig
from agents.config import EvolverConfig
from agents.limits import BudgetSettings, LimitSettings
from memory.errors import ConfigError, nearest
from memory.index import ChromaSettings
from training.tasks.source import TaskSource

CONFIGS = Path(__file__).parent.parent / "configs"


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid")


class LoraSettings(Section):
    """Low-rank adapters instead of full fine-tuning."""

    r: int = Field(default=16, ge=1)
    """Rank."""
    alpha: int = Field(default=32, ge=1)
    """Scaling numerator."""
    dropout: float = Field(default=0.0, ge=0, lt=1)
    targets: list[str] | Literal["all-linear"] = "all-linear"
    """Module names that get an adapter."""


class PolicySettings(Section):
    model: str = "lab"
    """`lab` (the embedded policy), a Hugging Face id, or a folder."""
    revision: str | None = None
    """Revision of a Hugging Face id."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    lora: LoraSettings | None = None
    max_completion_tokens: int = Field(default=64, ge=1)
    """Length cap of a response, in tokens."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature of training rollouts and rehearsals."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Other than 1 biases the gradient: tokens are drawn from a truncated policy but scored under the full one."""
    chat_template_kwargs: dict[str, Any] = Field(default_factory=dict)
    """Passed to the chat template, for example `enable_thinking: false`."""
    vllm: bool = False
    """Roll out with TRL's colocated vLLM engine instead of transformers. Needs a GPU and the extra `vllm`."""


class TaskSettings(Section):
    """What is trained on and evaluated on. Sources: a file, a Hub data set, or a suite that ships (training/tasks/source.py)."""

    train: list[TaskSource] | None = Field(default=None, min_length=1)
    """One or several sources; null: `lab` for the embedded policy, `rubric_mix_mini` for any other."""
    heldout: list[TaskSource] | None = None
    """Sources never trained on, evaluated before and after; null: the held-out half of the suite that train names, if any."""
    on_error: Literal["stop", "skip"] = "stop"
    """A row that cannot be used: stop with what is wrong, or leave it out and say how many were."""
    max_prompt_tokens: int | None = Field(default=None, ge=1)
    """Longest prompt; null: what the policy's context leaves beside `policy.max_completion_tokens`."""
    overlong: Literal["stop", "drop"] = "stop"
    """A prompt that is longer: stop before training, or leave its task out and say how many were."""

    @field_validator("train", "heldout", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        return value if value is None or isinstance(value, list) else [value]

    def resolved(self, model: str) -> "TaskSettings":
        """With the sources that stand for null."""
        default = TaskSource(suite="lab" if model == "lab" else "rubric_mix_mini")
        train = self.train if self.train is not None else [default]
        own = [source for source in train if source.suite]
        return self.model_copy(update={"train": train, "heldout": self.heldout if self.heldout is not None else own})


class TrainSettings(Section):
    steps: int = Field(default=120, ge=1)
    tasks_per_step: int = Field(default=8, ge=1)
    """Groups per step, over all ranks."""
    group_size: int = Field(default=8, ge=2)
    """Rollouts per task and step (n)."""
    micro_batch_size: int | None = Field(default=None, ge=1)
    """Rollouts per forward pass on one rank; null: all of the rank's share at once."""
    learning_rate: float = Field(default=1e-4, gt=0)
    lr_scheduler: str = "constant"
    """Name of a transformers schedule."""
    warmup_steps: int = Field(default=0, ge=0)
    beta: float = Field(default=0.0, ge=0)
    """KL coefficient; 0 keeps no reference model."""
    loss_type: str = "dapo"
    """TRL's loss variants."""
    scale_rewards: Literal["group", "batch", "none"] = "group"
    max_grad_norm: float = Field(default=1.0, gt=0)
    bf16: bool = False
    gradient_checkpointing: bool = True
    """Recompute activations in the backward pass: less memory for a third more compute."""
    deepspeed: str | dict[str, Any] | None = "zero2"
    """`zero2`, `zero3`, a JSON file, a DeepSpeed config in place, or null for none."""
    trl: dict[str, Any] = Field(default_factory=dict)
    """Further TRL `GRPOConfig` arguments, as TRL users know them."""
    report_to: list[Literal["trackio", "wandb", "tensorboard", "mlflow"]] = Field(default_factory=list)
    """Experiment trackers; each must be installed."""


class SamplingSettings(Section):
    """p: which tasks a step draws."""

    levels: tuple[float, ...] = (0.125, 0.25, 0.5, 1.0, 2.0)
    """Weights a task can have; 1 is an untouched task, retired tasks have 0."""
    floor: float = Field(default=0.05, ge=0)
    """Least weight of any task, so that a retired one is seen now and then; 0 lets retired tasks go."""

    revisit_edited: bool = True
    """Draw a task soon after its text, guidance or criteria were edited, once more than its level would have it."""

    @model_validator(mode="after")
    def _levels_are_a_ladder(self) -> "SamplingSettings":
        if list(self.levels) != sorted(set(self.levels)) or 1.0 not in self.levels or min(self.levels) <= 0:
            raise ValueError(f"levels must be growing positive numbers with 1 among them, got {list(self.levels)}")
        return self


class GuidanceSettings(Section):
    """g: what guided rollouts see."""

    max_fields: int = Field(default=2, ge=0)
    """Fields per task at the start of training; 0 switches guidance off."""
    until: float = Field(default=0.8, gt=0, le=1)
    """Share of training after which the ceiling is 0."""
    group_share: float = Field(default=0.5, gt=0, le=0.5)
    """Share of a group that is guided, at most half, so that the plain reward is always seen."""
    train_on: Literal["plain", "guided"] = "plain"
    """The context of a guided rollout in the update. `plain` teaches the policy to answer so without the hint, at the price of an
    off-policy sample; `guided` is on-policy, but teaches what to do when hinted."""
    correction: Literal["none", "importance"] = "none"
    """With `train_on: plain`. `none` takes guided samples as if they were on-policy, which is what lets a rare answer grow;
    `importance` divides by their probability under the hint: unbiased, but a behaviour that is rare without the hint gets
    almost no weight."""


class RewardSettings(Section):
    min_scored_share: float = Field(default=0.8, gt=0, le=1)
    """Share of a rubric's |points| that must be scored for a rollout to count; below it the rollout is unscored."""
    max_unscored: float = Field(default=0.2, ge=0, le=1)
    """Share of unscored rollouts in a step above which the run does not train on them: where the endpoint may come back, it pauses,
    else it stops with a message."""
    retry_every: float = Field(default=30.0, gt=0)
    """Seconds before what was lost in an outage is asked for again; doubles with each try, up to ten times as long."""
    max_pause: float = Field(default=24.0, gt=0)
    """Hours of a pause after which the run stops with a checkpoint."""
    content_gate: bool | None = None
    """Give no credit to responses that are no answer at all: empty, the prompt or the rubric over again, degenerate, and for rubrics of
    rules alone off the topic. null: on, but for the laboratory, whose rules stand in for a judge."""


class JudgeSettings(ChatConfig):
    """The model that judges `llm` and `levels` criteria, and how it is asked; `heuristic` judges `rule` criteria only."""

    protocol: Literal["per_criterion", "batched", "holistic"] = "batched"
    """`batched`: several criteria of a response per call; `per_criterion`: one, so that none colours another, at the highest price;
    `holistic`: one grade for the whole response, for comparison only, since nothing can be learned from it about a criterion."""
    batch: int = Field(default=8, ge=1)
    """batched: criteria per call, at most."""
    evidence: bool = False
    """Ask for the passage of the response that a verdict rests on. A met criterion whose passage does not occur there is unscored
    (`evidence`); criteria that are met by leaving something out have nothing to quote, so use it with rubrics that have none."""


class SecondSettings(ChatConfig):
    """Another model, which looks at a sample of what the judge has begun to credit; `heuristic`: none. The reward never sees it."""

    per_step: int = Field(default=16, ge=8)
    """Newly credited verdicts of a step that it looks at, at most."""


class QualitySettings(Section):
    """Q: the rubric-free quality order."""

    source: Literal["gold", "pairwise", "reference", "off"] = "gold"
    """`gold`: the laboratory's noisy judge; `pairwise`: an LLM (`chat`) compares two responses; `reference`: it compares each with the
    task's reference answer, which takes fewer calls and orders more coarsely; `off`: spurious rewards cannot be detected, and
    criteria are left alone."""
    pairs_per_group: int = Field(default=28, ge=1)
    """Comparisons per group and visit, at most."""
    flip_rate: float = Field(default=0.15, ge=0, lt=0.5)
    """gold: share of orders that the noisy judge gets wrong."""
    tie_margin: float = Field(default=0.05, ge=0)
    """gold: difference of gold scores up to which the judge calls a tie."""
    chat: ChatConfig = Field(default_factory=ChatConfig)
    """pairwise, reference: the model that compares."""

    @field_validator("source", mode="before")
    @classmethod
    def _yaml_reads_off_as_false(cls, source: Any) -> Any:
        return "off" if source is False else source


class MemorySettings(Section):
    """The training memory. The journal is always in the run directory."""

    chroma: ChromaSettings = Field(default_factory=ChromaSettings)
    """Where the index lives."""


class EvaluationSettings(Section):
    every: int | None = Field(default=None, ge=1)
    """Steps between held-out evaluations; null: before and after training only."""
    samples: int = Field(default=8, ge=1)
    """Responses per held-out task."""


class CheckpointSettings(Section):
    every: int = Field(default=50, ge=1)
    """Steps between checkpoints."""
    keep: int = Field(default=2, ge=1)
    """Newest checkpoints to keep."""


class RunConfig(Section):
    """A run. Start from `configs/default.yaml`."""

    seed: int = 0
    policy: PolicySettings = Field(default_factory=PolicySettings)
    tasks: TaskSettings = Field(default_factory=TaskSettings)
    train: TrainSettings = Field(default_factory=TrainSettings)
    sampling: SamplingSettings = Field(default_factory=SamplingSettings)
    guidance: GuidanceSettings = Field(default_factory=GuidanceSettings)
    reward: RewardSettings = Field(default_factory=RewardSettings)
    judge: JudgeSettings = Field(default_factory=JudgeSettings)
    """The model that judges criteria."""
    second: SecondSettings = Field(default_factory=SecondSettings)
    """The model that looks at what the judge has begun to credit."""
    quality: QualitySettings = Field(default_factory=QualitySettings)
    evolver: EvolverConfig = Field(default_factory=EvolverConfig)
    memory: MemorySettings = Field(default_factory=MemorySettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    """What the run may ask of its endpoints, all roles together."""
    budget: BudgetSettings = Field(default_factory=BudgetSettings)
    """What the run may spend on its models."""
    evaluation: EvaluationSettings = Field(default_factory=EvaluationSettings)
    checkpoint: CheckpointSettings = Field(default_factory=CheckpointSettings)

    @property
    def chats(self) -> dict[str, ChatConfig]:
        """The roles that a model can play, by their place in this config."""
        evolver = {"evolver.attributor": self.evolver.attributor, "evolver.proposer": self.evolver.proposer}
        return {"judge": self.judge, "second": self.second, "quality.chat": self.quality.chat, **evolver}

    @model_validator(mode="after")
    def _tasks_fit_the_policy(self) -> "RunConfig":
        self.tasks = self.tasks.resolved(self.policy.model)
        return self

    @model_validator(mode="after")
    def _parts_fit(self) -> "RunConfig":
        if self.quality.source in ("pairwise", "reference") and self.quality.chat.provider == "heuristic":
            raise ValueError(
                f"quality.chat.provider is 'heuristic', but quality.source '{self.quality.source}' needs 'openai' and a model"
            )
        if self.judge.protocol == "holistic" and self.evolver.enabled:
            raise ValueError(
                "judge.protocol 'holistic' tells no criterion from another, which the evolver needs: set evolver.enabled=false, or "
                "judge.protocol to 'batched' or 'per_criterion'"
            )
        unpriced = [role for role, chat in self.chats.items() if chat.provider == "openai" and chat.price is None]
        if self.budget.usd is not None and unpriced:
            raise ValueError(
                f"budget.usd needs the price of every model, but {unpriced[0]}.price is null: set "
                f"{unpriced[0]}.price={{prompt: USD, completion: USD}} per million tokens, or use budget.tokens"
            )
        evolving = (self.evolver.attributor, self.evolver.proposer)
        unpriced_role = any(chat.provider == "openai" and chat.price is None for chat in evolving)
        if unpriced_role and (self.evolver.budget.round.usd is not None or self.evolver.budget.run.usd is not None):
            raise ValueError(
                "evolver.budget with usd needs evolver.attributor.price and evolver.proposer.price: set them to "
                "{prompt: USD, completion: USD} per million tokens, or use tokens"
            )
        if self.guidance.correction == "importance" and self.guidance.train_on == "guided":
            raise ValueError("guidance.correction 'importance' needs guidance.train_on 'plain': guided training is on-policy")
        if self.sampling.levels and self.guidance.max_fields and int(self.train.group_size * self.guidance.group_share) == 0:
            raise ValueError("guidance.group_share leaves no rollout of a group to guide; raise it or set guidance.max_fields=0")
        return self

    def check_world_size(self, world_size: int) -> None:
        """Refuse a batch that does not divide over ``world_size`` ranks, with the nearest legal values.

        Raises:
            ConfigError: with the arithmetic.
        """
        train = self.train
        rollouts = train.tasks_per_step * train.group_size
        if rollouts % world_size:
            legal = [n for n in range(1, train.tasks_per_step + world_size + 1) if n * train.group_size % world_size == 0]
            raise ConfigError(
                f"train.tasks_per_step x train.group_size = {train.tasks_per_step} x {train.group_size} = {rollouts} rollouts do not "
                f"divide over {world_size} processes; nearest legal train.tasks_per_step: {_around(legal, train.tasks_per_step)}"
            )
        share = rollouts // world_size
        micro = train.micro_batch_size
        if micro is not None and share % micro:
            legal = [n for n in range(1, share + 1) if share % n == 0]
            raise ConfigError(
                f"train.micro_batch_size is {micro}, which does not divide the {rollouts} / {world_size} = {share} rollouts that a "
                f"process has per step; nearest legal values: {_around(legal, micro)}"
            )


def _around(legal: Sequence[int], value: int) -> str:
    """The nearest legal values below and above ``value``."""
    below, above = [n for n in legal if n < value], [n for n in legal if n > value]
    return ", ".join(str(n) for n in (*below[-1:], *above[:1]))


def load_config(path: str | Path | None, overrides: Sequence[str] = ()) -> RunConfig:
    """The config of a file (None: ``configs/default.yaml``) with ``key=value`` overrides; values are read as YAML.

    Raises:
        ConfigError: one sentence with the field, what it got, what it expects and what to do.
    """
    file = CONFIGS / "default.yaml" if path is None else Path(path)
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except FileNotFoundError as error:
        shipped = ", ".join(sorted(str(p.name) for p in CONFIGS.glob("*.yaml")))
        raise ConfigError(f"--config: {file} does not exist; give a YAML file, for example one of configs/: {shipped}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--config: cannot read {file}: {error}") from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f" at line {where.line + 1}, column {where.column + 1}" if where else ""
        raise ConfigError(f"--config: {file} is not valid YAML{line}: {getattr(error, 'problem', error)}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"--config: {file} must hold a mapping of settings, got {type(data).__name__}")
    for override in overrides:
        _set(data, override)
    return parse_config(data)


def parse_config(data: dict[str, Any]) -> RunConfig:
    """A config from plain data. Raises ``ConfigError`` for the first thing that is wrong."""
    try:
        return RunConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from error


def parse_chat(data: dict[str, Any]) -> ChatConfig:
    """The model of one role from plain data. Raises ``ConfigError`` for the first thing that is wrong."""
    try:
        return ChatConfig.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_sentence(error)) from error


def _set(data: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals or not key:
        raise ConfigError(f"override '{override}' must look like section.key=value, for example train.steps=200")
    *parents, last = key.split(".")
    here = data
    for parent in parents:
        if here.get(parent) is None:
            here[parent] = {}
        here = here[parent]
        if not isinstance(here, dict):
            raise ConfigError(f"override '{override}': '{parent}' holds a value, not a section")
    try:
        here[last] = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(f"override '{override}': the value is not valid YAML") from error


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"]]
    name = ".".join(path) or "config"
    if first["type"] == "extra_forbidden":
        legal = _fields_at(path[:-1])
        prefix = ".".join([*path[:-1], ""]) if path[:-1] else ""
        return f"{prefix}{path[-1]} is not a setting; {nearest(path[-1], legal)}"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return f"{name}: {message}" if path else message
    got = first["input"] if not isinstance(first["input"], dict) else "a section"
    return f"{name} is {got!r}: {message[0].lower()}{message[1:]}"


def _fields_at(path: Sequence[str]) -> list[str]:
    """Legal keys of the section at ``path``."""
    model: type[BaseModel] = RunConfig
    for part in path:
        if part.isdigit():
            continue  # a place in a list
        model = _model_in(model.model_fields[part].annotation) or model
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (typing.Union, types.UnionType, list):
        return next((m for a in typing.get_args(annotation) if (m := _model_in(a))), None)
    return None
