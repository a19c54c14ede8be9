"""The console as a browser meets it: its server on a free port, and a page that notes what goes wrong behind the picture."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import urlopen

from playwright.sync_api import Browser, Locator, Page, expect, sync_playwright

import ui.console
from tests.command import ROOT

NAMES = ("chromium", "chromium-browser", "google-chrome")
CHOICE = "HARNESSRL_BROWSER"
"""The environment variable that names a browser; ``none`` leaves its tests out."""
MISSING = (
    f"no browser found: run .ci/browser, install chromium, or name one by {CHOICE}=PATH ({CHOICE}=none leaves these tests out)"
)
SEEN = {
    "Runs": "Choose a row to open the run",
    "Overview": "Pair classes over steps",
    "Evolver": "edits, newest first",
    "Tasks": "Criteria, guidance and level over time",
    "Rollouts": "Choose a cell, or choose below",
}
"""Words of a page that stand when it is whole; any other page must show some of its own."""
PATIENCE = 60
"""Seconds until what should come is taken for missing."""
expect.set_options(timeout=1000 * PATIENCE)


def executable() -> str | None:
    """A browser of the Chromium family on this machine."""
    return os.environ.get(CHOICE) or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium(path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--disable-gpu"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a console on ``folder``; what it says on its terminal must hold no trace."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    settings = ("--server.headless=true", f"--server.port={port}", "--server.fileWatcherType=none")
    command = [sys.executable, "-m", "streamlit", "run", ui.console.__file__, *settings, "--", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(f"http://localhost:{port}/_stcore/health", process)
            yield f"http://localhost:{port}/"
        finally:
            process.terminate()
            process.wait(PATIENCE)
        log.seek(0)
        said = log.read()
        assert "Traceback" not in said, said


def _wait(address: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "the console's server ended before it answered"
        try:
            urlopen(address, timeout=PATIENCE).close()
            return
        except URLError:
            time.sleep(0.1)
    raise AssertionError(f"the console's server did not answer in {PATIENCE} s")


class Watched:
    """A page of a browser. ``wrong`` holds errors on its console, requests that failed, and requests to anywhere but the server."""

    def __init__(self, page: Page, address: str):
        self.page = page
        self.address = address
        self.wrong: list[str] = []
        page.on("console", lambda message: self.wrong.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self._request(request.url))
        page.on("response", lambda r: self.wrong.append(f"{r.status} {r.url}") if r.status >= 400 else None)
        # Leaving a page breaks off what it still asks for.
        page.on("requestfailed", lambda r: self.wrong.append(f"{r.failure} {r.url}") if r.failure != "net::ERR_ABORTED" else None)

    def _request(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and not url.startswith(self.address):
            self.wrong.append(f"asks for {url}")

    def open(self, **places: str) -> Page:
        """A deep link, until the page stands."""
        self.page.goto(f"{self.address}?{urlencode(places)}")
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait for the end of the script's run that has drawn the page's first words, and for the parts it needs."""
        expect(self.page.get_by_role("radiogroup", name="Page")).to_be_visible()
        expect(self.page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]')).to_be_visible()
        self.page.wait_for_load_state("networkidle")

    def check(self) -> None:
        """No trace on the page, and nothing wrong behind it."""
        assert self.page.get_by_test_id("stException").count() == 0, self.page.get_by_test_id("stException").first.inner_text()
        assert self.wrong == []

    def tab(self, name: str) -> Locator:
        return self.page.get_by_role("radiogroup", name="Page").get_by_text(name, exact=True)


def walk(watched: Watched, places: dict[str, str]) -> None:
    """Every page, each with words of its own and without a trace: by its tab, or by its link where its words are not known here."""
    page = watched.open(page=ui.console.PAGES[0], **places)
    for name in ui.console.PAGES:
        if name in SEEN:
            watched.tab(name).click()
            expect(page.get_by_text(SEEN[name])).to_be_visible()
        else:
            watched.open(page=name, **places)
            assert len(page.get_by_role("main").inner_text()) > 200
        watched.check()
