"""Groups of similar records for local recoding: Mondrian, top-down, cells of a histogram."""
