"""Distinct combinations of codes, from which nodes are read, and their digits."""
