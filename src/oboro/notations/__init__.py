"""Notations of values: numbers, dates and amounts, their parsing and formatting."""
