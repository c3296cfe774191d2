"""Files in and out, and made-up tables."""
