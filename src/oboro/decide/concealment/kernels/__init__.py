"""Compiled loops of k-concealment."""
