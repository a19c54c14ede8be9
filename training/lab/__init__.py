"""The laboratory: a small world, a small policy that speaks of it, a task suite and its gold checks."""
