"""Judge, rule checks, score, quality order and pair classes."""
