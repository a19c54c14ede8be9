"""Prompt files of the evolver's roles, and how a case is written out for a model.

Prompts are ``NAME.txt`` beside this file; their hashes go into the journal.
"""

import hashlib
from functools import cache
from pathlib import Path

from agents.prompts.case import EVIDENCE_TOKENS, case_text

__all__ = ["EVIDENCE_TOKENS", "case_text", "hashes", "prompt"]

FOLDER = Path(__file__).parent


@cache
def prompt(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def hashes() -> dict[str, str]:
    """Name -> first 12 hex digits of the SHA-256 of every prompt file."""
    return {p.stem: hashlib.sha256(p.read_bytes()).hexdigest()[:12] for p in sorted(FOLDER.glob("*.txt"))}
