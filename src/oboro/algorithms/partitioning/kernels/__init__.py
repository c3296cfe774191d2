"""Compiled loops of local recoding."""
