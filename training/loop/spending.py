"""What a round of the evolver spends, held against ``evolver.budget``.

Rollouts, judged responses and comparisons are counted from what the rehearsal did, tokens and USD from what attributor and proposer
cost. When a budget is reached evolving stops with one line, and training goes on.
"""

from collections.abc import Sequence

from agents.config import EvolverBudget, Spend
from agents.limits import Traffic
from memory.journal import RoundRecord
from training.loop.rehearsal import FrozenPolicyRehearsal

ROLES = ("evolver.attributor", "evolver.proposer")


class Spending:
    """One per run."""

    def __init__(self, budget: EvolverBudget, rehearsal: FrozenPolicyRehearsal, traffic: Traffic):
        self.budget = budget
        self.rehearsal = rehearsal
        self.traffic = traffic
        self.paid_before: tuple[int, float] = (0, 0.0)
        """Tokens and USD of the evolver's models in earlier processes of the run."""
        self._at_start = (0, 0.0)
        self._rollouts_before = self._calls_before = 0

    def begin_round(self, rounds: Sequence[RoundRecord]) -> None:
        """``rounds`` are those on record, also of the run before a resume."""
        self._rollouts_before = sum(r.rollouts for r in rounds)
        self._calls_before = sum(r.judged + r.quality_calls for r in rounds)
        self._at_start = self._paid()

    def reached(self) -> str | None:
        """The budget that is used up, in a sentence; None while there is some left."""
        tokens, usd = self._paid()
        done = self.rehearsal
        in_round = Spend(
            rollouts=done.rollouts,
            judge_calls=done.judged + done.quality_calls,
            tokens=tokens - self._at_start[0],
            usd=usd - self._at_start[1],
        )
        in_run = Spend(
            rollouts=self._rollouts_before + done.rollouts,
            judge_calls=self._calls_before + done.judged + done.quality_calls,
            tokens=self.paid_before[0] + tokens,
            usd=self.paid_before[1] + usd,
        )
        for scope, limits, spent in (("round", self.budget.round, in_round), ("run", self.budget.run, in_run)):
            for name in Spend.model_fields:
                limit, value = getattr(limits, name), getattr(spent, name)
                if limit is not None and value >= limit:
                    return f"evolver.budget.{scope}.{name}={limit:g} is used up ({value:g} spent)"
        return None

    def _paid(self) -> tuple[int, float]:
        usages = [usage for role, usage in self.traffic.usages.items() if role in ROLES]
        return sum(u.tokens for u in usages), sum(u.usd for u in usages)
