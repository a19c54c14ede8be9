"""The content gate: what is no answer at all earns no credit, whoever judges."""

from training.reward.gate.refusal import refusal, visible

__all__ = ["refusal", "visible"]
