"""Nodes judged where one bad class is enough to fail."""
