"""Checklists of laws and standards, filled in from a report."""
