"""Loading what users bring."""
