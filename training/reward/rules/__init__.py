"""Rule checks: the code behind criteria of kind ``rule``.

A rule is a pure function of the response and typed arguments that says whether the criterion is *met*; the sign of the points
decides whether that is good. ``registry`` holds the machinery, ``text`` how a response is read, the other modules the rules by
subject; ``ifeval`` and ``ifbench`` give the instructions of those benchmarks their own names and arguments. To add a rule,
write the function and put ``@rule("name")`` above it: its signature is the schema that a task's arguments are held to.
Imports ``memory`` only.
"""

from training.reward.rules import extraction, format, ifbench, ifeval, laboratory, language, lengths, letters, mentions, order  # noqa: F401
from training.reward.rules.registry import RULES, check, describe, known, rule, validate
from training.reward.rules.text import count, sentences, words

__all__ = ["RULES", "check", "count", "describe", "known", "rule", "sentences", "validate", "words"]
