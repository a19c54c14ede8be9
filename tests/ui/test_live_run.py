"""The console on a real run of the laboratory that trains, waits for a person, hears the answer and goes on to its end."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from memory.approval import read_waiting
from memory.journal import read_journal
from memory.rundir import RunDir
from tests.command import ENVIRONMENT, ROOT, SMOKE, command
from tests.ui.browser import served, walk

STEPS, EVERY = 5, 2
SETTINGS = (
    f"train.steps={STEPS}",
    f"evolver.every={EVERY}",
    "evolver.cold_start=0",
    "evolver.approval=human",
    "evolver.critic.acceptance=opinion",  # whatever is proposed waits, so that something certainly does
)
STARTING = 240
"""Seconds until the run has come to its round."""
NOTE = "The wording is *clear* enough."


class Training:
    """The command, in a process of its own."""

    def __init__(self, root: Path):
        self.run = RunDir(root)
        started = command(*SMOKE, *SETTINGS, "--run-dir", str(root))
        self.process = subprocess.Popen(
            started, cwd=ROOT, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def until_it_waits(self, number: int) -> list[str]:
        """Ids of the edits of a round that wait."""
        deadline = time.monotonic() + STARTING
        while time.monotonic() < deadline:
            waiting = read_waiting(self.run.waiting)
            if waiting is not None and waiting.round.round == number:
                return list(waiting.held)
            if self.process.poll() is not None:
                break
            time.sleep(0.2)
        self.process.kill()
        raise AssertionError(f"the run did not come to wait for a person: {self.process.communicate()[0]}")

    def until_it_ends(self) -> str:
        said, _ = self.process.communicate(timeout=STARTING)
        assert self.process.returncode == 0, said
        return said


@pytest.fixture
def training(tmp_path) -> Iterator[Training]:
    training = Training(tmp_path / "runs" / "real")
    yield training
    training.process.kill()
    training.process.wait()


@pytest.fixture
def console(training) -> Iterator[str]:
    """A console on the folder of the run."""
    with served(training.run.root.parent) as address:
        yield address


def answer(page: Page, edit_id: str, word: str) -> None:
    held = page.locator(f".st-key-held-{edit_id}")
    held.get_by_role("button", name=word, exact=True).click()
    expect(held).to_contain_text("The first answer stands.")


def test_a_real_run_is_seen_on_every_page_and_goes_on_as_a_person_says(training, console, look):
    first, *others = training.until_it_waits(1)
    watched = look(console)
    page = watched.open(page="Evolver", run="real")
    expect(page.get_by_text(re.compile("Training stands still"))).to_be_visible()
    page.locator(f".st-key-held-{first}").get_by_role("textbox", name="Note").fill(NOTE)
    answer(page, first, "Approve")
    expect(page.locator(f".st-key-held-{first}")).to_contain_text(f"Approved by a person: {NOTE}")
    for edit_id in others:
        answer(page, edit_id, "Reject")
    last = training.until_it_waits(2)
    visit = next(e.record for e in read_journal(training.run.journal) if e.kind == "visit")
    walk(watched, {"run": "real", "task": visit.task_id})
    page = watched.open(page="Evolver", run="real", edit=first)
    expect(page.locator("article.card", has_text=first).last).to_contain_text("Approved by a person")
    for edit_id in last:
        answer(page, edit_id, "Reject")
    assert f"step {STEPS}/{STEPS}" in training.until_it_ends()
    page = watched.open(page="Overview", run="real")
    expect(page.get_by_text(re.compile(f"finished · step {STEPS} of {STEPS}"))).to_be_visible()
    decisions = [e.record for e in read_journal(training.run.journal) if e.kind == "decision"]
    held = {first, *others, *last}
    answered = {d.edit.id: d.outcome for d in decisions if d.edit.id in held}
    assert answered == {edit_id: "accepted" if edit_id == first else "rejected" for edit_id in held}
