"""HarnessTrainer: TRL's GRPOTrainer with its tasks, rollouts and rewards taken from the co-evolution.

The only file that knows TRL's private methods (1.16.x). Tasks are drawn synchronously, since the data loader prefetches and would
be a step behind the harness; the data set is a placeholder. Guided rollouts return the prompt they are trained under, so by
default the update never sees guidance.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import broadcast_object_list, gather_object
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import unwrap_model_for_generation
from trl.trainer.utils import pad

from memory.errors import RunStop
from memory.visit import Rollout
from training.config import RunConfig
from training.loop.checkpoint import MARKER
from training.loop.coevolution import CoEvolution
from training.loop.groups import Seat, trains
from training.loop.policy import Generate, derived_seed, generate_with


def rubric(prompts, completions, **columns) -> list[float | None]:
    """Names the reward in TRL's metrics; the scores themselves come from ``HarnessTrainer._calculate_rewards``."""
    raise RuntimeError("rubric scores are given by HarnessTrainer, not by a reward function")


class HarnessTrainer(GRPOTrainer):
    """Args: ``coevolution`` draws, grades and records; ``config`` is the run's; the rest goes to ``GRPOTrainer``."""

    _last_loaded_step: int  # of TRL: the step whose weights the vLLM engine holds

    def __init__(self, coevolution: CoEvolution, config: RunConfig, args: GRPOConfig, **kwargs: Any):
        self.coevolution = coevolution
        self.config = config
        self.seats: list[Seat] = []
        self.rollouts: list[Rollout] = []
        self._seen_ids: list[list[int]] = []
        self._tokens_before: float | None = None
        super().__init__(reward_funcs=[rubric], args=args, rollout_func=self.roll_out_seats, **kwargs)

    @property
    def local(self) -> slice:
        """This rank's part of the step's seats."""
        share = len(self.seats) // self.accelerator.num_processes
        return slice(self.accelerator.process_index * share, (self.accelerator.process_index + 1) * share)

    @contextmanager
    def policy(self) -> Iterator[Generate]:
        """The policy as it is, ready to generate. Under ZeRO-3 every rank must enter: the weights are gathered once."""
        if self.use_vllm:
            if self.state.global_step != self._last_loaded_step:
                self.vllm_generation.sync_weights()
                self._last_loaded_step = self.state.global_step
            yield lambda prompts, seed: self.vllm_generation.generate(prompts, None, 1)[1]
            return
        with unwrap_model_for_generation(self.model_wrapped, self.accelerator) as model:
            yield generate_with(model, self._tokenizer, self.config.policy)

    def fingerprint(self) -> str:
        """A digest of the trainable weights: equal only for the same policy. Call it inside ``policy()``."""
        digest = hashlib.sha256()
        for parameter in self.accelerator.unwrap_model(self.model_wrapped).parameters():
            if parameter.requires_grad:
                digest.update(parameter.detach().double().sum().cpu().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._tokens_before = self.state.num_input_tokens_seen
        self.seats = self.coevolution.seats(self.state.global_step)
        rows: list[dict[str, Any]] = [{"prompt": [m.model_dump() for m in seat.plain_prompt]} for seat in self.seats[self.local]]
        output = super()._generate_and_score_completions(rows)
        if self.config.guidance.correction == "importance":
            output["old_per_token_logps"] = self._sampling_logps(output)
        return self._only_training_rows(output)

    def roll_out_seats(self, prompts: list, trainer: Any) -> dict[str, Any]:
        """TRL's ``rollout_func``: this rank's seats, each rolled out under the prompt it sees."""
        coevolution, seats = self.coevolution, self.seats[self.local]
        with coevolution.progress.phase("rollout"):
            self._seen_ids = [coevolution.speaker.prompt_ids(seat.seen_prompt) for seat in seats]
            seed = derived_seed(self.config.seed, "step", self.state.global_step, self.accelerator.process_index)
            with self.policy() as generate:
                completions = generate(self._seen_ids, seed)
        trained = self._seen_ids
        if self.config.guidance.train_on == "plain":
            trained = [coevolution.speaker.prompt_ids(seat.plain_prompt) for seat in seats]
        return {"prompt_ids": trained, "completion_ids": completions, "logprobs": None}

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list) -> torch.Tensor:
        """Rubric scores of all ranks' rollouts, shape (rollouts, 1), NaN where unscored; the step is recorded on rank 0."""
        step, local = self.state.global_step, self.local
        mine: list[Rollout] = []
        with self.stopping_together():
            mine = self.coevolution.grade(step, self.seats[local], completion_ids_list, local.start)
        self.rollouts = gather_object(mine)
        with self.stopping_together():
            self.coevolution.check_scored(self.rollouts)
            if self.accelerator.is_main_process:
                self.coevolution.record(step, self.seats, self.rollouts)
        scores = [float("nan") if r.score is None else r.score for r in self.rollouts]
        return torch.tensor(scores, dtype=torch.float32, device=self.accelerator.device).unsqueeze(1)

    def _only_training_rows(self, output: dict[str, Any]) -> dict[str, Any]:
        """Mask rows that must not train, their KL term included, and let the loss count only tokens that do (trl#6365)."""
        flags = trains([r.score for r in self.rollouts], self.config.train.group_size)[self.local]
        mask = output["completion_mask"]
        output["completion_mask"] = mask * torch.tensor(flags, device=mask.device, dtype=mask.dtype).unsqueeze(1)
        output["num_items_in_batch"] = self.accelerator.gather(output["completion_mask"].sum()).sum()
        return output

    def _sampling_logps(self, output: dict[str, Any]) -> torch.Tensor:
        """Log-probabilities of the completions under the prompt they were sampled with, shape (rows, completion tokens)."""
        device = self.accelerator.device
        seen = [torch.tensor(ids, device=device) for ids in self._seen_ids]
        prompt_ids = pad(seen, padding_value=self._tokenizer.pad_token_id, padding_side="left")
        prompt_mask = pad([torch.ones_like(ids) for ids in seen], padding_value=0, padding_side="left")
        ids = torch.cat([prompt_ids, output["completion_ids"]], dim=1)
        mask = torch.cat([prompt_mask, output["completion_mask"]], dim=1)
        with torch.no_grad():
            logps, _, _ = self._get_per_token_logps_and_entropies(
                self.model, ids, mask, output["completion_ids"].size(1), batch_size=self.args.per_device_train_batch_size
            )
        return logps

    @contextmanager
    def stopping_together(self) -> Iterator[None]:
        """Every rank enters. When the run must stop on one of them (``RunStop``), all save a checkpoint and stop with its words."""
        stop = None
        try:
            yield
        except RunStop as error:
            stop = error
        self.coevolution.ledger.update(gather_object([self.coevolution.ledger.mine()]), self.accelerator.process_index)
        stops = [error for error in gather_object([stop]) if error is not None]
        if stops:
            self._save_before_stop()
            raise stops[0]

    def step_finished(self) -> None:
        """From here on nothing is to be taken back before a stop."""
        self.coevolution.keep_draw()
        self._tokens_before = None

    def _save_before_stop(self) -> None:
        """A checkpoint as of the end of the last step, wherever in the next one the run is: weights and random streams have not
        moved since; what was drawn and counted is taken back."""
        step = self.state.global_step
        if step == 0 or (Path(self.args.output_dir) / f"checkpoint-{step}" / MARKER).exists():
            return
        self.coevolution.undraw()
        if self._tokens_before is not None:
            self.state.num_input_tokens_seen = self._tokens_before
        self._save_checkpoint(self.model, trial=None)
        self.callback_handler.on_save(self.args, self.state, self.control)

    def share_harness(self) -> None:
        """Give rank 0's harness to every rank."""
        carrier = [self.coevolution.harness]
        broadcast_object_list(carrier, from_process=0)
        self.coevolution.harness = carrier[0]

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        ours = {**self.coevolution.metrics, **self.coevolution.ledger.metrics()} if "loss" in logs else {}
        super().log({**logs, **ours}, start_time)

    def create_model_card(self, *args: Any, **kwargs: Any) -> None:
        """None: a run describes itself in its own report."""
