"""Compiled loops over a live set of points."""
