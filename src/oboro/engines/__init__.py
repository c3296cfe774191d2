"""Engines that run the same recipe where the data is: Spark and DuckDB."""
