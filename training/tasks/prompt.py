"""Prompts as people bring them to chat messages: a text, a list of messages under several spellings, or parts of text."""

from collections.abc import Mapping
from typing import Any

from memory.task import Message, Role
from training.tasks.notes import Note, RowError
from training.tasks.text import SPECIAL_TOKEN, is_blank, whole
from training.tasks.values import unpacked

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "chatgpt": "assistant",
}
_TEXT_PARTS = ("text", "input_text")


def read_messages(value: Any, field: str, notes: list[Note]) -> tuple[Message, ...]:
    """The messages of a prompt, checked to be ones that chat templates take. The text itself is never changed.

    Raises:
        RowError: not a conversation that ends with a user's message.
    """
    value = unpacked(value, field, notes)
    if isinstance(value, Mapping):
        value = value.get("messages", value.get("conversations", [value]))
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if is_blank(value):
        raise RowError("E_EMPTY_PROMPT", f"{field} is empty; give the text of the request or a list of messages")
    if not isinstance(value, list):
        raise RowError("E_PROMPT_TYPE", f"{field} must be text or a list of messages, got {type(value).__name__}")
    found = [message for k, item in enumerate(value) if (message := _message(item, f"{field}[{k}]", notes)) is not None]
    return checked(found, field, notes)


def checked(messages: list[Message], field: str, notes: list[Note]) -> tuple[Message, ...]:
    """The messages, if their order is one that a policy can answer. Raises ``RowError``."""
    if not messages:
        raise RowError("E_EMPTY_PROMPT", f"{field} has no message with text")
    for k, message in enumerate(messages):
        if message.role == "system" and k > 0:
            raise RowError(
                "E_SYSTEM_NOT_FIRST",
                f"{field}[{k}] is a system message; chat templates take one at the first place only, move or merge it",
            )
        if k and message.role == messages[k - 1].role:
            notes.append(Note("W_ROLE_ORDER", f"{field}[{k}]: two {message.role} messages in a row"))
        if SPECIAL_TOKEN.search(message.content):
            notes.append(Note("W_SPECIAL_TOKENS", f"{field}[{k}] holds text that looks like a control token"))
    if messages[-1].role != "user":
        last = len(messages) - 1
        raise RowError(
            "E_LAST_TURN_NOT_USER",
            f"{field}[{last}], the last message, has the role {messages[-1].role}; a prompt must end with the user's message",
        )
    return tuple(messages)


def _message(item: Any, field: str, notes: list[Note]) -> Message | None:
    if not isinstance(item, Mapping):
        raise RowError("E_PROMPT_TYPE", f"{field} must be a message with role and content, got {type(item).__name__}")
    said = item.get("role", item.get("from"))
    role = ROLES.get(str(said).strip().casefold())
    if role is None:
        raise RowError("E_ROLE", f"{field}.role must be system, user or assistant, got '{said}'; remove or rename the message")
    if said != role:
        notes.append(Note("W_ROLE_MAPPED", f"{field}: the role '{said}' was taken as {role}"))
    content = _content(item.get("content", item.get("value", item.get("text"))), field, notes)
    if is_blank(content):
        if role == "system":
            notes.append(Note("W_EMPTY_SYSTEM", f"{field} is an empty system message, which was left out"))
            return None
        raise RowError("E_EMPTY_PROMPT", f"{field}.content is empty; every {role} message needs text")
    return Message(role=role, content=content)


def _content(value: Any, field: str, notes: list[Note]) -> str:
    """The text of a message; parts of text are joined."""
    if isinstance(value, str):
        return whole(value, field, notes)
    if is_blank(value):
        return ""
    if not isinstance(value, list):
        raise RowError("E_PROMPT_TYPE", f"{field}.content must be text, got {type(value).__name__}")
    texts = []
    for k, part in enumerate(value):
        kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
        text = part.get("text") if isinstance(part, Mapping) else part
        if kind not in _TEXT_PARTS or not isinstance(text, str):
            raise RowError(
                "E_MULTIMODAL_UNSUPPORTED",
                f"{field}.content[{k}] is of type '{kind}'; only text can be trained on, remove the part or the task",
            )
        texts.append(whole(text, field, notes))
    return "\n".join(texts)
