"""Sections of the report, one concept a file."""
