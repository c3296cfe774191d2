"""Kernels for CSV text: compiled loops over cells and records."""
