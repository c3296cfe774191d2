"""Independent judges of privacy models: they read the released table and nothing else."""
