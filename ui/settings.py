"""A run's settings as rows: dotted names, defaults, the model of each role. What looks like a secret is never shown."""

import re
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pandas as pd
import yaml

from ui.readers import RunView
from ui.words import UNKNOWN, plain

HIDDEN = "(not shown)"
_SECRET = re.compile(r"(^|_)(key|token|secret|password|passwd|credentials?|authorization)s?$", re.IGNORECASE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
KEY_VARIABLE = "api_key_env"
MISSING = object()


def flat(settings: Any, prefix: str = "") -> dict[str, Any]:
    """Settings by dotted name; empty sections and lists are values."""
    if not isinstance(settings, dict) or not settings:
        return {prefix.rstrip("."): settings}
    found: dict[str, Any] = {}
    for key, value in settings.items():
        found |= flat(value, f"{prefix}{key}.")
    return found


def shown(name: str, value: Any) -> str:
    """A value as one line of YAML, without credentials."""
    if value is MISSING:
        return UNKNOWN
    last = name.rsplit(".", 1)[-1]
    if last == KEY_VARIABLE:
        return plain(value) if isinstance(value, str) and _VARIABLE.fullmatch(value) else HIDDEN
    if isinstance(value, str):
        if _SECRET.search(last):
            return HIDDEN
        return plain(without_credentials(value)) if "://" in value else plain(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    return plain(yaml.safe_dump(_cleaned(name, value), default_flow_style=True, allow_unicode=True, width=10**6).strip())


def _cleaned(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _cleaned(str(k), v) for k, v in value.items()}
    if isinstance(value, list):
        return [_cleaned(name, v) for v in value]
    return shown(name, value) if isinstance(value, str) else value


def without_credentials(url: str) -> str:
    """An address without user, password, query and fragment."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return HIDDEN
    host = f"[{host}]" if ":" in host else host
    left_out = "?" + HIDDEN if parts.query else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", "")) + left_out


def difference(settings: dict[str, Any], others: dict[str, Any], names: tuple[str, str]) -> pd.DataFrame:
    """Settings that two configs do not share: one row per dotted name, a column per side."""
    mine, theirs = flat(settings), flat(others)
    rows = [
        {"setting": plain(k), names[0]: shown(k, mine.get(k, MISSING)), names[1]: shown(k, theirs.get(k, MISSING))}
        for k in dict.fromkeys([*mine, *theirs])
        if mine.get(k, MISSING) != theirs.get(k, MISSING)
    ]
    return pd.DataFrame(rows, columns=["setting", *names])


def table(settings: dict[str, Any], defaults: dict[str, Any] | None) -> pd.DataFrame:
    """Every setting, and where defaults are known its default and whether it differs."""
    usual = flat(defaults) if defaults is not None else {}
    rows = []
    for name, value in flat(settings).items():
        row = {"setting": plain(name), "value": shown(name, value)}
        if defaults is not None:
            row |= {"default": shown(name, usual.get(name, MISSING)), "": "" if usual.get(name, MISSING) == value else "≠"}
        rows.append(row)
    return pd.DataFrame(rows)


def roles(run: RunView) -> pd.DataFrame:
    """One row per role that a model can play, with what it has cost. The key itself is in no file of a run."""
    rows = []
    for name, role in roles_in(run.config):
        costs = run.usage.get(name, {})
        asks = role.get("provider") != "heuristic"
        rows.append(
            {
                "role": plain(name),
                "model": plain(role.get("model")) if asks and role.get("model") else "none: rules and heuristics",
                "endpoint": (shown("base_url", role["base_url"]) if role.get("base_url") else "the provider's own")
                if asks
                else "",
                "key from": shown(KEY_VARIABLE, role.get(KEY_VARIABLE)) if asks else "",
                "temperature": shown("temperature", role.get("temperature")) if asks else "",
                "requests": costs.get("requests"),
                "tokens in": costs.get("prompt_tokens"),
                "tokens out": costs.get("completion_tokens"),
                "USD": costs.get("usd"),
            }
        )
    found = pd.DataFrame(rows)
    return found if run.usage or not len(found) else found.drop(columns=["requests", "tokens in", "tokens out", "USD"])


def roles_in(settings: Any, prefix: str = "") -> list[tuple[str, dict[str, Any]]]:
    """Sections that name a model, by dotted name."""
    if not isinstance(settings, dict):
        return []
    here = [(prefix.rstrip("."), settings)] if {"provider", "model"} <= settings.keys() else []
    return [*here, *(r for key, value in settings.items() for r in roles_in(value, f"{prefix}{key}."))]
