"""Microaggregation of a stream in a window, with a bounded delay."""
