"""Compiled loops of the lattice search."""
