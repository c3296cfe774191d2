"""Sections of the report, one concept per file."""
