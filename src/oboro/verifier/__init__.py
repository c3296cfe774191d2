"""Verification of privacy models on a released table, without knowledge of how it was made."""
