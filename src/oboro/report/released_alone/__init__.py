"""A released table alone, or beside those before it: its assessment, as facts and as a page."""
