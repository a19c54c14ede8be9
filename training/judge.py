"""Choose and check a judge before it becomes a reward.

python -m training.judge check judge.model=NAME              known answers: can this judge be trusted at all? exit code 0 yes, 1 no
python -m training.judge audit --hacks FILE judge.model=NAME   attacks and honest controls: false credit and wrong refusals
python -m training.judge agree --set kqa --data DIR judge.model=NAME   accuracy and kappa beside people
"""

import argparse
import sqlite3
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from agents.limits import BudgetSpent, Traffic
from memory.errors import ConfigError, UserError
from training.config import RunConfig, load_config
from training.reward.cache import VerdictCache
from training.reward.judge import Judge
from training.reward.quality import PairwiseOrder
from training.session import open_judge, open_quality

NOT_TRUSTED = 1
"""Exit code of ``check`` for a judge that cannot be trusted."""
STOPPED = 130
"""Exit code after Ctrl-C, as shells know it."""


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m training.judge", description="Check a judge before it becomes a reward.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    check = commands.add_parser("check", help="known answers: can this judge be trusted at all? exit code 0 yes, 1 no")
    check.set_defaults(command=run_check)
    audit = commands.add_parser("audit", help="attacks and honest controls: false credit and wrong refusals, by category")
    audit.add_argument("--hacks", metavar="FILE", type=Path, required=True, help="JSONL with responses and their right verdicts")
    audit.set_defaults(command=run_audit)
    agree = commands.add_parser("agree", help="accuracy, Cohen's kappa and errors by kind of criterion, beside people")
    agree.add_argument("--set", metavar="SET", required=True, help="kqa, ttcw, llmbar, or a JSONL file")
    agree.add_argument("--data", metavar="DIR", type=Path, help="the folder with the files of a published set")
    agree.add_argument(
        "--limit", metavar="N", type=_positive, help="judge N criteria (llmbar: pairs), drawn at random by the seed"
    )
    agree.set_defaults(command=run_agree)
    for command in (audit, agree):
        command.add_argument(
            "--cache", metavar="FILE", type=Path, help="keep verdicts there: the same command goes on after a stop"
        )
    for command in (check, audit, agree):
        command.add_argument("--config", metavar="FILE", help="YAML config (default: configs/default.yaml)")
        command.add_argument("overrides", nargs="*", metavar="key=value", help="settings that override the config")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got '{text}'")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    cache = getattr(arguments, "cache", None)
    kept = (
        f"what was judged is kept, repeat the command to go on (--cache {cache})"
        if cache
        else "use --cache FILE to be able to go on"
    )
    try:
        return arguments.command(arguments, load_config(arguments.config, arguments.overrides))
    except BudgetSpent:
        print(f"error: the config's budget is used up; raise it: {kept}", file=sys.stderr)
        return 2
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"stopped; {kept}", file=sys.stderr)
        return STOPPED


def run_check(arguments: argparse.Namespace, config: RunConfig) -> int:
    from training.reward.trials.known_answers import questions
    from training.reward.trials.preflight import preflight

    with rubric_judge(config, None) as (judge, traffic), progress(len(list(questions()))) as tick:
        found = preflight(judge, _name(config), config.reward.max_unscored, tick)
    print(f"{found.text()}\n\n{_cost(traffic)}")
    return 0 if found.trusted else NOT_TRUSTED


def run_audit(arguments: argparse.Namespace, config: RunConfig) -> int:
    from training.reward.trials.audit import audit, load_hacks

    hacks = load_hacks(arguments.hacks)
    with rubric_judge(config, arguments.cache) as (judge, traffic), progress(len(hacks)) as tick:
        found = audit(judge, hacks, _name(config), tick)
    print(f"{found.text()}\n\n{_cost(traffic)}")
    return 0


def run_agree(arguments: argparse.Namespace, config: RunConfig) -> int:
    if arguments.set == "llmbar":
        return _agree_on_orders(arguments, config)
    from training.reward.trials.agreement import agreement, responses, sample
    from training.reward.trials.annotated import load_statements

    statements = sample(load_statements(arguments.set, arguments.data), arguments.limit, config.seed)
    with rubric_judge(config, arguments.cache) as (judge, traffic), progress(responses(statements)) as tick:
        found = agreement(judge, statements, _name(config), Path(arguments.set).name, tick)
    print(f"{found.text()}\n\n{_cost(traffic)}")
    return 0


