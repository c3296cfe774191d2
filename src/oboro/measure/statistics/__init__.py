"""How much a release resembles the original as a source of statistics."""
