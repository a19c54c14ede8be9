"""What a person sees while a run goes on: a bar with phase and ETA, lines for decisions and alerts, and where time goes."""

import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from memory.rundir import RunDir
from training.loop.heartbeat import Heartbeat

LINE_EVERY = 10
"""Steps between progress lines where the output is not a terminal."""


class Progress:
    """Phases and lines of one rank; only the main one prints. Nested phases count for the inner one."""

    def __init__(self, steps: int, run: RunDir | None, main: bool):
        self.steps = steps
        self.heart = Heartbeat(run) if main and run is not None else None
        self.main = main
        self.step = 0
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._open: list[tuple[str, float]] = []
        self._console = Console(highlight=False, soft_wrap=True)
        self._started = time.monotonic()
        self._start_step = 0
        self._bar: Bar | None = None
        self._reason: str | None = None

    def begin(self, step: int) -> None:
        self.step = self._start_step = step
        self._started = time.monotonic()
        if self.main and self._console.is_terminal:
            self._bar = Bar(
                TextColumn("{task.description:<8}"),
                BarColumn(bar_width=12),
                MofNCompleteColumn(),
                TextColumn("{task.fields[note]}"),
                TimeElapsedColumn(),
                TextColumn("eta"),
                TimeRemainingColumn(),
                console=self._console,
                speed_estimate_period=600,
            )
            self._task = self._bar.add_task("start", total=self.steps, completed=step, note="")
            self._bar.start()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time spent in ``name``; an inner phase interrupts the outer one."""
        now = time.monotonic()
        if self._open:
            outer, since = self._open[-1]
            self.seconds[outer] += now - since
        self._open.append((name, now))
        self._show(name)
        try:
            yield
        finally:
            now = time.monotonic()
            _, since = self._open.pop()
            self.seconds[name] += now - since
            if self._open:
                self._open[-1] = (self._open[-1][0], now)
                self._show(self._open[-1][0])

    def move(self, source: str, target: str, seconds: float) -> None:
        """Count ``seconds`` that passed in one phase as another's."""
        self.seconds[source] -= seconds
        self.seconds[target] += seconds

    @contextmanager
    def paused(self, reason: str, name: str = "paused") -> Iterator[None]:
        """The phase ``paused``, or another that waits, with its reason for who reads the heartbeat."""
        self._reason = reason
        with self.phase(name):
            try:
                yield
            finally:
                self._reason = None

    def _show(self, phase: str) -> None:
        if self.main and self._bar is not None:
            self._bar.update(self._task, description=phase)
        self.beat()

    def beat(self) -> None:
        """A sign of life, with the phase."""
        if self.heart is not None and self._open:
            said = {} if self._reason is None else {"reason": self._reason}
            self.heart.beat(phase=self._open[-1][0], step=self.step, steps=self.steps, time=time.time(), **said)

    def finish_step(self, step: int, note: str) -> None:
        self.step = step
        if not self.main:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=step, note=note)
        elif step % LINE_EVERY == 0 or step == self.steps:
            elapsed = time.monotonic() - self._started
            left = elapsed / max(1, step - self._start_step) * (self.steps - step)
            self._console.print(f"step {step}/{self.steps}  {note}  elapsed {elapsed:.0f} s, eta {left:.0f} s", markup=False)

    def say(self, text: str) -> None:
        if self.main:
            self._console.print(text, markup=False)

    def end(self, state: str) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        if self.heart is not None:
            self.heart.end(phase=state, step=self.step, steps=self.steps, time=time.time())
