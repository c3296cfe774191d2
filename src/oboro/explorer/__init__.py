"""A session that explores requirements and their cost on one table."""
