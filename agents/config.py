"""Configuration of the harness evolver. ``training.config`` mounts it under ``evolver``."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from agents.acceptance import AcceptanceName
from agents.chat import ChatConfig


class CriticConfig(BaseModel):
    """The just-in-time critic: how much it looks and when it believes. Its error rates are measured by ``benchmarks/critic.py``."""

    model_config = ConfigDict(extra="forbid")

    rollouts: tuple[int, ...] = (16, 32, 48)
    """Fresh rollouts per group and candidate at each look; a later look adds to the earlier ones."""
    acceptance: AcceptanceName = "round"
    """`round`: of the edits accepted in a round, at most `alpha` are expected to be no improvement; `each`: every edit by itself;
    for comparison only, `mean`: any measured gain, noise or not, and `opinion`: unmeasured, as proposed."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """False-acceptance rate of a round and of each decision (one-sided), split over passes and looks; see agents/acceptance.py."""
    min_effect: float = Field(default=0.05, ge=0)
    """Smallest gain worth an edit, in share of pairs. Below it a certain result is a rejection."""
    flat_share: float = Field(default=0.25, gt=0, lt=1)
    """Informative share under which a task counts as flat: its level may be lowered; above it, raised."""
    guard_limit: float = Field(default=0.1, ge=0)
    """Harm on a guard (agree share, rank agreement with Q, quality) above which a candidate is not accepted."""
    guard_tasks: int = Field(default=1, ge=0)
    """Tasks near the edited one on which an edit about to be accepted must do no harm."""
    guard_rollouts: int = Field(default=12, ge=4)
    """Rollouts per side on a guard task."""
    quality_pairs: int = Field(default=120, ge=1)
    """Quality comparisons per candidate and look, at most."""

    @model_validator(mode="after")
    def _looks_grow(self) -> "CriticConfig":
        if not self.rollouts or list(self.rollouts) != sorted(set(self.rollouts)) or any(n < 4 or n % 2 for n in self.rollouts):
            raise ValueError(f"rollouts must be growing even numbers of at least 4, got {list(self.rollouts)}")
        return self


class Spend(BaseModel):
    """Amounts; null for no bound."""

    model_config = ConfigDict(extra="forbid")

    rollouts: int | None = Field(default=None, ge=0)
    """Rehearsal and probe rollouts."""
    judge_calls: int | None = Field(default=None, ge=0)
    """Rehearsed responses judged, and quality comparisons."""
    tokens: int | None = Field(default=None, ge=0)
    """Prompt and reply tokens of attributor and proposer."""
    usd: float | None = Field(default=None, ge=0)
    """What attributor and proposer cost; needs their `price`."""


class EvolverBudget(BaseModel):
    """What evolving may spend. When it is used up evolving stops, for the round or for good, and training goes on."""

    model_config = ConfigDict(extra="forbid")

    round: Spend = Field(default_factory=Spend)
    run: Spend = Field(default_factory=Spend)


class EvolverConfig(BaseModel):
    """When the harness evolver is called, what it may spend, and which model plays each role."""

    model_config = ConfigDict(extra="forbid")

    enabled: bool = True
    """false: plain GRPO through the same code."""
    every: int = Field(default=10, ge=1)
    """Training steps between two rounds (K)."""
    max_tasks: int = Field(default=12, ge=1)
    """Flagged tasks per round, at most."""
    proposals: int = Field(default=2, ge=1, le=8)
    """Candidates per task and pass of a round, at most; they are different in kind and measured together."""
    revisions: int = Field(default=2, ge=0)
    """How often a task whose candidates were not accepted goes back to the proposer within a round (R)."""
    probe_rollouts: int = Field(default=6, ge=0)
    """Rollouts with and without the full hint, each, where a visit does not tell the cause of a failure; 0: no probes."""
    evidence_tokens: int = Field(default=6000, ge=500)
    """What a model is told of one task, at most, in tokens of about four characters."""
    cold_start: int = Field(default=0, ge=0)
    """Training tasks of the calibration split: each is rolled out once under the static harness before the first step, to fill the
    memory; the first round then comes before the first step. 0: none."""
    budget: EvolverBudget = Field(default_factory=EvolverBudget)
    """What evolving may spend, per round and over the run."""
    approval: Literal["none", "human"] = "none"
    """`human`: an edit that the critic has accepted waits for a person before it is applied. What the critic has not accepted is not
    asked about: nobody can apply it."""
    approval_timeout: float = Field(default=3600.0, gt=0, allow_inf_nan=False)
    """Seconds that a round waits for answers; a resume begins to wait anew."""
    approval_default: Literal["accept", "reject"] = "reject"
    """What happens to an edit that nobody has answered in time."""
    scopes: tuple[Literal["last", "window", "cross_task"], ...] = ("last", "window", "cross_task")
    """What is recalled from memory."""
    window: int = Field(default=4, ge=1)
    """Visits of the same task under the scope ``window`` (W)."""
    neighbours: int = Field(default=4, ge=0)
    """Decisions on other tasks under the scope ``cross_task``."""
    attributor: ChatConfig = Field(default_factory=ChatConfig)
    """Who names the interface that can repair a failure."""
    proposer: ChatConfig = Field(default_factory=ChatConfig)
    """Who writes the edit."""
    critic: CriticConfig = Field(default_factory=CriticConfig)
    """How edits are measured and decided."""
