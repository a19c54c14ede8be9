"""The errors a person sees.

``UserError`` is one sentence that names the field, what it got, what was expected and what to do; commands print it and
exit with code 2. Everything else is a fault of the program and keeps its traceback. Foreign exceptions become ours only at
the boundaries: chat endpoints (``agents.chat``), files a user names (``training.tasks``, ``training.config``), and the run
directory (``memory.rundir``).
"""

import difflib
from collections.abc import Iterable

SHOWN = 20
"""Legal names that one sentence lists."""


class UserError(Exception):
    """A mistake the user can mend; its message is the whole help they get."""


class RunStop(UserError):
    """A run that cannot go on now, and can be resumed: what there is is saved before it leaves the trainer."""


class ConfigError(UserError):
    """A configuration value that is missing, unknown or illegal."""


class TaskError(UserError):
    """A task file or row that cannot be understood."""


class RunDirError(UserError):
    """A run directory that is missing, in use, unwritable or from an incompatible run."""


class JournalError(UserError):
    """A journal that cannot be read by this version."""


class EditError(ValueError):
    """An edit that does not fit the harness it is applied to (unknown id, illegal points, no-op)."""


def nearest(name: str, legal: Iterable[str]) -> str:
    """The legal name most like ``name`` as a hint, or the first legal names when none is close."""
    legal = sorted(legal)
    close = difflib.get_close_matches(name, legal, n=1, cutoff=0.6)
    if close:
        return f"did you mean '{close[0]}'?"
    more = f" and {len(legal) - SHOWN} more" if len(legal) > SHOWN else ""
    return f"legal names: {', '.join(legal[:SHOWN])}{more}"
