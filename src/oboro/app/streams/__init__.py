"""The command `oboro stream`: from file to file, and between brokers."""
