"""The sections of a report, each made from facts."""
