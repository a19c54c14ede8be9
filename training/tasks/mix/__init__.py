"""Rubric-Mix: a suite of five domains built from public sources by a recipe (``configs/mix/rubric_mix.yaml``)."""
