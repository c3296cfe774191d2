"""What promises cost: the frontier, other methods in it, and the nearest promise that can be kept."""
