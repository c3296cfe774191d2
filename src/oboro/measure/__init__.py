"""The price and what is left of the risk: figures about a release, each saying what it means."""
