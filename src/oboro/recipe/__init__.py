"""The plan and its verbs: run it on a table, apply it to a stream, evaluate a release, start from a table."""
