"""Streams as services between message brokers."""
