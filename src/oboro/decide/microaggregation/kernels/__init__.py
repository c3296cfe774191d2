"""Compiled loops of microaggregation."""
