"""The Config page: how the run was set up, what of it is not the default, which models play which roles, versions, and the files."""

from pathlib import Path

import streamlit as st
import yaml

from memory.rundir import RunDir
from ui import settings
from ui.readers import RunView
from ui.words import escaped, plain

LARGEST = 64 * 1024**2
"""Bytes of a file that the console hands out; a larger one is better copied from the run directory."""


def draw(run: RunView) -> None:
    """Roles, settings, versions, files."""
    if run.config:
        _roles(run)
        _settings(run)
    else:
        st.info("The settings of this run are not known: config.yaml is not here or cannot be read.")
    _versions(run)
    _downloads(run)


def _roles(run: RunView) -> None:
    st.subheader("Model per role", anchor=False)
    roles = settings.roles(run)
    if not len(roles):
        st.info("config.yaml names no role that a model could play.")
        return
    number = st.column_config.NumberColumn(format="localized")
    st.dataframe(
        roles,
        key="roles",
        hide_index=True,
        column_config={
            **dict.fromkeys(("requests", "tokens in", "tokens out"), number),
            "USD": st.column_config.NumberColumn(format="$%.2f"),
        },
    )
    st.caption("Keys are read from the environment variable named here and stand in no file of a run.")


def read_defaults(run: RunView) -> dict | None:
    """What each setting is by default, as the run's own version had it; None where the run did not record it."""
    try:
        found = yaml.safe_load(RunDir(run.path).defaults.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return None
    return found if isinstance(found, dict) else None


def _settings(run: RunView) -> None:
    st.subheader("Settings", anchor=False)
    defaults = read_defaults(run)
    left, right = st.columns([3, 5], vertical_alignment="bottom")
    text = right.text_input(
        "Find a setting", key="setting", bind="query-params", placeholder="part of a name or value, for example critic"
    )
    table = settings.table(run.config, defaults)
    if defaults is None:
        left.caption("defaults.yaml is not here or cannot be read, so what differs from the defaults is not known.")
    else:
        changed = int((table[""] == "≠").sum())
        all_of_them = left.toggle(
            f"Show all {len(table)}, not only the {changed} that differ from the defaults",
            key="all-settings",
            bind="query-params",
        )
        if not changed:
            st.caption("Every setting is the default.")
        if not all_of_them and not text:
            table = table[table[""] == "≠"].drop(columns="")
    if text:
        words = table.astype(str).agg(" ".join, axis=1).str.lower()
        table = table[words.str.contains(text.strip().lower(), regex=False)]
        if not len(table):
            st.caption("No setting matches.")
    if len(table):
        st.dataframe(table, key="settings", hide_index=True, height=min(600, 38 + 35 * len(table)))


def _versions(run: RunView) -> None:
    st.subheader("Versions", anchor=False)
    started = run.started
    if started is None:
        st.caption("Not known: the journal has no first record.")
        return
    said = [f"journal schema {started.schema_version}", f"seed {started.seed}"]
    said += [f"{name} {version}" for name, version in started.versions.items()]
    st.markdown(escaped(" · ".join(said)))
    if not started.versions:
        st.caption("The versions of the packages were not recorded.")
    if started.prompts:
        with st.expander(f"Prompts of the evolver's roles, by hash ({len(started.prompts)})", key="prompts"):
            st.dataframe(
                {"prompt": [plain(k) for k in started.prompts], "hash": [plain(v) for v in started.prompts.values()]},
                hide_index=True,
            )


def downloadable(run: RunView) -> list[Path]:
    """Files that a person may want as they are, in the order of the run directory's description."""
    files = RunDir(run.path)
    known = (files.config, files.defaults, files.tasks, files.journal, files.metrics, files.heartbeat, files.usage, files.harness)
    return [*known, files.root / "report.md", files.root / "report.png"]


def size(count: int) -> str:
    """Bytes in the largest fitting unit."""
    for least, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if count >= least:
            return f"{count / least:.1f} {name}"
    return f"{count} B"


def _downloads(run: RunView) -> None:
    st.subheader("Files", anchor=False)
    large, missing = [], []
    with st.container(horizontal=True):
        for path in downloadable(run):
            try:
                found = path.stat().st_size
            except OSError:
                missing.append(path.name)
                continue
            if found > LARGEST:
                large.append(f"{path.name} ({size(found)})")
                continue
            st.download_button(
                f"{path.name} ({size(found)})",
                path.read_bytes if found else b"",
                file_name=f"{run.name}-{path.name}",
                key=f"download-{path.name}",
                on_click="ignore",
                icon=":material/download:",
            )
    if large:
        st.caption(f"Larger than {size(LARGEST)}, copy them from the run directory: {escaped(', '.join(large))}.")
    if missing:
        st.caption(f"Not in the run directory: {escaped(', '.join(missing))}.")
