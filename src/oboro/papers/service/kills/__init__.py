"""Services and brokers that are killed, and what is found wrong afterwards."""
