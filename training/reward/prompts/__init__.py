"""Prompt files of the judge, the quality judge and the drafter of rubrics, and how untrusted text is put into them.

Prompts are ``NAME.txt`` beside this file. A ``Quotation`` fences each text with a fresh random marker, so that no text can
close its own slot; ``render`` fills all slots in one pass, so that no text is ever read as a template.
"""

import re
import secrets
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from string import Template

from memory.task import Message

# Tokens that chat templates give a meaning to. A server may take them for what they look like even inside a message.
_CONTROL = re.compile(
    r"<[|｜](?=[^|｜<>\n]{1,40}[|｜]>)|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
    r"|\[(?=\|[^|\[\]\n]{1,40}\|\])|<(?=</?SYS>>)"
    r"|<(?=/?(?:s|bos|eos|pad|unk|think|tool_call|tool_response|start_of_turn|end_of_turn)>)"
)


@cache
def prompt(name: str) -> str:
    return Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8")


def render(name: str, **texts: str) -> str:
    """The prompt ``name`` with every ``$slot`` replaced in a single pass."""
    return Template(prompt(name)).substitute(texts)


class Quotation:
    """Fences around the texts of one prompt, under one marker that none of them can know."""

    def __init__(self) -> None:
        # From the operating system: the generators of training keep their state.
        self.marker = secrets.token_hex(8)

    def fence(self, title: str, text: str) -> str:
        """``text`` between two lines with the marker, without the marker inside and with control tokens broken up."""
        while self.marker in text:
            text = text.replace(self.marker, "")
        text = _CONTROL.sub(lambda found: found.group() + " ", text)
        return f"<<<{self.marker} {title}\n{text}\n{self.marker}>>>"

    def conversation(self, messages: Sequence[Message]) -> str:
        return "\n".join(self.fence(message.role, message.content) for message in messages)
