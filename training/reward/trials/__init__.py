"""Trials of a judge before it becomes a reward: known answers, attacks, and verdicts of people (``python -m training.judge``)."""
