"""Files, locks, processes and memory of the machine."""
