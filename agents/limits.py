"""What all chat models of a run share: one event loop, the limits on what is sent, and what is known of each endpoint.

A call waits here for its turn, and that waiting is no part of its deadline. An endpoint that fails again and again is taken for
down (circuit breaker): calls to it fail at once, but for one probe after each ``COOLDOWN``, whose outcome the others wait for.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from agents.chat import ChatFailure, Reason, Usage
from memory.errors import RunStop

Result = TypeVar("Result")

BURST = 1.0
"""Seconds' worth of a rate that may be sent at once after a rest."""
BREAK_AFTER = 20
"""Failures of an endpoint in a row, over all calls, after which it is taken for down."""
COOLDOWN = 10.0
"""Seconds between two probes of an endpoint that is down."""
CHARACTERS_PER_TOKEN = 4
"""Rule of thumb for the size of a prompt before the endpoint has counted it; the count settles the difference."""


class LimitSettings(BaseModel):
    """What a run may ask of its endpoints, over all roles and processes together."""

    model_config = ConfigDict(extra="forbid")

    concurrency: int = Field(default=64, ge=1)
    """Requests in flight together."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    tokens_per_minute: float | None = Field(default=None, gt=0)
    """Prompt and reply tokens."""

    def share(self, processes: int) -> "LimitSettings":
        """The part of one of ``processes`` equal ones; at least one request at a time."""
        rates = (rate and rate / processes for rate in (self.requests_per_minute, self.tokens_per_minute))
        requests, tokens = rates
        concurrency = max(1, self.concurrency // processes)
        return LimitSettings(concurrency=concurrency, requests_per_minute=requests, tokens_per_minute=tokens)


class BudgetSettings(BaseModel):
    """What a run may spend on its models, over all roles, processes and resumes; null for no bound."""

    model_config = ConfigDict(extra="forbid")

    usd: float | None = Field(default=None, gt=0)
    """Needs `price` at every role that has a model."""
    tokens: int | None = Field(default=None, ge=1)
    """Prompt and reply tokens."""


class BudgetSpent(RunStop):
    """The budget is used up; no further request is made."""


class EndpointDown(ChatFailure):
    """A call that was not made, since its endpoint is taken for down. ``reason`` is that of the last real failure."""


class Bucket:
    """A token bucket in its virtual-time form (ATM Forum TM 4.1, the generic cell rate algorithm)."""

    def __init__(self, per_minute: float):
        self.rate = per_minute / 60
        self._level = 0.0

    def take(self, amount: float, now: float) -> float:
        """Seconds to wait before ``amount`` may be sent."""
        self._level = max(self._level, now - BURST) + amount / self.rate
        return max(0.0, self._level - amount / self.rate - now)

    def settle(self, difference: float) -> None:
        """Correct an earlier ``take`` by what was really used."""
        self._level += difference / self.rate


class Health:
    """What is known of one endpoint. Used on the event loop only."""

    def __init__(self) -> None:
        self.down = False
        self._failures = 0
        self._until = 0.0
        self._why: tuple[Reason, str] = ("connection", "")
        self._probe: asyncio.Future[None] | None = None

    async def enter(self) -> bool:
        """Whether the call is the probe; waits for one that is under way. Raises ``EndpointDown`` while the endpoint is down."""
        while self.down:
            if self._probe is None and time.monotonic() >= self._until:
                self._probe = asyncio.get_running_loop().create_future()
                return True
            if self._probe is None:
                self.check()
            else:
                await asyncio.shield(self._probe)
        return False

    def check(self) -> None:
        if self.down:
            reason, detail = self._why
            raise EndpointDown(reason, f"not asked, the endpoint has failed {self._failures} times in a row: {detail}")

    def answered(self) -> None:
        self.down, self._failures = False, 0

    def failed(self, reason: Reason, detail: str) -> None:
        self._failures += 1
        self._why = reason, detail
        if self._failures >= BREAK_AFTER:
            self.down, self._until = True, time.monotonic() + COOLDOWN

    def probed(self) -> None:
        """The probe has ended, however; its outcome was told by ``answered`` or ``failed`` if there was one."""
        if self._probe is not None:
            self._probe.set_result(None)
            self._probe = None


class Traffic:
    """The shared part of a run's chat models. ``usages`` holds what each role has cost in this process.

    Everything asynchronous runs on one loop in a thread of its own, since locks and connections belong to one loop.
    """

    def __init__(self, limits: LimitSettings | None = None, budget: BudgetSettings | None = None):
        limits = limits or LimitSettings()
        self.limits = limits
        self.budget = budget or BudgetSettings()
        self.usages: dict[str, Usage] = {}
        self.elsewhere: tuple[float, int] = (0.0, 0)
        """USD and tokens that count against the budget but were spent before or by other processes."""
        self._buckets = [
            Bucket(rate) if rate is not None else None for rate in (limits.requests_per_minute, limits.tokens_per_minute)
        ]
        self._slots = asyncio.Semaphore(limits.concurrency)
        self._health: dict[str, Health] = {}
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="chat", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, Result]) -> "Future[Result]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def health(self, endpoint: str) -> Health:
        return self._health.setdefault(endpoint, Health())

    def spent(self) -> tuple[float, int]:
        """USD and tokens spent by the run, as far as this process knows."""
        usd, tokens = self.elsewhere
        for usage in self.usages.values():
            usd, tokens = usd + usage.usd, tokens + usage.tokens
        return usd, tokens

    def check_budget(self) -> None:
        """Raises ``BudgetSpent`` when nothing is left."""
        usd, tokens = self.spent()
        for name, limit, spent in (("usd", self.budget.usd, usd), ("tokens", self.budget.tokens, tokens)):
            if limit is not None and spent >= limit:
                raise BudgetSpent(
                    f"budget.{name}={limit:g} is used up ({spent:.6g} spent); everything is saved: raise it and go on with --resume, "
                    "or take what there is"
                )

    @asynccontextmanager
    async def turn(self, health: Health, characters: int) -> AsyncIterator["Turn"]:
        """The right to send one request of ``characters``, for as long as the context is open.

        Raises:
            EndpointDown: nothing is sent.
            BudgetSpent: before a request that the budget does not allow.
        """
        start = time.monotonic()
        probe = await health.enter()
        try:
            async with self._slots:
                requests, tokens = self._buckets
                estimate = characters / CHARACTERS_PER_TOKEN
                now = time.monotonic()
                if wait := max(requests.take(1, now) if requests else 0.0, tokens.take(estimate, now) if tokens else 0.0):
                    await asyncio.sleep(wait)
                if not probe:
                    health.check()
                self.check_budget()
                turn = Turn(waited=time.monotonic() - start)
                try:
                    yield turn
                finally:
                    if tokens:
                        tokens.settle(turn.tokens - estimate)
        finally:
            if probe:
                health.probed()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)


class Turn:
    """One request: how long it ``waited`` for its turn, and the ``tokens`` it turned out to use."""

    def __init__(self, waited: float):
        self.waited = waited
        self.tokens = 0
