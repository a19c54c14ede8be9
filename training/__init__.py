"""The loop: tasks in, policy out. Imports ``agents`` and ``memory``."""
