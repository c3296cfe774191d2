"""Data sources and sinks: files, object stores, databases, lakes and batches."""
