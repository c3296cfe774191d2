"""The same recipe on Spark and DuckDB."""
