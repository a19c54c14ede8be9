"""Where the rounds of a run keep how far they have come: one sqlite file per run, of plain types alone."""

import sqlite3
from pathlib import Path

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver


def open_checkpoints(path: Path) -> SqliteSaver:
    """The checkpointer of a run.

    Strict: the file lies in a run directory, which may come from elsewhere, and a checkpoint that names any other type than
    LangGraph's own and plain data is not built from it (CVE-2026-28277). The process that has claimed the run directory is the only
    one that opens the file; within it LangGraph's threads share the connection under the saver's lock.
    """
    serde = JsonPlusSerializer(pickle_fallback=False, allowed_msgpack_modules=None)
    connection = sqlite3.connect(path, check_same_thread=False)
    # A killed process loses nothing that way; only a power cut could cost the last answers of a round, which are then asked again.
    connection.execute("PRAGMA synchronous=NORMAL")
    # What a round leaves is in the journal as well, so nothing is gained by writing zeros over it, as some builds of sqlite do.
    connection.execute("PRAGMA secure_delete=OFF")
    return SqliteSaver(connection, serde=serde)
