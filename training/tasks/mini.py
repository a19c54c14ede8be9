"""Rubric-Mix mini: open-ended tasks of five domains with rubrics, written by the project and part of the package.

A domain is two files, ``DOMAIN.train.jsonl`` and ``DOMAIN.heldout.jsonl``, in our own format.
"""

from pathlib import Path
from typing import Literal

MINI_DIR = Path(__file__).parent / "rubric_mix_mini"


def mini_files(half: Literal["train", "heldout"]) -> list[Path]:
    """The files of one half, one per domain, in the order of their names."""
    return sorted(MINI_DIR.glob(f"*.{half}.jsonl"))
