"""Checkpoints: TRL's trainer state plus the state of the co-evolution, so that resuming equals never having stopped.

``harnessrl.json`` is written last into a checkpoint and marks it complete. It holds the sampler's state and how long journal and
metrics were; on resume their tails, written after the checkpoint by the run that died, are cut off and kept aside. The harness is
not in it: it is read from the journal.
"""

import json
from pathlib import Path
from typing import Any

from memory.errors import RunDirError
from memory.journal import rewind
from memory.rundir import RunDir, write_atomic
from training.config import RunConfig
from training.loop.coevolution import CoEvolution

MARKER = "harnessrl.json"
SCHEMA = 2
FREE_TO_CHANGE = {
    "checkpoint", "evaluation", "train.report_to", "limits", "budget", "reward.retry_every", "reward.max_pause",
    "evolver.approval_timeout",
}  # fmt: skip
"""Settings that may differ on resume: they change what is written, not what is learned."""
ENDPOINT_FIELDS = {"base_url", "api_key_env", "timeout", "deadline", "retries", "price"}
"""Where and how patiently a model is asked may change; which model and how it answers may not."""


def save_state(coevolution: CoEvolution, step: int, world_size: int) -> None:
    """Complete the checkpoint of ``step``. Rank 0."""
    memory = coevolution.memory
    assert memory is not None
    run = memory.run
    with coevolution.progress.phase("remember"):
        journal_bytes = memory.sync()
    state = {
        "schema": SCHEMA,
        "step": step,
        "world_size": world_size,
        "deepspeed": coevolution.config.train.deepspeed,
        **coevolution.state(),
        "journal_bytes": journal_bytes,
        "metrics_bytes": run.metrics.stat().st_size if run.metrics.exists() else 0,
    }
    write_atomic(run.checkpoints / f"checkpoint-{step}" / MARKER, json.dumps(state))


def newest_checkpoint(run: RunDir) -> tuple[Path, dict[str, Any]] | None:
    """The newest complete checkpoint and its state; None when there is none."""
    complete = [(read_state(p), p.parent) for p in run.checkpoints.glob(f"checkpoint-*/{MARKER}")]
    if not complete:
        return None
    state, folder = max(complete, key=lambda found: found[0]["step"])
    return folder, state


def read_state(path: Path) -> dict[str, Any]:
    state = json.loads(path.read_text())
    if state.get("schema") != SCHEMA:
        raise RunDirError(
            f"{path}: checkpoint schema {state.get('schema')}, this version reads {SCHEMA}; resume with the version that wrote it"
        )
    return state


def rewind_run(run: RunDir, state: dict[str, Any] | None) -> None:
    """Cut journal and metrics back to the checkpoint; None means the beginning."""
    sizes = {run.journal: "journal_bytes", run.metrics: "metrics_bytes"}
    for path, key in sizes.items():
        if path.exists():
            rewind(path, state[key] if state else 0, run.discarded)


def check_resumable(old: RunConfig, new: RunConfig, state: dict[str, Any] | None, world_size: int) -> None:
    """Refuse to resume under a configuration that would learn something else.

    Raises:
        RunDirError: names the fields that differ.
    """
    changed = [
        name
        for name in differing(old.model_dump(mode="json"), new.model_dump(mode="json"))
        if not any(name == free or name.startswith(free + ".") for free in FREE_TO_CHANGE)
        and not ENDPOINT_FIELDS & set(name.split("."))
    ]
    if changed:
        raise RunDirError(
            f"--resume: these settings differ from the run's own and would change what it learns: {', '.join(changed)}; "
            "take them back, or start a new run"
        )
    if state is not None and state["world_size"] != world_size:
        raise RunDirError(
            f"--resume: the checkpoint was made by {state['world_size']} processes and optimiser shards do not move between world sizes; "
            f"start {state['world_size']} processes, got {world_size}"
        )


def differing(old: Any, new: Any, prefix: str = "") -> list[str]:
    """Dotted names of the settings in which two plain configs differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = []
        for key in sorted(old.keys() | new.keys()):
            names += differing(old.get(key), new.get(key), f"{prefix}{key}.")
        return names
    return [] if old == new else [prefix.rstrip(".")]
