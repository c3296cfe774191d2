"""A column's values as a technique reads them and writes new ones."""
