"""Columns of labels that lie side by side: counting many tuples at a time."""
