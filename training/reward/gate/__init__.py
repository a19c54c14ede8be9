"""The content gate: what is no answer at all earns no credit, whoever judges."""

from training.reward.gate.refusal import is_empty, refusal, visible

__all__ = ["is_empty", "refusal", "visible"]
