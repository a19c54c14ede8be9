"""The console in a real browser, on the demo run and on a run that is being written: what a person sees, clicks and comes back to."""

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from memory.journal import Journal
from tests.ui.browser import SEEN, served, walk
from tests.ui.synthetic import STEPS, TRICKY, SyntheticRun

GOAL = 60
"""Steps that the live run heads for."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[str]:
    """A console on a folder without a run."""
    with served(tmp_path_factory.mktemp("no-runs")) as address:
        yield address


class Live:
    """A run that goes on: every step writes rollouts, visits, metrics and a heartbeat, as training does."""

    def __init__(self, root: Path):
        self.run = SyntheticRun(root)
        self.run.write()
        self.run.journal = Journal(self.run.run.journal)
        self.step = STEPS
        self.beat()

    def beat(self, ago: float = 0.0) -> None:
        self.run.run.beat(phase="rollout", step=self.step, steps=GOAL, time=time.time() - ago)

    def go_on(self) -> None:
        self.run.step(self.step)
        self.step += 1
        self.beat()


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Live:
    return Live(tmp_path_factory.mktemp("live") / "lab")


@pytest.fixture(scope="module")
def lab(live) -> Iterator[str]:
    """A console on the live run."""
    with served(live.run.run.root) as address:
        yield address


def test_every_page_of_the_demo_run_stands(demo, look):
    watched = look(demo)
    page = watched.open()
    expect(page.get_by_text("Below is the demo run that ships")).to_be_visible()
    walk(watched, {"task": "writing-dialogue-1"})


def test_every_page_stands_while_the_run_is_written(live, lab, look):
    written = threading.Event()

    def write() -> None:
        while not written.wait(0.3) and live.step < GOAL:
            live.go_on()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        walk(look(lab), {"task": "fever-1"})
    finally:
        written.set()
        writer.join()


def test_the_state_follows_a_run_through_work_silence_and_return(live, lab, look):
    page = look(lab).open(page="Overview")
    live.go_on()
    expect(page.get_by_text(re.compile(f"running: rollout · step {live.step} of {GOAL}"))).to_be_visible()
    expect(page.get_by_test_id("stMetric").filter(has_text=f"of {GOAL}").get_by_text(str(live.step), exact=True)).to_be_visible()
    with open(live.run.run.journal, "a") as journal:
        journal.write('{"seq": 99999, "step": 3, "kin')  # killed in the middle of a line
    live.beat(ago=600)
    expect(page.get_by_text("stale: silent for 10 min in phase rollout")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(1)  # the run's own alert; the partial line is none
    live.run.journal = Journal(live.run.run.journal)  # as a resume opens it
    live.go_on()
    expect(page.get_by_text(re.compile(f"running: rollout · step {live.step} of {GOAL}"))).to_be_visible()


def test_a_cell_of_the_heat_map_is_told_in_full_and_kept_by_the_url(live, lab, look):
    visit = live.run.visits[0]
    places = {"page": "Rollouts", "task": visit.task_id, "group": f"step {visit.step}"}
    page = look(lab).open(**places)
    number = "#" + visit.rollout_ids[0].split("/")[1]
    cell = page.get_by_label(re.compile(rf"row: c3 .*; status: \w+; rollout: {number};"))
    name = str(cell.get_attribute("aria-label"))
    expect(page.get_by_role("combobox", name="Criterion")).to_have_value("c1")
    cell.click(force=True)  # the sign in its middle lies above it

    def told() -> None:
        verdict = page.locator(".st-key-verdict")
        expect(verdict).to_contain_text("[+2] Answers in at least two sentences")
        expect(verdict).to_contain_text(
            "met: it passes. It does." if "status: pass" in name else "not met: it fails. It does not."
        )
        expect(verdict.locator("code")).to_have_text(TRICKY)  # what the verdict rests on
        for label, value in (("Rollout", number), ("Criterion", "c3"), ("Task", visit.task_id)):
            expect(page.get_by_role("combobox", name=label, exact=True)).to_have_value(value)

    told()
    expect(page).to_have_url(re.compile("criterion=c3"))
    page.reload()
    told()


def test_a_filter_leaves_its_edits_and_survives_a_reload(demo, look):
    page = look(demo).open(page="Evolver")
    count = page.get_by_text(re.compile(r"^\d+ of \d+ edits, newest first"))
    every = count.inner_text()
    page.get_by_role("toolbar", name="Outcome").get_by_role("button", name="accepted").click()
    expect(count).not_to_have_text(every)
    page.get_by_role("toolbar", name="Interface").get_by_role("button", name="c rubric criteria").click()
    badges = page.locator("article.card header")
    expect(badges).to_have_count(1)

    def left() -> None:
        expect(badges).to_have_count(1)
        expect(badges.first).to_contain_text("c rubric criteria")
        expect(badges.first).to_contain_text("accepted")

    left()
    page.reload()
    left()


def test_a_filter_is_reached_and_set_by_keyboard(demo, look):
    page = look(demo).open(page="Evolver")
    page.get_by_role("toolbar", name="Outcome").get_by_role("button", name="accepted").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("outcome=rejected"))
    expect(page.locator("article.card header").first).to_contain_text("rejected")


def test_a_deep_link_leads_to_one_edit_from_there_to_its_task_and_back(live, lab, look):
    page = look(lab).open(page="Evolver", edit="r1-fever-1-1")
    card = page.locator("article.card")
    expect(card).to_have_count(1)
    expect(card).to_contain_text("Accepted: the share changed by +0.30")
    page.get_by_role("button", name="Open the task").click()
    expect(page.get_by_text(SEEN["Tasks"])).to_be_visible()
    expect(page).to_have_url(re.compile("page=Tasks"))
    expect(page.get_by_role("combobox", name="Task")).to_have_value("fever-1")


def test_a_search_by_meaning_survives_a_reload_and_leads_to_what_it_found(demo, look):
    page = look(demo).open(page="Memory")
    expect(page.get_by_text("newest first; give words")).to_be_visible()
    search = page.get_by_role("textbox", name="Search by meaning")
    search.fill("dialogue")
    search.press("Enter")
    hits = page.locator('[class*="st-key-hit-"]')

    def found() -> None:
        expect(page.get_by_text("nearest first")).to_be_visible()
        expect(hits.first).to_contain_text("near 0.")

    found()
    expect(page).to_have_url(re.compile("q=dialogue"))
    page.reload()
    found()
    hits.first.get_by_role("button", name="Open the task").click()
    expect(page).to_have_url(re.compile("page=Tasks"))
    expect(page.get_by_text(SEEN["Tasks"])).to_be_visible()
