"""A stream that runs for months between two brokers: what it asks of them, its blocks, its journal, the loop."""
