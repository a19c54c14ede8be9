"""The training loop's rhythm: when the evolver is called, when held-out tasks are evaluated, what is written after a step.

A round comes at the start of a step, after the checkpoint of the step before, so that a run killed in mid-round resumes with the
policy the round was begun on.
"""

import json
import signal
from collections.abc import Callable
from typing import Any

from transformers import TrainerCallback

from memory.errors import RunStop
from training.loop.alerts import Alerts
from training.loop.checkpoint import save_state
from training.loop.policy import Generate
from training.loop.trainer import HarnessTrainer

TIMES = ("step_time", "train_runtime", "train_samples_per_second", "train_steps_per_second", "total_flos")
"""TRL metrics that measure the machine, not the run; kept apart so that two equal runs have equal metrics."""


USAGE = "usage/"
"""Prefix of what models have cost, which depends on the verdict cache and on earlier outages; kept apart for the same reason."""


class LoopCallback(TrainerCallback):
    """Runs on every rank; what writes is on rank 0, what needs the weights is entered by all."""

    def __init__(self, trainer: HarnessTrainer, alerts: Alerts | None, metrics_path):
        self.trainer = trainer
        self.coevolution = trainer.coevolution
        self.alerts = alerts
        self.metrics_path = metrics_path
        self.stop_asked = False
        self._update: Any = None

    def on_train_begin(self, args, state, control, **kwargs):
        self.coevolution.progress.begin(state.global_step)
        if self.coevolution.evaluation_due(state.global_step):
            self._evaluate(state.global_step)
        if state.global_step == 0 and self.coevolution.config.evolver.enabled and self.coevolution.config.evolver.cold_start:
            self._frozen(self.coevolution.cold_start)

    def on_step_begin(self, args, state, control, **kwargs):
        if self.coevolution.round_due(state.global_step):
            before = self.coevolution.harness
            self.trainer.accelerator.wait_for_everyone()
            self._frozen(lambda generate: self.coevolution.evolve(state.global_step, generate, self.trainer.fingerprint()))
            self.coevolution.round_step = state.global_step
            self.trainer.share_harness()
            self.coevolution.revisit_edited(before)
        self._update = self.coevolution.progress.phase("update")
        self._update.__enter__()

    def on_step_end(self, args, state, control, **kwargs):
        self._update.__exit__(None, None, None)
        self.trainer.step_finished()
        if self.coevolution.evaluation_due(state.global_step):
            self._evaluate(state.global_step)
        if self.stop_asked:
            control.should_save = control.should_training_stop = True
        return control

    def on_log(self, args, state, control, logs=None, **kwargs):
        if not state.is_world_process_zero or not logs or "loss" not in logs:
            return
        usage = {k.removeprefix(USAGE): v for k, v in sorted(logs.items()) if k.startswith(USAGE)}
        metrics = {k: v for k, v in sorted(logs.items()) if k not in TIMES and not k.startswith(USAGE)}
        line = {"step": state.global_step, "metrics": metrics, "seconds": self._seconds(logs), "usage": usage}
        with open(self.metrics_path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        reward, zero = metrics.get("reward"), metrics.get("frac_reward_zero_std", 0.0)
        note = "reward unscored" if reward is None else f"reward {reward:.3f}, flat {zero:.0%}"
        grad = metrics.get("grad_norm")
        self.coevolution.progress.finish_step(state.global_step, note + (f", grad {grad:.2f}" if grad is not None else ""))
        self._alert(state.global_step)

    def on_save(self, args, state, control, **kwargs):
        if state.is_world_process_zero:
            save_state(self.coevolution, state.global_step, self.trainer.accelerator.num_processes)

    def on_train_end(self, args, state, control, **kwargs):
        self._evaluate(state.global_step)

    def _seconds(self, logs: dict) -> dict[str, float]:
        return {**{k: logs[k] for k in TIMES if k in logs}, **self.coevolution.progress.seconds}

    def _alert(self, step: int) -> None:
        memory = self.coevolution.memory
        if self.alerts is None or memory is None:
            return
        for alert in self.alerts.look(self.coevolution.visits, self.coevolution.metrics, self.coevolution.readings):
            memory.record(step, alert)
            self.coevolution.progress.say(f"alert: {alert.text}")

    def _evaluate(self, step: int) -> None:
        self._frozen(lambda generate: self.coevolution.evaluate(step, generate))
        self.coevolution.evaluated_step = step

    def _frozen(self, part: Callable[[Generate], None]) -> None:
        """``part`` on rank 0, with the policy as it is; a stop of the run in it is raised when the policy is free again."""
        stop: RunStop | None = None
        with self.trainer.policy() as generate:
            if self.trainer.accelerator.is_main_process:
                try:
                    part(generate)
                except RunStop as error:
                    stop = error
            self.trainer.accelerator.wait_for_everyone()
        with self.trainer.stopping_together():
            if stop is not None:
                raise stop


def stop_at_interrupt(callback: LoopCallback) -> None:
    """First Ctrl-C: finish the step, save, and summarise. Second: stop at once."""

    def stop(signum, frame):
        if callback.stop_asked:
            raise KeyboardInterrupt
        callback.stop_asked = True
        callback.coevolution.progress.say("stopping after this step; press Ctrl-C again to stop at once")

    signal.signal(signal.SIGINT, stop)