def _agree_on_orders(arguments: argparse.Namespace, config: RunConfig) -> int:
    from training.reward.trials.agreement import order_agreement, sample
    from training.reward.trials.annotated import load_pairs

    with quality_judge(config, arguments.cache) as (quality, traffic):
        pairs = sample(load_pairs(arguments.data), arguments.limit, config.seed)
        with progress(len(pairs)) as tick:
            found = order_agreement(quality, pairs, str(config.quality.chat.model), config.limits.concurrency, tick)
    print(f"{found.text()}\n\n{_cost(traffic)}")
    return 0


def _name(config: RunConfig) -> str:
    return f"{config.judge.model} ({config.judge.protocol})"


@contextmanager
def rubric_judge(config: RunConfig, path: Path | None) -> Iterator[tuple[Judge, Traffic]]:
    """The judge of ``config`` with its verdicts cached in ``path``.

    Raises:
        ConfigError: it has no model, or tells no criterion from another.
        UserError: the cache file cannot be used.
    """
    if config.judge.provider == "heuristic":
        raise ConfigError("judge.provider is 'heuristic', so there is no model to check: set judge.model to a model")
    if config.judge.protocol == "holistic":
        raise ConfigError(
            "judge.protocol is 'holistic', which tells no criterion from another, so its verdicts cannot be right or wrong: set it "
            "to 'batched' or 'per_criterion'"
        )
    with shared(config, path) as (traffic, cache):
        judge = open_judge(config, (), traffic, cache)
        judge.gate = False  # it is the model that is measured, not what spares it the easy cases
        with ending(judge.chat):
            yield judge, traffic


@contextmanager
def quality_judge(config: RunConfig, path: Path | None) -> Iterator[tuple[PairwiseOrder, Traffic]]:
    """The pairwise quality judge of ``config``. Raises as ``rubric_judge``."""
    if config.quality.source != "pairwise":
        raise ConfigError(
            f"quality.source is '{config.quality.source}', but --set llmbar measures the pairwise quality judge: set "
            "quality.source=pairwise and quality.chat.model to a model"
        )
    with shared(config, path) as (traffic, cache):
        quality = open_quality(config, None, (), traffic, cache)
        with ending(quality.chat):
            yield quality, traffic


@contextmanager
def shared(config: RunConfig, path: Path | None) -> Iterator[tuple[Traffic, VerdictCache]]:
    try:
        cache = VerdictCache(path)
    except (sqlite3.Error, OSError) as error:
        raise UserError(f"--cache: cannot use {path} ({error}); give a file that no other process has open") from error
    traffic = Traffic(config.limits, config.budget)
    try:
        yield traffic, cache
    finally:
        traffic.close()
        cache.close()


@contextmanager
def ending(chat) -> Iterator[None]:
    """After a stop, calls in flight are ended: their threads would keep the process alive."""
    try:
        yield
    finally:
        chat.close()


@contextmanager
def progress(total: int) -> Iterator:
    """A bar with the time left on the error stream, or a line for each tenth where that is no terminal.

    Yields a function to be called, on any thread, for each response that is done.
    """
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True, highlight=False)
    lock, started, done, open_ = Lock(), time.monotonic(), 0, True

    def line() -> None:
        nonlocal done
        with lock:
            done += 1
            # After a stop what was in flight is cancelled, not judged.
            if open_ and done * 10 // total > (done - 1) * 10 // total:
                elapsed = time.monotonic() - started
                left = elapsed / done * (total - done)
                console.print(f"judged {done}/{total}  elapsed {elapsed:.0f} s, eta {left:.0f} s")

    if not console.is_terminal:
        try:
            yield line
        finally:
            open_ = False
        return
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("judge", total=total)
        yield lambda: bar.advance(task)


def _cost(traffic: Traffic) -> str:
    calls = sum(usage.calls for usage in traffic.usages.values())
    seconds = sum(usage.seconds for usage in traffic.usages.values())
    usd, tokens = traffic.spent()
    priced = f", USD {usd:.4f}" if usd else ""
    return f"Calls {calls}, tokens {tokens}{priced}" + (f", {seconds / calls:.1f} s per call" if calls else "")


if __name__ == "__main__":
    sys.exit(main())
