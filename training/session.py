"""Wiring: from a config to a trainer that is ready to go. Everything heavy is imported here, not at the top of commands."""

import json
import os
import socket
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agents.limits import Traffic
from memory.errors import ConfigError
from memory.journal import RunRecord
from memory.rundir import RunDir
from memory.task import Task
from training.config import CONFIGS, RunConfig
from training.judges import load_gold, open_judge, open_quality, open_second
from training.loop.policy import model_source
from training.reward.cache import VerdictCache

MANY = 10_000
"""Records from which building the index is told of while it goes on."""
VERSIONED = ("harnessrl", "torch", "transformers", "trl", "deepspeed", "langgraph", "chromadb")


def world_size() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank() -> int:
    return int(os.environ.get("RANK", "0"))


def is_main() -> bool:
    return rank() == 0


def prepare_process(config: RunConfig) -> None:
    """Environment of a training process. A single process is its own one-process group, as DeepSpeed wants one."""
    if config.policy.model == "lab":
        # Its matrices are too small to share: a second thread gains nothing and costs seconds where the machine is busy.
        os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if "RANK" not in os.environ:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        alone = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        os.environ.update(alone)
    warnings.filterwarnings("ignore", category=FutureWarning)
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()


def load_tokenizer(config: RunConfig):
    """The policy's tokenizer. Raises ``ConfigError`` when the model cannot be found or has no chat template."""
    from transformers import AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()  # it warns of every prompt longer than the context, which is looked at here on purpose
    source = model_source(config.policy)
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=config.policy.revision)
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"policy.model: cannot load '{source}' ({str(error).splitlines()[0]}); give 'lab', a Hugging Face id, or a model folder"
        ) from error
    if tokenizer.chat_template is None:
        raise ConfigError(f"policy.model: '{source}' has no chat template; use an instruction-tuned model")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def deepspeed_config(config: RunConfig) -> dict[str, Any] | None:
    """The DeepSpeed config as a dictionary, or None."""
    setting = config.train.deepspeed
    if setting is None or isinstance(setting, dict):
        return setting
    path = CONFIGS / "deepspeed" / f"{setting}.json" if setting in ("zero2", "zero3") else Path(setting)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"train.deepspeed: cannot read {path} as JSON: {error}; use zero2, zero3, a JSON file, or null"
        ) from error


def grpo_config(config: RunConfig, run: RunDir):
    """TRL's arguments for this run. Raises ``ConfigError`` for an argument in ``train.trl`` that TRL does not take."""
    import torch
    from trl import GRPOConfig

    train, policy = config.train, config.policy
    share = train.tasks_per_step * train.group_size // world_size()
    micro = train.micro_batch_size or share
    arguments: dict[str, Any] = {
        "output_dir": str(run.checkpoints),
        "seed": config.seed,
        "max_steps": train.steps,
        "per_device_train_batch_size": micro,
        "gradient_accumulation_steps": share // micro,
        "num_generations": train.group_size,
        "max_completion_length": policy.max_completion_tokens,
        "temperature": policy.temperature,
        "top_p": policy.top_p,
        "learning_rate": train.learning_rate,
        "lr_scheduler_type": train.lr_scheduler,
        "warmup_steps": train.warmup_steps,
        "beta": train.beta,
        "loss_type": train.loss_type,
        "scale_rewards": train.scale_rewards,
        "max_grad_norm": train.max_grad_norm,
        "bf16": train.bf16,
        "gradient_checkpointing": train.gradient_checkpointing,
        "use_cpu": not torch.cuda.is_available(),
        "deepspeed": deepspeed_config(config),
        "report_to": train.report_to or "none",
        "logging_steps": 1,
        "save_steps": config.checkpoint.every,
        "save_total_limit": config.checkpoint.keep,
        "disable_tqdm": True,
        "shuffle_dataset": False,
        "dataloader_pin_memory": torch.cuda.is_available(),
        # Other ranks wait at a collective while rank 0 runs the evolver, edits wait for a person or a rank pauses (open-r1#620: the
        # watchdog kills them otherwise).
        "ddp_timeout": int(3600 * (6 + config.reward.max_pause) + held_seconds(config)),
        "model_init_kwargs": {"dtype": policy.dtype, "revision": policy.revision},
        "chat_template_kwargs": policy.chat_template_kwargs or None,
        "use_vllm": policy.vllm,
        "vllm_mode": "colocate",
        # Sampling log-probabilities of guided rollouts belong to another prompt than the one trained under.
        "vllm_importance_sampling_correction": False,
    }
    missing = [name for name in train.report_to if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"train.report_to: {', '.join(missing)} is not installed; run pip install {' '.join(missing)}, or leave it out"
        )
    taken = sorted(set(train.trl) & set(arguments))
    if taken:
        raise ConfigError(f"train.trl: {', '.join(taken)} have settings of their own in this config; set them there")
    try:
        return GRPOConfig(**arguments, **train.trl)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"train.trl or train: TRL refuses the arguments: {error}") from error


