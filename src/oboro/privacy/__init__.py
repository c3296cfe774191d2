"""Declarations of privacy models: parameters and words, without tables."""
