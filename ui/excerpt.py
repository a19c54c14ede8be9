"""A copy of a run that holds what the console reads, and nothing else: ``python -m ui.excerpt RUN --out FOLDER``.

Left out are checkpoints, the policy, the index, caches, and rollouts that no visit and no measurement refers to. For looking at a run
on another machine, and for the demo run that ships (``make demo``).
"""

import argparse
import shutil
import sys
from pathlib import Path

from memory.rollouts import RolloutStore
from memory.rundir import RunDir
from ui.readers import MISSING, RunReader, RunView, run_folders

FILES = (*MISSING, "defaults.yaml", "usage.json", "harness.yaml")


def referred(run: RunView) -> dict[str, list[str]]:
    """Ids of the rollouts that a page can show, by the file they are in."""
    ids = [i for visit in run.visits.read(range(len(run.visits))) for i in visit.rollout_ids]
    measured = (d.decision.measurement for d in run.decisions)
    ids += [i for m in measured if m is not None for i in m.rollout_ids]
    found: dict[str, list[str]] = {}
    for rollout_id in dict.fromkeys(ids):
        found.setdefault(rollout_id.split("/")[0], []).append(rollout_id)
    return found


def excerpt(source: Path, target: Path) -> None:
    """Write the copy into the new folder ``target``.

    Raises:
        OSError: ``target`` is there already, or something cannot be read or written.
    """
    run = RunReader(source).refresh()
    target.mkdir(parents=True)
    for name in FILES:
        if (source / name).is_file():
            shutil.copyfile(source / name, target / name)
    store = RolloutStore(RunDir(target).rollouts)
    for name, ids in sorted(referred(run).items()):
        if kept := run.rollouts(ids):
            store.write(name, kept)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ui.excerpt", description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="the run directory")
    parser.add_argument("--out", type=Path, required=True, help="the folder to make")
    asked = parser.parse_args(arguments)
    if run_folders(asked.run) != [asked.run]:
        print(f"RUN: expected a run directory with a journal.jsonl, got {asked.run}; name one run", file=sys.stderr)
        return 2
    try:
        excerpt(asked.run, asked.out)
    except FileExistsError:
        print(f"--out: {asked.out} is there already; name a folder that is not, or remove it", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"--out: cannot write {asked.out} ({error.strerror}); name another folder", file=sys.stderr)
        return 2
    print(asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
