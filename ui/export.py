"""All edits of a run as one HTML file to send to a colleague: ``python -m ui.export RUN --out FILE.html``.

The same cards as the console's, in a file that needs no server, no script and no network. Everything of the run is escaped.
"""

import argparse
import sys
import time
import xml.etree.ElementTree as ET
from pathlib import Path

from memory.rundir import write_atomic
from ui.approval import as_if_recorded, held_decisions, waiting_words
from ui.card import card
from ui.drawing import Axis, counted, row
from ui.evolver import no_edits
from ui.html import STYLE, h, html
from ui.readers import Remembered, RunReader, RunView, run_folders
from ui.runs import progress_of, state_of
from ui.series import heldout_table, leading_ruler, step_table
from ui.words import INTERFACES, OUTCOME_SIGNS, operation

MOST = 300
"""Cards in one file unless asked otherwise; some 15 kB each."""
PAGE_STYLE = """
:root { color-scheme: light dark; }
body { font-family: system-ui, sans-serif; max-width: 75rem; margin: 1.5rem auto; padding: 0 1rem; line-height: 1.45; }
article.card, .box { border: 1px solid rgba(128, 128, 128, 0.4); border-radius: 0.5rem; padding: 0.8rem 1rem; margin: 1rem 0; }
.card .row.lane { grid-template-columns: 8rem minmax(0, 1fr); }
.card .lane .words { display: none; }
.card .lane a { position: absolute; transform: translateX(-50%); text-decoration: none; font-weight: 700; top: 0; }
.card a.accepted { color: var(--green); } .card a.rejected { color: var(--red); } .card a.inconclusive { color: var(--grey); }
"""


def document(run: RunView, most: int, now: float) -> str:
    """The whole file."""
    shown = run.decisions[::-1][:most]
    left_out = len(run.decisions) - len(shown)
    body = [
        h("h1", f"{run.name}: what the evolver changed, and why"),
        h("p", facts(run, now)),
        *(h("p", text) for text in run.troubles.values()),
        *waiting(run),
        timeline(shown) if shown else h("p", no_edits(run)),
        h("p", f"The newest {len(shown)} edits; {counted(left_out, 'older one')} left out (--most).") if left_out else None,
        *(card(run, remembered) for remembered in shown),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width">{html(h("title", run.name))}'
    style = f"<style>{STYLE.read_text(encoding='utf-8')}{PAGE_STYLE}</style>"
    return f"<!doctype html>\n<html><head>{head}{style}</head>{html(h('body', body))}</html>\n"


def waiting(run: RunView) -> list[ET.Element]:
    """The cards of accepted edits that wait for a person; they are answered in the console, not here."""
    held = held_decisions(run)
    if run.waiting is None or not held:
        return []
    shown = as_if_recorded(run, run.waiting)
    return [h("h2", waiting_words(held)), *(card(shown, remembered) for remembered in held)]


def facts(run: RunView, now: float) -> str:
    """The run in one line."""
    heldout = leading_ruler(heldout_table(run))
    rewards = step_table(run)["reward"].dropna()
    parts = [state_of(run, now), f"step {progress_of(run)}"]
    if len(rewards):
        parts.append(f"reward {rewards.iloc[0]:.3f} → {rewards.iloc[-1]:.3f}")
    if len(heldout):
        ruler, first, last = heldout["ruler"].iloc[0], heldout["mean"].iloc[0], heldout["mean"].iloc[-1]
        parts.append(f"held-out {ruler} {first:.3f} → {last:.3f}")
    parts.append(f"{len(run.accepted)} of {counted(len(run.decisions), 'edit')} accepted")
    return " · ".join(parts)


def timeline(shown: list[Remembered]) -> ET.Element:
    """A lane per interface, a linked sign per edit."""
    steps = [r.decision.step for r in shown]
    axis = Axis(min(steps) - 0.5, max(steps) + 0.5)
    lanes = []
    for interface, name in INTERFACES.items():
        marks: list[ET.Element] = []
        heaped: dict[int, int] = {}
        for remembered in reversed(shown):
            d = remembered.decision
            if d.edit.interface == interface:
                heaped[d.step] = heaped.get(d.step, 0) + 1
                style = f"left:{axis.at(d.step):.2f}%;top:{1.15 * (heaped[d.step] - 1):.2f}rem"
                words = f"step {d.step}: {operation(d.edit.operation.op)} on {d.edit.task_id}, {d.outcome}"
                sign = OUTCOME_SIGNS[d.outcome]
                marks.append(h("a", sign, href=f"#{d.edit.id}", class_=d.outcome, style=style, title=words, aria_label=words))
        height = f"height:{max(1.55, 1.2 * max(heaped.values(), default=1)):.2f}rem"
        lane = row(name, h("div", marks, class_="track", style=height), "")
        lane.set("class", "row lane")
        lanes.append(lane)
    ruler = axis.ruler()
    ruler.set("class", "row lane")
    return h("div", h("div", "edits by step; choose a sign to go to its card", class_="title"), lanes, ruler, class_="card box")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ui.export", description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path, help="the run directory")
    parser.add_argument("--out", type=Path, required=True, help="the HTML file to write")
    parser.add_argument("--most", type=int, default=MOST, help="newest edits to show (default %(default)s)")
    asked = parser.parse_args(arguments)
    if run_folders(asked.run) != [asked.run]:
        print(f"RUN: expected a run directory with a journal.jsonl, got {asked.run}; name one run", file=sys.stderr)
        return 2
    if asked.out.resolve().is_relative_to(asked.run.resolve()):
        print(
            f"--out: {asked.out} lies inside the run directory, which is not written to; name a file elsewhere", file=sys.stderr
        )
        return 2
    try:
        write_atomic(asked.out, document(RunReader(asked.run).refresh(), max(0, asked.most), time.time()))
    except OSError as error:
        print(f"--out: cannot write {asked.out} ({error.strerror}); name another file", file=sys.stderr)
        return 2
    print(asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
