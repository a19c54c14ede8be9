"""Pictures of the console on the demo run: ``python -m tests.ui.pictures`` takes those of the README anew into ``docs/``.

``--all FOLDER`` takes every page, light and dark, wide and narrow, to look them through.
"""

import argparse
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.command import ROOT
from tests.ui.browser import MISSING, Watched, chromium, executable, served
from ui.console import PAGES

EDIT, TASK = "r3-writing-dialogue-1-1a", "writing-dialogue-1"
"""What the pictures show of the demo run."""
README = {
    "console": ({"page": "Evolver", "edit": EDIT}, "article.card", "article.card"),
    "console-task": (
        {"page": "Tasks", "task": TASK},
        '[data-testid="stHeading"]',
        ':nth-match([data-testid="stVegaLiteChart"], 3)',
    ),
    "console-rollouts": ({"page": "Rollouts", "task": TASK}, ".st-key-sort", ".st-key-verdict"),
}
"""Name in ``docs/``: places, and the parts of the page from which and to which the picture goes."""
MARGIN = 16
COLOURS = 256
LARGEST = 200_000
"""Bytes of a picture in the README."""


def opened(browser: Browser, address: str, places: dict[str, str], width: int, dark: bool) -> Page:
    scheme = "dark" if dark else "light"
    page = browser.new_page(viewport={"width": width, "height": 1000}, color_scheme=scheme, reduced_motion="reduce")
    Watched(page, address).open(**places)
    expect(page.get_by_test_id("stSkeleton")).to_have_count(0)
    page.wait_for_load_state("networkidle")
    return page


def whole(page: Page) -> None:
    """Make the window as high as what it shows, so that nothing is left to scroll to."""
    height = page.get_by_test_id("stMainBlockContainer").evaluate("e => Math.ceil(e.getBoundingClientRect().height)")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": height + 20})  # type: ignore[index]
    page.wait_for_load_state("networkidle")


def readme(browser: Browser, address: str, folder: Path) -> None:
    for name, (places, first, last) in README.items():
        page = opened(browser, address, places, 1280, dark=False)
        whole(page)
        boxes = [page.locator(part).first.bounding_box() for part in (first, last)]
        top, bottom = boxes[0]["y"] - MARGIN, boxes[1]["y"] + boxes[1]["height"] + MARGIN  # type: ignore[index]
        path = folder / f"{name}.png"
        page.screenshot(path=path, clip={"x": 0, "y": top, "width": 1280, "height": bottom - top})
        Image.open(path).quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
        print(f"{path} {path.stat().st_size // 1000} kB{' is too large' if path.stat().st_size > LARGEST else ''}")
        page.close()


def every(browser: Browser, address: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for dark in (False, True):
        for width in (1440, 1100):
            for name in PAGES:
                page = opened(browser, address, {"page": name, "task": TASK}, width, dark)
                whole(page)
                page.screenshot(path=folder / f"{name.lower().replace(' ', '-')}-{width}-{'dark' if dark else 'light'}.png")
                page.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.ui.pictures", description=__doc__.split("\n")[0])
    parser.add_argument("--all", type=Path, metavar="FOLDER", help="every page in both themes and two widths, into FOLDER")
    asked = parser.parse_args()
    path = executable()
    if path in (None, "none"):
        raise SystemExit(MISSING)
    with tempfile.TemporaryDirectory() as nothing, chromium(str(path)) as browser, served(Path(nothing)) as address:
        if asked.all:
            every(browser, address, asked.all)
        else:
            readme(browser, address, ROOT / "docs")


if __name__ == "__main__":
    main()
