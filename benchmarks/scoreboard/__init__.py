"""Every goal of speed beside what is measured here: `python -m benchmarks.scoreboard`."""
