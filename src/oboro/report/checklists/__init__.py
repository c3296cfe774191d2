"""What laws, opinions and standards ask for, filled in where the software can know."""
