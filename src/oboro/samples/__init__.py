"""Made-up tables to try things on, with hierarchies and recipes."""
