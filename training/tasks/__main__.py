"""Look at, check and convert task files; build the Rubric-Mix suite; draft rubrics.

python -m training.tasks inspect train.jsonl                        what is in it, and what may be wrong with it
python -m training.tasks validate train.jsonl '{path: b.json, format: rar, weights: {Essential: 5}}'
python -m training.tasks convert healthbench.jsonl --out train.jsonl
python -m training.tasks build-mix --out suite --offline ../data
python -m training.tasks draft-rubrics prompts.jsonl --out drafted.jsonl --model NAME --base-url URL
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from memory.errors import TaskError, UserError
from memory.rundir import write_atomic
from memory.task import Task
from training.config import CONFIGS
from training.tasks.load import read_sources
from training.tasks.record import to_line
from training.tasks.source import TaskSource, parse_source

SOURCE_HELP = (
    "a file, 'lab' or 'rubric_mix_mini', or a source as in the config: '{dataset: org/name, split: train, format: auto}'"
)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.tasks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, help_text, run in (
        ("inspect", "counts, languages, points, likely trouble of each source", inspect_command),
        ("validate", "every row that cannot be used; exit code 2 if there is one", validate_command),
        ("convert", "write the tasks in our own format", convert_command),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("sources", nargs="+", metavar="SOURCE", help=SOURCE_HELP)
        command.add_argument("--half", choices=["train", "heldout"], default="train", help="which half of a suite that ships")
        if name == "convert":
            command.add_argument("--out", required=True, type=Path, metavar="FILE", help="JSONL file to write")
            command.add_argument("--force", action="store_true", help="overwrite FILE")
            command.add_argument("--skip-errors", action="store_true", help="leave out rows that cannot be used, and say so")
        command.set_defaults(run=run)
    command = commands.add_parser("build-mix", help="build the five-domain suite from public sources by a recipe")
    command.add_argument("--out", required=True, type=Path, metavar="DIR", help="folder to write; a stopped build goes on there")
    command.add_argument("--recipe", type=Path, default=CONFIGS / "mix" / "rubric_mix.yaml", metavar="FILE")
    command.add_argument("--offline", type=Path, metavar="DIR", help="read the sources' files in this folder instead of the Hub")
    command.add_argument("--size", type=int, metavar="N", help="tasks to train on (default: the recipe's)")
    command.set_defaults(run=build_mix_command)
    command = commands.add_parser(
        "draft-rubrics", help="let a model propose criteria for prompts that have none, marked as drafted"
    )
    command.add_argument("sources", nargs="+", metavar="SOURCE", help=SOURCE_HELP)
    command.add_argument("--out", required=True, type=Path, metavar="FILE", help="JSONL file; a stopped run goes on there")
    command.add_argument("--model", required=True, metavar="NAME", help="the name the endpoint knows the model by")
    command.add_argument("--base-url", metavar="URL", help="address of the endpoint up to and with /v1")
    command.add_argument(
        "--api-key-env", default="OPENAI_API_KEY", metavar="NAME", help="environment variable that holds the key"
    )
    command.add_argument("--concurrency", type=int, default=8, metavar="N", help="calls in flight")
    command.set_defaults(run=draft_command)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    run: Callable[[argparse.Namespace], int] = arguments.run
    try:
        return run(arguments)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130


def _sources(arguments: argparse.Namespace) -> list[TaskSource]:
    return [parse_source(text) for text in arguments.sources]


def inspect_command(arguments: argparse.Namespace) -> int:
    from training.tasks.inspect import describe, inspect

    print("\n\n".join(describe(findings) for findings in inspect(_sources(arguments), f"tasks.{arguments.half}")))
    return 0


def validate_command(arguments: argparse.Namespace) -> int:
    right = wrong = 0
    for read in read_sources(_sources(arguments), f"tasks.{arguments.half}"):
        if isinstance(read.task, Task):
            right += 1
        else:
            wrong += 1
            print(f"{read.source.place} row {read.row}: {read.task.code}: {read.task}")
    print(f"{right} tasks, {wrong} rows that cannot be used")
    if not right and not wrong:
        raise TaskError(f"no rows in {', '.join(arguments.sources)}")
    return 2 if wrong else 0


def convert_command(arguments: argparse.Namespace) -> int:
    out: Path = arguments.out
    if out.is_dir():
        raise TaskError(f"--out: {out} is a folder; give the name of a file")
    if out.exists() and not arguments.force:
        raise TaskError(f"--out: {out} exists; choose another name, or overwrite it with --force")
    tasks: list[Task] = []
    left_out = 0
    for read in read_sources(_sources(arguments), f"tasks.{arguments.half}"):
        if isinstance(read.task, Task):
            tasks.append(read.task)
        elif not arguments.skip_errors:
            raise TaskError(f"{read.source.place} row {read.row}: {read.task}; leave such rows out with --skip-errors")
        else:
            left_out += 1
            print(f"left out: {read.source.place} row {read.row}: {read.task.code}: {read.task}", file=sys.stderr)
    if not tasks:
        raise TaskError(f"no tasks in {', '.join(arguments.sources)}, nothing was written")
    out.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(out, "".join(to_line(task) for task in tasks))
    print(f"{out}: {len(tasks)} tasks" + (f", {left_out} rows left out" if left_out else ""))
    return 0


def build_mix_command(arguments: argparse.Namespace) -> int:
    from training.tasks.mix.build import build, told
    from training.tasks.mix.recipe import load_recipe

    if arguments.size is not None and arguments.size < 1:
        raise TaskError(f"--size must be at least 1, got {arguments.size}")
    if arguments.offline is not None and not arguments.offline.is_dir():
        raise TaskError(f"--offline: {arguments.offline} is not a folder; give the one that holds the sources' files")
    manifest = build(load_recipe(arguments.recipe), arguments.out, arguments.offline, arguments.size)
    print(told(manifest, arguments.out))
    return 0


def draft_command(arguments: argparse.Namespace) -> int:
    from rich.progress import Progress

    from agents.roles import open_chat
    from training.config import parse_chat
    from training.tasks.drafts import draft_rubrics, read_asks

    if arguments.concurrency < 1:
        raise TaskError(f"--concurrency must be at least 1, got {arguments.concurrency}")
    chat = open_chat(
        parse_chat({"model": arguments.model, "base_url": arguments.base_url, "api_key_env": arguments.api_key_env}),
        "draft-rubrics",
    )
    asks = read_asks(_sources(arguments))
    try:
        with Progress(transient=True) as bars:
            bar = bars.add_task("drafting", total=len(asks))
            result = draft_rubrics(asks, chat, arguments.out, arguments.concurrency, lambda done: bars.advance(bar, done))
    finally:
        chat.close()
    print(f"{arguments.out}: {result.kept + result.written} tasks with drafted rubrics, {result.written} of them new")
    if result.failed:
        reasons = ", ".join(f"{count} {reason}" for reason, count in result.failed.most_common())
        print(f"{sum(result.failed.values())} prompts have no rubric ({reasons}); run the same command again to try them")
    print("no person has read these criteria: read them before you train on them")
    if not result.kept + result.written:
        raise TaskError("no rubric was drafted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
