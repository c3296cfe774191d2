"""Windowed stream microaggregation."""
