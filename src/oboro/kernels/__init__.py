"""Compiled loops over arrays; they know no columns and no files."""
