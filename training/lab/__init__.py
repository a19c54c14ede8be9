"""The laboratory: a small world, a small policy that speaks of it, a task suite and its gold checks.

Imports ``memory`` and ``training.reward.rules`` only. The files it ships are rebuilt by ``python -m training.lab.pretrain``
(weights) and ``python -m training.lab.suite`` (tasks and gold checks).
"""

from pathlib import Path

POLICY_DIR = Path(__file__).parent / "policy"
DATA_DIR = Path(__file__).parent / "data"
TRAIN_FILE = DATA_DIR / "train.jsonl"
HELDOUT_FILE = DATA_DIR / "heldout.jsonl"
GOLD_FILE = DATA_DIR / "gold.jsonl"
