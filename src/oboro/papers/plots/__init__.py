"""The figures of the papers, drawn again from our rows."""
