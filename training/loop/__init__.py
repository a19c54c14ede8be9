"""GRPO trainer, sampling (p), guidance (g), rehearsal, co-evolution round and checkpoint."""
