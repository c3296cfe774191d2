"""Compiled loops over CSV text."""
