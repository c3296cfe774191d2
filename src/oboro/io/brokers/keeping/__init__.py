"""Snapshots and leases that brokers keep."""
