"""A recipe as a service between brokers: its settings, and how it is put together."""
