"""A series of releases: who came, who stayed, who left between two of them, and whether each of these is many."""
