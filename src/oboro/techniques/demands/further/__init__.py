"""Demands that few recipes make: loaded when one does."""
