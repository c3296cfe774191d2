"""What identifiers look like, and which columns hold them."""
