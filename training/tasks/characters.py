"""Role-play characters as prompts: RPBench and PingPong give a card and a greeting, and leave the user's part to a simulator."""

from collections.abc import Mapping
from typing import Any

from training.tasks.text import is_blank

CONTINUE = "(Continue the scene in character.)"
BEGIN = "(Begin the scene in character.)"
"""The user's turn, which neither set has: after a greeting, and without one."""
_GREETINGS = ("greeting", "initial_message", "inital_message")
"""Names of the greeting; the last is in the published file."""


def rpbench_messages(record: Mapping[str, Any]) -> list[dict[str, str]]:
    """Card and scene as the system message, then the greeting."""
    profile = {
        **_texts(record.get("npc_profile")),
        **_texts({k: record.get(k) for k in ("background", "plot_recap", "npc_status")}),
    }
    card = "\n".join(f"{name.replace('_', ' ')}: {text}" for name, text in profile.items() if not name.endswith("id"))
    said = [sentence for turn in record["conversation"] for sentence in turn.get("sentences", [])]
    return _scene(f"Play this character.\n{card}", " ".join(said))


def pingpong_messages(character: Mapping[str, Any]) -> list[dict[str, str]]:
    """The character's own system prompt, then its greeting."""
    greeting = next((str(character[name]) for name in _GREETINGS if not is_blank(character.get(name))), "")
    return _scene(f"Play {character['char_name']}.\n{character['system_prompt']}", greeting)


def _texts(values: Any) -> dict[str, str]:
    return {k: str(v) for k, v in values.items() if not is_blank(v)} if isinstance(values, Mapping) else {}


def _scene(card: str, greeting: str) -> list[dict[str, str]]:
    opening = [{"role": "assistant", "content": greeting}] if greeting else []
    return [{"role": "system", "content": card}, *opening, {"role": "user", "content": CONTINUE if greeting else BEGIN}]
