"""A released table alone: its assessment, as facts and as a page."""
