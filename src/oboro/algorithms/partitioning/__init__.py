"""Local recoding: partition the records into equivalence classes (Mondrian, top-down, density)."""
