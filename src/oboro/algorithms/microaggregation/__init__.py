"""Microaggregation: groups of at least k similar records (MDAV)."""
