"""Train a policy and its harness together.

python -m training.run                                     the laboratory: no GPU, no key, no network
python -m training.run --config FILE train.steps=300       a config with overrides
python -m training.run --resume runs/NAME                  go on after a stop or a crash
torchrun --nproc_per_node 8 -m training.run --run-dir DIR  several processes
"""

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from memory.errors import RunDirError, RunStop, UserError
from memory.rundir import RunDir, write_atomic
from training.config import RunConfig, load_config
from training.halves import load_halves

STOPPED = 130
"""Exit code after Ctrl-C, as shells know it."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.run",
        description="Train a policy with GRPO on rubric rewards while its harness (task sampling, rollout guidance, rubric "
        "criteria) co-evolves, edit by measured edit. Without arguments: the embedded laboratory, in minutes on a laptop.",
        epilog="Overrides are dotted settings of the config, for example: train.steps=200 evolver.enabled=false "
        "evolver.proposer.model=my-model evolver.proposer.base_url=http://localhost:8000/v1. All settings with their meaning: "
        "training/config.py. Ready-made configs: configs/.",
    )
    parser.add_argument("--config", metavar="FILE", help="YAML config (default: configs/default.yaml)")
    parser.add_argument("--run-dir", metavar="DIR", help="where the run is written (default: runs/NAME-TIME)")
    parser.add_argument("--resume", metavar="DIR", help="go on with the run in DIR from its newest checkpoint")
    parser.add_argument("--dry-run", action="store_true", help="resolve the config, load tasks, show prompts and costs, and stop")
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="settings that override the config")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    from training.session import is_main

    arguments = parser().parse_args(argv)
    try:
        return run(arguments)
    except UserError as error:
        if is_main():
            print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped at once; go on with --resume from the last checkpoint", file=sys.stderr)
        return STOPPED


def run(arguments: argparse.Namespace) -> int:
    """The whole command; ``UserError`` leaves it as one sentence."""
    from training.session import Session, is_main, prepare_process, world_size

    config, directory = resolve(arguments, world_size())
    config.check_world_size(world_size())
    train, heldout, remarks = load_halves(config)
    if is_main():
        print(*remarks, sep="\n", end="\n" if remarks else "", file=sys.stderr)
    if arguments.dry_run:
        from training.dry_run import describe

        print(describe(config, train, heldout))
        return 0

    lock = directory.claim() if is_main() else None
    try:
        prepare_process(config)
        checkpoint, rewound = start_directory(directory, config, bool(arguments.resume), world_size())
        if is_main():
            write_atomic(directory.tasks, "".join(task.model_dump_json() + "\n" for task in train))
        session = Session(config, directory, train, heldout)
        if is_main():
            session.open_memory(rebuild_index=rewound)
            session.progress.say(f"run directory: {directory.root}")
        return train_and_report(session, checkpoint)
    finally:
        if lock is not None:
            lock.release()


def resolve(arguments: argparse.Namespace, world_size: int) -> tuple[RunConfig, RunDir]:
    """Config and run directory from the command line."""
    if arguments.resume:
        directory = RunDir(arguments.resume)
        if not directory.config.exists():
            raise RunDirError(
                f"--resume: {directory.root} holds no run (no config.yaml); give the directory of a run that was started before"
            )
        if arguments.run_dir and Path(arguments.run_dir) != directory.root:
            raise RunDirError(
                "--run-dir and --resume name different directories; a run goes on where it lies, leave --run-dir out"
            )
        return load_config(arguments.config or directory.config, arguments.overrides), directory
    config = load_config(arguments.config, arguments.overrides)
    if arguments.run_dir is None and world_size > 1 and not arguments.dry_run:
        raise RunDirError("--run-dir must be given when several processes run, so that all of them mean the same directory")
    name = Path(arguments.config).stem if arguments.config else "lab"
    directory = RunDir(arguments.run_dir or Path("runs") / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    if directory.journal.exists():
        raise RunDirError(
            f"run_dir: {directory.root} already holds a run; go on with --resume {directory.root}, or choose another directory"
        )
    return config, directory


def start_directory(directory: RunDir, config: RunConfig, resume: bool, world_size: int) -> tuple[str | None, bool]:
    """Make the directory ready: (checkpoint to resume from or None, whether records were cut back)."""
    from training.loop.checkpoint import check_resumable, newest_checkpoint, rewind_run
    from training.session import is_main

    found = newest_checkpoint(directory) if resume else None
    if resume:
        check_resumable(load_config(directory.config), config, found[1] if found else None, world_size)
        if is_main():
            rewind_run(directory, found[1] if found else None)
    elif is_main():
        for path, settings in ((directory.defaults, RunConfig()), (directory.config, config)):
            write_atomic(path, yaml.safe_dump(settings.model_dump(mode="json"), allow_unicode=True, sort_keys=False))
    return (str(found[0]) if found else None), resume


def train_and_report(session, checkpoint: str | None) -> int:
    """Train to the end or to Ctrl-C, then summarise and save. Returns the exit code."""
    from training.report import RunRecords, summary, write_report
    from training.session import is_main

    trainer, progress = session.trainer, session.progress
    if checkpoint is not None:
        from training.loop.checkpoint import MARKER, read_state

        session.coevolution.restore(read_state(Path(checkpoint) / MARKER))
    import torch

    trainer.share_harness()
    gc.collect()
    gc.freeze()  # half a million objects of the libraries, through which a full collection would go in every round
    gc.set_threshold(10_000)  # a round makes many small records and few cycles
    state = "failed"
    try:
        trainer.train(resume_from_checkpoint=checkpoint)
        state = "stopped" if session.callback.stop_asked else "finished"
        trainer.save_model(str(session.run.policy))
    except RunStop:
        state = "stopped"
        raise
    except torch.OutOfMemoryError as error:
        raise UserError(
            "the accelerator ran out of memory; lower train.micro_batch_size or policy.max_completion_tokens, keep "
            "train.gradient_checkpointing on, or use train.deepspeed=zero3, then go on with --resume"
        ) from error
    finally:
        progress.end(state)
        session.close()
    if is_main():
        session.tokenizer.save_pretrained(session.run.policy)
        records = RunRecords.read(session.run)
        evolver = session.config.evolver
        text = summary(records, progress.seconds, evolver.proposer.model or "heuristic" if evolver.enabled else "off")
        write_report(session.run, records, text)
        print(
            f"\n{text}\n\nreport: {session.run.root / 'report.md'}   policy: {session.run.policy}   harness: {session.run.harness}"
        )
    return STOPPED if state == "stopped" else 0


if __name__ == "__main__":
    sys.exit(main())
