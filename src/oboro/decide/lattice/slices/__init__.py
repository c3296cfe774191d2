"""Very many rows, laid out so that nodes are counted slice by slice."""
