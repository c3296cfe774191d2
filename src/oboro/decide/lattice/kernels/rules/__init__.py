"""Rules about sensitive values, asked of the classes of several nodes in one call."""
