"""One synthetic run for all tests that only read; tests that damage a run work on a copy of it."""

import shutil
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import ui.console
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
