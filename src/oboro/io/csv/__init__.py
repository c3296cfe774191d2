"""CSV in and out: read, write, copy what no step touched."""
