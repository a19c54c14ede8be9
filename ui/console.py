"""The console: ``streamlit run ui/console.py [-- RUNS]``, where RUNS is a folder of runs (default ``runs``) or one run.

A folder without a run shows the demo run that ships.

Every page is a function of a ``RunView``. What is looked at stands in the URL: ``page``, ``run``, and the page's own choices and filters.
"""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

import streamlit as st

from ui import compare, config, evolver, overview, recall, rollouts, runs, sampling, tasks, tiles
from ui.link import go
from ui.readers import RunReader, run_folders

PAGES = ("Runs", "Overview", "Evolver", "Tasks", "Rollouts", "Sampling", "Memory", "Compare", "Config")
REFRESH_SECONDS = 5
OPEN_READERS = 64
DEMO = Path(__file__).with_name("demo")  # a small finished run of the laboratory (make demo); a bare text here would be drawn


@st.cache_resource(max_entries=OPEN_READERS, show_spinner="Reading the run …")
def reader(path: Path) -> RunReader:
    """One reader per run for all pages and browsers; it reads a file's new lines only."""
    return RunReader(path)


def main(folder: Path) -> None:
    """Draw the page that the URL names."""
    st.set_page_config(page_title="HarnessRL", layout="wide")
    if st.session_state.get("page") is None and st.query_params.get("page") not in PAGES:
        asked = st.query_params.get("page", "").capitalize()
        go(page=asked if asked in PAGES else "Runs")
    own = run_folders(folder)
    found = {path.name: path for path in own or run_folders(DEMO)}
    if found and st.session_state.get("run") not in found and st.query_params.get("run") not in found:
        go(run=next(iter(found)))
    left, right = st.columns([5, 2], vertical_alignment="bottom")
    with left:
        page = st.segmented_control("Page", PAGES, required=True, key="page", bind="query-params", wrap=True)
    if not own and (page in (None, "Runs") or not found):
        runs.draw_no_runs(folder, bool(found))
    if not found:
        return
    with right:
        run = st.selectbox("Run", list(found), index=None, key="run", bind="query-params")
    if page in (None, "Runs"):
        runs.draw([reader(path).refresh() for path in found.values()], time.time())
    elif run is not None:
        draw_run(page, reader(found[run]), found)


DRAW = {
    "Overview": overview.draw,
    "Evolver": evolver.draw,
    "Tasks": tasks.draw,
    "Rollouts": rollouts.draw,
    "Sampling": sampling.draw,
    "Memory": recall.draw,
    "Config": config.draw,
}


def draw_run(page: str, source: RunReader, found: Mapping[str, Path]) -> None:
    """One page of one run, under a line that says how the run is doing and refreshes by itself."""
    run = source.refresh()
    live = run.heartbeat is not None and not run.heartbeat.ended
    paused = not live or st.toggle("Pause", key="paused", help="Stops the state and the tiles from refreshing by themselves.")

    @st.fragment(run_every=None if paused else REFRESH_SECONDS, key=f"state-{page}")
    def state() -> None:
        now = source.refresh()
        runs.draw_state(now, time.time())
        if page == "Overview":
            tiles.draw_tiles(now)

    state()
    if page == "Compare":
        compare.draw(run, found, lambda path: reader(path).refresh())
    else:
        DRAW[page](run)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs"))
