"""The evolver's graph over a run, for LangGraph Studio: ``HARNESSRL_RUN=runs/mine langgraph dev`` (needs ``langgraph-cli[inmem]``).

It works on a copy of the run directory and on the run's final policy, or the model the run began with where there is none yet, so a
round started in Studio really recalls, attributes, proposes and measures, and the run itself is never touched. The input is that of
``agents.case.start``: a context and cases by task id.
"""

import os
import shutil
import tempfile
from pathlib import Path

from memory.errors import RunDirError
from memory.rundir import RunDir

VARIABLE = "HARNESSRL_RUN"
LEFT_OUT = shutil.ignore_patterns("checkpoints", "policy", "index*", "*.sqlite*", "discarded")


def graph():
    """The compiled graph.

    Raises:
        RunDirError: the variable is not set, or names no run.
    """
    from agents.critic import Critic
    from agents.evolver import HarnessEvolver
    from agents.roles import open_attributor, open_proposer
    from memory.embedding import HashingEmbedding
    from memory.memory import Memory
    from memory.task import Task
    from training.config import load_config
    from training.judges import load_gold, open_judge, open_quality
    from training.loop.policy import Speaker, generate_with, model_source
    from training.loop.progress import Progress
    from training.loop.rehearsal import FrozenPolicyRehearsal
    from training.reward.rules import validate

    original = RunDir(os.environ.get(VARIABLE, ""))
    if not os.environ.get(VARIABLE) or not original.journal.exists():
        raise RunDirError(f"{VARIABLE}: '{os.environ.get(VARIABLE, '')}' holds no run; set it to the directory of a run")
    run = RunDir(Path(tempfile.mkdtemp(prefix="harnessrl-studio-")) / "run")
    shutil.copytree(original.root, run.root, ignore=LEFT_OUT)
    config = load_config(run.config)
    tasks = {t.id: t for t in map(Task.model_validate_json, run.tasks.read_text(encoding="utf-8").splitlines())}

    from transformers import AutoModelForCausalLM, AutoTokenizer

    source = str(original.policy) if original.policy.exists() else model_source(config.policy)
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=config.policy.dtype).eval()
    memory = Memory(run, tasks, HashingEmbedding(), rebuild_index=True)
    judge = open_judge(config, list(tasks.values()))
    quality = open_quality(config, load_gold(config), list(tasks.values()))
    rehearsal = FrozenPolicyRehearsal(
        config, tasks, Speaker(tokenizer, config.policy), judge, quality, memory.rollouts, Progress(1, None, False)
    )
    rehearsal.open(generate_with(model, tokenizer, config.policy), config.guidance.max_fields)
    settings = config.evolver
    roles = open_attributor(settings.attributor), open_proposer(settings.proposer)
    return HarnessEvolver(settings, memory, *roles, Critic(settings.critic, rehearsal), validate).graph
