"""Role-play characters as prompts: RPBench and PingPong give a card and a greeting, and leave the user's part to a simulator."""

from collections.abc import Mapping
from typing import Any

from training.tasks.text import is_blank

CONTINUE = "(Continue the scene in character.)"
"""The user's turn after a greeting, which neither set has."""


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
    return _scene(f"Play {character['char_name']}.\n{character['system_prompt']}", str(character["greeting"]))


def _texts(values: Any) -> dict[str, str]:
    return {k: str(v) for k, v in values.items() if not is_blank(v)} if isinstance(values, Mapping) else {}


def _scene(card: str, greeting: str) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": card},
        {"role": "assistant", "content": greeting},
        {"role": "user", "content": CONTINUE},
    ]
