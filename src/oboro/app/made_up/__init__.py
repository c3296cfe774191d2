"""Commands that make up tables: to try things out, and to measure with."""
