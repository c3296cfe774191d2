"""Compiled loops over what a stream remembers."""
