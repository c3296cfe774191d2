"""Parquet in and out, with text as the dictionaries that it is."""
