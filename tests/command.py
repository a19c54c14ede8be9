"""The command as a user starts it: a process of its own, with the lab's small config."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOKE = ("--config", str(ROOT / "configs" / "smoke.yaml"))
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
"""As it is before any test: training in the tests' own process leaves the address of its process group in the environment."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "training.run", *arguments]
