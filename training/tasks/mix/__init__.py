"""Rubric-Mix: a suite of five domains built from public sources by a recipe (``configs/rubric_mix.yaml``)."""
