"""Compiled loops of the window."""
