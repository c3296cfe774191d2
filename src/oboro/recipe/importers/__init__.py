"""Recipes from projects and scripts of other tools."""
