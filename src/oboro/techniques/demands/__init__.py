"""What a class must keep beyond its size, and what a search over levels chose for it."""
