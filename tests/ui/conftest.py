"""One synthetic run for all tests that only read; tests that damage a run work on a copy of it. And a browser per module."""

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext
from streamlit.testing.v1 import AppTest

import ui.console
from tests.ui.browser import CHOICE, MISSING, Watched, chromium, executable
from tests.ui.synthetic import SyntheticRun

CONSOLE = Path(ui.console.__file__)


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory) -> SyntheticRun:
    return SyntheticRun(tmp_path_factory.mktemp("runs") / "lab").write()


@pytest.fixture
def copied(synthetic, tmp_path) -> Path:
    """A run directory of its own, with the same records."""
    copy = tmp_path / "runs" / "copy"
    shutil.copytree(synthetic.run.root, copy)
    return copy


@pytest.fixture
def open_page(monkeypatch):
    """Open the console on a folder at a URL; fails on any exception that the page shows."""

    def open_page(folder: Path, **query: str | list[str]) -> AppTest:
        monkeypatch.setattr(sys, "argv", ["console.py", str(folder)])
        app = AppTest.from_file(CONSOLE, default_timeout=60)
        for name, value in query.items():
            app.query_params[name] = value
        return checked(app.run())

    return open_page


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].stack_trace
    return app


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = executable()
    if path == "none":
        pytest.skip(f"{CHOICE}=none")
    if path is None:
        pytest.fail(MISSING)
    with chromium(path) as browser:
        yield browser


@pytest.fixture(scope="module")
def window(browser) -> Iterator[BrowserContext]:
    """One window for all tests, which then load the console's scripts once."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture
def look(window) -> Iterator[Callable[[str], Watched]]:
    """A page on a console; when the test ends, nothing may have gone wrong behind it."""
    opened: list[Watched] = []

    def look(address: str) -> Watched:
        opened.append(Watched(window.new_page(), address))
        return opened[-1]

    yield look
    for watched in opened:
        watched.check()
        watched.page.close()
