"""Rows as codes, and what is done to them: they travel, are looked up, put in an order, and counted."""