def held_seconds(config: RunConfig) -> float:
    """How long a round may wait for a person."""
    return config.evolver.approval_timeout if config.evolver.approval == "human" else 0.0


def peft_config(config: RunConfig):
    if config.policy.lora is None:
        return None
    from peft import LoraConfig

    lora = config.policy.lora
    return LoraConfig(
        r=lora.r, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=lora.targets, task_type="CAUSAL_LM"
    )


def run_record(config: RunConfig) -> RunRecord:
    from agents.prompts import hashes

    return RunRecord(seed=config.seed, versions={name: version(name) for name in VERSIONED}, prompts=hashes())


def say_share(progress, what: str, done: int, total: int) -> None:
    """A line of progress on long work outside training."""
    if total >= MANY:
        progress.say(f"{what}: {done:,} of {total:,} ({done / total:.0%})")


class Session:
    """All parts of a run on one rank. ``open_memory`` and ``open_round`` belong to rank 0.

    Attributes:
        coevolution: carries tasks, rewards and the harness.
        trainer: TRL's trainer around it.
    """

    def __init__(self, config: RunConfig, run: RunDir, train: Sequence[Task], heldout: Sequence[Task]):
        from agents.roles import open_attributor, open_proposer
        from training.loop.coevolution import CoEvolution
        from training.loop.ledger import Ledger
        from training.loop.patience import Patience, PatientJudge, PatientOrder
        from training.loop.policy import Speaker
        from training.loop.progress import Progress
        from training.reward.quality import PairwiseOrder, ReferenceOrder

        self.config = config
        self.run = run
        self.tokenizer = load_tokenizer(config)
        gold = load_gold(config)
        # Roles are opened before the policy is loaded: a missing key is found in seconds.
        self.verdicts = VerdictCache(run.verdicts(rank()))
        self.traffic = Traffic(config.limits.share(world_size()), config.budget)
        self.attributor = open_attributor(config.evolver.attributor, self.traffic, config.evolver.evidence_tokens)
        self.proposer = open_proposer(config.evolver.proposer, self.traffic, config.evolver.evidence_tokens)
        self.progress = Progress(config.train.steps, run if is_main() else None, is_main())
        self.patience = Patience(config.reward, self.progress)
        judge = PatientJudge(open_judge(config, [*train, *heldout], self.traffic, self.verdicts), self.patience)
        quality = open_quality(config, gold, train, self.traffic, self.verdicts)
        second = open_second(config, self.traffic, self.verdicts)
        if isinstance(quality, PairwiseOrder | ReferenceOrder):
            quality = PatientOrder(quality, self.patience)
        self.coevolution = CoEvolution(
            config,
            train,
            heldout,
            Speaker(self.tokenizer, config.policy),
            judge,
            quality,
            self.progress,
            Ledger(run.usage, self.traffic, is_main()),
            gold,
            second,
        )
        self.trainer = self._trainer()

    def _trainer(self):
        import torch
        from datasets import Dataset
        from transformers import PrinterCallback

        from training.loop.alerts import Alerts
        from training.loop.callback import LoopCallback, stop_at_interrupt
        from training.loop.trainer import HarnessTrainer

        if not torch.cuda.is_available() and self.config.train.deepspeed is not None:
            import deepspeed.ops

            # DeepSpeed would compile a shared-memory collective at start-up (half a minute); gloo serves as well.
            deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
        # One epoch is exactly the run: a finished run that is resumed has no step left to train.
        rows = self.config.train.tasks_per_step * self.config.train.steps
        trainer = HarnessTrainer(
            self.coevolution,
            self.config,
            grpo_config(self.config, self.run),
            model=model_source(self.config.policy),
            train_dataset=Dataset.from_dict({"prompt": [[{"role": "user", "content": "placeholder"}]] * rows}),
            processing_class=self.tokenizer,
            peft_config=peft_config(self.config),
        )
        trainer.remove_callback(PrinterCallback)
        alerts = Alerts(self.run.root, self.config.policy.max_completion_tokens) if is_main() else None
        callback = LoopCallback(trainer, alerts, self.run.metrics)
        trainer.add_callback(callback)
        stop_at_interrupt(callback)
        self.patience.stop = lambda: callback.stop_asked
        self.callback = callback
        return trainer

    def open_memory(self, rebuild_index: bool) -> None:
        """Memory, evolver tool and rehearsal. Rank 0."""
        from memory.embedding import HashingEmbedding
        from memory.memory import Memory

        coevolution = self.coevolution
        tasks = dict(coevolution.sampler.tasks)
        coevolution.memory = Memory(
            self.run,
            tasks,
            HashingEmbedding(),
            rebuild_index,
            self.config.memory.chroma,
            self.progress.say,
            lambda done, total: say_share(self.progress, "memory index", done, total),
        )
        if coevolution.memory.journal.seq == 0:
            coevolution.memory.record(0, run_record(self.config))
        coevolution.harness = coevolution.memory.harness
        if self.config.evolver.enabled:
            coevolution.round = self._round(coevolution.memory, tasks)

    def _round(self, memory, tasks: dict[str, Task]):
        from agents.checkpoints import open_checkpoints
        from agents.critic import Critic
        from agents.evolver import HarnessEvolver
        from agents.tool import evolver_tool
        from training.loop.approval import Hold
        from training.loop.rehearsal import FrozenPolicyRehearsal
        from training.loop.round import EvolverRound
        from training.loop.spending import ROLES, Spending
        from training.reward.rules import validate

        co, settings = self.coevolution, self.config.evolver
        rehearsal = FrozenPolicyRehearsal(self.config, tasks, co.speaker, co.judge, co.quality, memory.rollouts, self.progress)
        spending = Spending(settings.budget, rehearsal, self.traffic)
        spending.paid_before = co.ledger.paid_before(ROLES)
        evolver = HarnessEvolver(
            settings,
            memory,
            self.attributor,
            self.proposer,
            Critic(settings.critic, rehearsal, self.config.guidance.group_share),
            validate,
            open_checkpoints(self.run.rounds),
            spending.reached,
        )
        asking = settings.approval == "human"
        hold = Hold(settings, self.run, self.progress, lambda: self.patience.stop()) if asking else None
        return EvolverRound(self.config, memory, evolver, evolver_tool(evolver), rehearsal, spending, self.progress, hold)

    def close(self) -> None:
        """End model calls in flight and leave the memory clean."""
        co = self.coevolution
        for role in (co.judge, co.second, co.quality, self.attributor, self.proposer):
            if (chat := getattr(role, "chat", None)) is not None:
                chat.close()
        co.ledger.close()
        self.traffic.close()
        self.verdicts.close()
        if co.memory is not None:
            co.memory.close()
