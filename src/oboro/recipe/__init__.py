"""Recipes: what is done to a table or a stream, and the release that results."""
