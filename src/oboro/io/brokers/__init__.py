"""Brokers that streams come from and go to: one file for each, over its own client."""
