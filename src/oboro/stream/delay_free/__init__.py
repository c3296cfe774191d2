"""k-anonymity of a stream without delay."""
