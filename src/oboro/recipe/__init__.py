"""Recipes for tables and streams, and the releases that result."""
